package chaos

import (
	"flag"
	"runtime"
	"strconv"
	"testing"

	"integrationhub/hub/hubtest"
)

func TestMain(m *testing.M) {
	// More at once than there are cores: these tests mostly wait, for retries and leases.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	hubtest.Main(m)
}
