package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// patience is how long a command may take on a busy machine.
const patience = 2 * time.Minute

// cli runs the built command in a directory of its own, with an environment of its own.
type cli struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o711)) // PostgreSQL may run as another user below it
	return &cli{t: t, dir: dir, env: map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "PATH": os.Getenv("PATH"), "TERM": "xterm",
		"GORACE": raceOptions,
	}}
}

// with gives a copy with one more variable.
func (c *cli) with(name, value string) *cli {
	other := &cli{t: c.t, dir: c.dir, env: map[string]string{name: value}}
	for k, v := range c.env {
		if k != name {
			other.env[k] = v
		}
	}
	return other
}

// command prepares a run; it is killed when the test ends.
func (c *cli) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = c.dir
	for k, v := range c.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

// result is what a run left.
type result struct {
	t        *testing.T
	code     int
	out, err string
}

func (c *cli) run(args ...string) result { return c.runIn("", args...) }

func (c *cli) runIn(stdin string, args ...string) result {
	c.t.Helper()
	cmd := c.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	return result{c.t, exitOf(c.t, cmd.Run()), out.String(), errs.String()}
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

// ok demands exit code 0 and gives stdout without its last line break.
func (r result) ok() string {
	r.t.Helper()
	require.Zero(r.t, r.code, "stdout: %s\nstderr: %s", r.out, r.err)
	return strings.TrimSuffix(r.out, "\n")
}

// fails demands an exit code, nothing on stdout and texts on stderr.
func (r result) fails(code int, texts ...string) {
	r.t.Helper()
	require.Equal(r.t, code, r.code, "stdout: %s\nstderr: %s", r.out, r.err)
	require.Empty(r.t, r.out)
	for _, text := range texts {
		require.Contains(r.t, r.err, text)
	}
}

// into decodes stdout as JSON.
func (r result) into(value any) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal([]byte(r.ok()), value), r.out)
}

// running is a command in the background.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *syncBuffer
	errs   *syncBuffer
	waited bool
}

func (c *cli) start(args ...string) *running {
	c.t.Helper()
	r := &running{t: c.t, cmd: c.command(args...), out: &syncBuffer{}, errs: &syncBuffer{}}
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.errs
	require.NoError(c.t, r.cmd.Start())
	c.t.Cleanup(func() {
		if !r.waited {
			_ = r.cmd.Process.Kill()
			_ = r.cmd.Wait()
		}
	})
	return r
}

// await waits until a stream of the command holds a text.
func (r *running) await(in *syncBuffer, text string) string {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Contains(in.String(), text) }, 30*time.Second, 5*time.Millisecond,
		"waiting for %q", text)
	return in.String()
}

// end waits for the exit code.
func (r *running) end() int {
	r.t.Helper()
	r.waited = true
	return exitOf(r.t, r.cmd.Wait())
}

// interrupt sends Ctrl-C's signal and gives the exit code.
func (r *running) interrupt() int {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Signal(os.Interrupt))
	return r.end()
}

// write puts a file into the test's directory.
func (c *cli) write(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(c.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
