//go:build unix

// Package child runs server programs that must not outlive this process: the
// private PostgreSQL of the zero-setup default, and the servers tests start.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Process is one running child. It is reaped as soon as it ends.
type Process struct {
	process *os.Process
	exited  chan struct{} // closed once reaped
	err     error         // set before exited is closed
}

// Start runs cmd in a process group of its own, so that Ctrl-C in a terminal
// does not reach it. On Linux the child receives the signal death when this process
// ends for any reason, including kill -9; elsewhere it lives on. cmd.SysProcAttr may
// be set; its fields Setpgid and Pdeathsig are overwritten.
func Start(cmd *exec.Cmd, death syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	setDeathSignal(cmd.SysProcAttr, death)

	p := &Process{exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the death signal when the *thread* that started the
		// child ends, so this goroutine keeps its thread until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.process = cmd.Process
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Pid returns the child's process id. The id may belong to another process after
// Exited.
func (p *Process) Pid() int { return p.process.Pid }

// Exited returns a channel that is closed when the child has ended and was reaped.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how the child ended, nil for status 0. It is valid after Exited only.
func (p *Process) Err() error { return p.err }

// Signal sends a signal; to a child that has ended it does nothing and returns
// os.ErrProcessDone.
func (p *Process) Signal(s syscall.Signal) error { return p.process.Signal(s) }
