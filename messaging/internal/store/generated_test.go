package store_test

import (
	"flag"
	"testing"

	"integrationhub/hub/hubtest"
)

var update = flag.Bool("update", false, "write dbgen/sums.txt anew, after sqlc has run")

func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	hubtest.RequireGeneratedSQL(t, *update)
}
