package main

import (
	"os"
	"testing"

	"integrationhub/hub/hubtest"
)

// asProgram makes a test binary behave as the bench itself, so that the tests
// start the very processes a run starts.
const asProgram = "BENCH_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	if err := os.Setenv(asProgram, "1"); err != nil { // for the children
		panic(err)
	}
	hubtest.Main(m)
}
