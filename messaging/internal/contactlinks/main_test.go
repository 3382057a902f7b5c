package contactlinks_test

import (
	"testing"

	"integrationhub/hub/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }
