package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"integrationhub/hub/hubtest"
)

// binary is the built command, made once for all tests.
var binary string

// scratch is this process's directory for what tests share.
var scratch string

func TestMain(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	hubtest.Main(m, stopSharedHub, func() { _ = os.RemoveAll(scratch) })
}

func build() error {
	var err error
	if scratch, err = os.MkdirTemp("", "hub-cli"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	binary = filepath.Join(scratch, "hub")
	args := append([]string{"build"}, buildFlags...)
	args = append(args, "-ldflags", "-X main.version=v9.8.7 -X main.commit=abc123", "-o", binary, ".")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("building the command: %w\n%s", err, out)
	}
	return nil
}

// raceOptions make a race a failure, and the end of a program quick.
const raceOptions = "halt_on_error=1 exitcode=66 atexit_sleep_ms=0"
