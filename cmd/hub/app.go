package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/term"

	"integrationhub/cmd/hub/internal/client"
)

// app holds what commands share: streams, environment, global flags, clock.
type app struct {
	in       *os.File
	out, err *os.File

	getenv func(name string) string
	dir    string // where relative paths begin; "" is the process's working directory

	url, token, dataDir, output string
	quiet                       bool

	started bool       // the command's own work has begun
	usedKey bool       // the last client made calls with a tenant's key
	target  connection // of the last client
	now     func() time.Time
	outErr  atomic.Pointer[error] // the first of writing to out
}

func newApp(in, out, err *os.File) *app {
	return &app{in: in, out: out, err: err, getenv: os.Getenv, now: time.Now}
}

// note prints a line to stderr, unless --quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		_, _ = fmt.Fprintf(a.err, format+"\n", args...)
	}
}

// warn prints a warning to stderr, also with --quiet.
func (a *app) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(a.err, a.errPaint(yellow, "warning:")+" "+format+"\n", args...)
}

// print writes one line of values to stdout. Where that fails, so does the command at its end.
func (a *app) print(format string, args ...any) {
	_, _ = fmt.Fprintf(checkedOutput{a}, format+"\n", args...)
}

// checkedOutput is stdout; it keeps the first error of writing.
type checkedOutput struct{ app *app }

// Write implements [io.Writer].
func (w checkedOutput) Write(text []byte) (int, error) {
	n, err := w.app.out.Write(text)
	if err != nil {
		w.app.outErr.CompareAndSwap(nil, &err)
	}
	return n, err //nolint:wrapcheck // see outputError
}

// outputError returns why output is missing. A reader that has enough, such as head, is no reason.
func (a *app) outputError() error {
	err := a.outErr.Load()
	if err == nil || errors.Is(*err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("writing the output: %w", *err)
}

// afterInterrupt is how long a call that must not be cut off goes on after Ctrl-C.
const afterInterrupt = 5 * time.Second

// outlive returns a context that ends some seconds after ctx: for a call that makes something
// which the command has to know of.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(afterInterrupt, cancel) })
	return longer, func() { stop(); cancel() }
}

// interactive reports whether stdin and stderr are a terminal.
func (a *app) interactive() bool {
	return term.IsTerminal(int(a.in.Fd())) && term.IsTerminal(int(a.err.Fd()))
}

// ask asks a yes-or-no question and reports whether the answer is y or yes.
func (a *app) ask(ctx context.Context, question string) bool {
	_, _ = fmt.Fprintf(a.err, "%s [y/N] ", question)
	answer, err := await(ctx, a.readLine)
	if err != nil {
		_, _ = fmt.Fprintln(a.err)
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// await returns what read reads. It returns early with ctx's error after Ctrl-C; read goes on until the program ends.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type typed struct {
		text string
		err  error
	}
	done := make(chan typed, 1)
	go func() {
		text, err := read()
		done <- typed{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case t := <-done:
		return t.text, t.err
	}
}

// readLine reads one line of stdin byte by byte, so that nothing behind it is taken.
func (a *app) readLine() (string, error) {
	var line []byte
	var char [1]byte
	for {
		n, err := a.in.Read(char[:])
		switch {
		case n == 1 && char[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, char[0])
		case err == io.EOF && len(line) > 0:
			return string(line), nil
		case err != nil:
			return "", err
		}
	}
}

// secretMax bounds what is read of a file or of stdin for a secret, in bytes.
const secretMax = 64 << 10

// secret returns a value that may be @file or - (stdin): command lines are visible to
// other users.
func (a *app) secret(value string) (string, error) {
	var reader io.Reader
	switch {
	case value == "-":
		reader = a.in
	case strings.HasPrefix(value, "@"):
		file, err := os.Open(a.path(value[1:]))
		if err != nil {
			return "", configf("reading a secret: %w", err)
		}
		defer func() { _ = file.Close() }()
		reader = file
	default:
		return value, nil
	}
	raw, err := io.ReadAll(io.LimitReader(reader, secretMax+1))
	if err != nil {
		return "", configf("reading a secret: %w", err)
	}
	if len(raw) > secretMax {
		return "", usagef("the secret is longer than 64 KiB")
	}
	return strings.TrimSpace(string(raw)), nil
}

// setting returns the flag's value, or that of the environment variable.
func (a *app) setting(flag, variable string) string {
	if flag != "" {
		return flag
	}
	return a.getenv(variable)
}

// path resolves the name of a file from the command line.
func (a *app) path(name string) string {
	if a.dir == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.dir, name)
}

// operatorClient returns a client with an operator's token, or without one if none is known.
func (a *app) operatorClient() (*client.Client, error) {
	target, err := a.resolveConnection()
	if err != nil {
		return nil, err
	}
	a.usedKey = false
	return a.client(target, "")
}

// keyClient returns a client with a tenant's key, which may be @file or -.
func (a *app) keyClient(key string) (*client.Client, error) {
	key, err := a.secret(key)
	if err != nil {
		return nil, err
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, usagef("the key is empty or holds characters no key has")
	}
	target, err := a.resolveConnection()
	if err != nil {
		return nil, err
	}
	a.usedKey = true
	return a.client(target, key)
}

func (a *app) client(target connection, key string) (*client.Client, error) {
	a.target = target
	c, err := client.New(target.url, client.Options{Tokens: target.tokens, Key: key, Agent: "hub-cli/" + versionName()})
	if err != nil {
		return nil, &failure{code: target.invalidURLCode, err: fmt.Errorf("the address %q (from %s) is %w", target.url, target.source, err)}
	}
	return c, nil
}
