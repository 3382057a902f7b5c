//go:build race

package main_test

// buildFlags build the command as the tests are built.
var buildFlags = []string{"-race"}
