package main_test

import (
	"fmt"
	"os"
	"strings"
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
	hubtest.Main(m, stopSharedHub)
}

func build() (err error) {
	if scratch, err = hubtest.SharedDir("hub-cli"); err != nil {
		return err
	}
	flags := append([]string{"-ldflags", "-X main.version=v9.8.7 -X main.commit=abc123"}, buildFlags...)
	binary, err = hubtest.BuildProgram("hub-cli"+strings.Join(buildFlags, ""), "integrationhub/cmd/hub", flags...)
	return err
}

// raceOptions make a race a failure, and the end of a program quick.
const raceOptions = "halt_on_error=1 exitcode=66 atexit_sleep_ms=0"
