//go:build unix

package hubtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/child"
)

// Process is a program a test runs beside itself.
type Process struct {
	*child.Process
	log string
}

// RunProcess starts cmd with its output appended to <dir>/<name>.log. It is killed when
// the test ends and, on Linux, when the test process ends for any reason.
func RunProcess(t testing.TB, name, dir string, cmd *exec.Cmd) *Process {
	t.Helper()
	p, err := StartProcess(name, dir, cmd)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

// StartProcess is [RunProcess] for a program that several tests share: who starts it ends it.
func StartProcess(name, dir string, cmd *exec.Cmd) (*Process, error) {
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer log.Close() // the child has its own descriptor
	cmd.Stdout, cmd.Stderr = log, log
	started, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return &Process{started, log.Name()}, nil
}

// Output is all that the process has written.
func (p *Process) Output() string {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(raw)
}

// Kill ends the process with SIGKILL and returns when it is gone; one that has
// ended stays as it is.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.Exited()
}

// Killed reports whether the process has ended, and by SIGKILL.
func (p *Process) Killed() bool {
	select {
	case <-p.Exited():
	default:
		return false
	}
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// IsStopped reports whether the process is stopped by a signal and can go on.
func (p *Process) IsStopped() bool {
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(p.Pid())).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(state)), "T")
}

// LogTail is the end of what the process has written, for the message of a failure.
func (p *Process) LogTail() string {
	const shown = 4000
	text := p.Output()
	return text[max(0, len(text)-shown):]
}
