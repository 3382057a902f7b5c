package main

import (
	"os"
	"time"
)

// Run executes a command line as main does, in this process: with the directory and the
// environment of a process of its own. It returns the exit code.
func Run(args []string, dir string, env map[string]string, in, out, err *os.File) int {
	return run(args, &app{in: in, out: out, err: err, dir: dir, getenv: func(name string) string { return env[name] }, now: time.Now})
}
