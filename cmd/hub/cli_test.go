package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	command "integrationhub/cmd/hub"

	"integrationhub/hub/hubtest"
)

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
		"GORACE": raceOptions, "TMPDIR": os.TempDir(),
	}}
}

// withEnv returns a copy with another environment variable.
func (c *cli) withEnv(name, value string) *cli {
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
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	c.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = c.dir
	for k, v := range c.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

// result is the result of a command.
type result struct {
	t              *testing.T
	code           int
	stdout, stderr string
}

func (c *cli) run(args ...string) result { return c.runIn("", args...) }

// ok runs a command that must succeed, and returns what it writes.
func (c *cli) ok(args ...string) string { return c.run(args...).requireOK() }

// runIn runs a command with a text on stdin and waits for it. What calls a hub and ends by
// itself runs in this process, which spares its start: 70 ms under the race detector. The
// settings, the servers, and what is printed before a command is known need a process.
func (c *cli) runIn(stdin string, args ...string) result {
	c.t.Helper()
	if len(args) == 0 || !slices.Contains(callingCommands, args[0]) || slices.Contains(args, "rename") || c.env["XDG_CONFIG_HOME"] == "" {
		return c.runProcess(stdin, args...)
	}
	return c.runHere(stdin, args...)
}

// runHere runs a command in this process.
func (c *cli) runHere(stdin string, args ...string) result {
	c.t.Helper()
	in, out, errs := c.scratchFile(), c.scratchFile(), c.scratchFile()
	_, err := in.WriteString(stdin)
	require.NoError(c.t, err)
	_, err = in.Seek(0, io.SeekStart)
	require.NoError(c.t, err)
	ended := make(chan int, 1)
	go func() { ended <- command.Run(args, c.dir, c.env, in, out, errs) }()
	select {
	case code := <-ended:
		return result{c.t, code, c.content(out), c.content(errs)}
	case <-time.After(commandTimeout):
		require.Fail(c.t, "the command does not end", "%v: stderr: %s", args, c.content(errs))
		return result{}
	}
}

// callingCommands call a hub, print and end. One that reads the server's settings, products
// rename, is a process of its own.
var callingCommands = []string{
	"products", "tenants", "keys", "endpoints", "connect", "link", "integrations", "publish", "events", "deliveries",
	"lookup", "replay", "stats", "audit", "mail", "operators", "tokens", "alerts", "login", "logout", "whoami", "phone", "__complete",
}

// scratchFile makes a file for a stream; it is closed when the test ends.
func (c *cli) scratchFile() *os.File {
	c.t.Helper()
	file, err := os.CreateTemp(scratch, "stream-")
	require.NoError(c.t, err)
	require.NoError(c.t, os.Remove(file.Name())) // it stays open
	c.t.Cleanup(func() { _ = file.Close() })
	return file
}

// content reads a file from its beginning.
func (c *cli) content(file *os.File) string {
	c.t.Helper()
	raw, err := io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64))
	require.NoError(c.t, err)
	return string(raw)
}

// runProcess runs a command as a process of its own.
func (c *cli) runProcess(stdin string, args ...string) result {
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

// requireOK requires exit code 0 and returns stdout without its last line break.
func (r result) requireOK() string {
	r.t.Helper()
	require.Zero(r.t, r.code, "stdout: %s\nstderr: %s", r.stdout, r.stderr)
	return strings.TrimSuffix(r.stdout, "\n")
}

// requireFails requires an exit code, nothing on stdout and texts on stderr.
func (r result) requireFails(code int, texts ...string) {
	r.t.Helper()
	require.Equal(r.t, code, r.code, "stdout: %s\nstderr: %s", r.stdout, r.stderr)
	require.Empty(r.t, r.stdout)
	for _, text := range texts {
		require.Contains(r.t, r.stderr, text)
	}
}

// decode decodes stdout as JSON.
func (r result) decode(value any) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal([]byte(r.requireOK()), value), r.stdout)
}

// backgroundCommand is a command in the background.
type backgroundCommand struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *hubtest.Buffer
	stderr *hubtest.Buffer
	waited bool
}

func (c *cli) start(args ...string) *backgroundCommand {
	c.t.Helper()
	r := &backgroundCommand{t: c.t, cmd: c.command(args...), stdout: &hubtest.Buffer{}, stderr: &hubtest.Buffer{}}
	r.cmd.Stdout, r.cmd.Stderr = r.stdout, r.stderr
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
func (r *backgroundCommand) await(in *hubtest.Buffer, text string) string {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Contains(in.String(), text) }, time.Minute, 5*time.Millisecond,
		"waiting for %q", text)
	return in.String()
}

// wait waits for the exit code.
func (r *backgroundCommand) wait() int {
	r.t.Helper()
	r.waited = true
	return exitOf(r.t, r.cmd.Wait())
}

// interrupt sends SIGINT and returns the exit code.
func (r *backgroundCommand) interrupt() int {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Signal(os.Interrupt))
	return r.wait()
}

// writeFile puts a file into the test's directory.
func (c *cli) writeFile(name, content string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(c.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// commandTimeout is how long a command may take on a busy machine.
const commandTimeout = 4 * time.Minute
