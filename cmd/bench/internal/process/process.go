// Package process starts the programs of a measurement, waits for them and stops them.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Process is a program that the bench started. The bench stops it by its id.
type Process struct {
	name       string
	cmd        *exec.Cmd
	logPath    string
	stopSignal syscall.Signal // requests an orderly shutdown
	exited     chan struct{}  // closed when it has ended
	err        error          // why; valid once exited is closed
}

// Start starts cmd in a process group of its own, so that Ctrl-C reaches
// only the bench, which then stops everything in order. Its output goes to
// <dir>/<name>.log.
func Start(name, dir string, cmd *exec.Cmd, stop syscall.Signal) (*Process, error) {
	p := &Process{name: name, cmd: cmd, logPath: filepath.Join(dir, name+".log"), stopSignal: stop, exited: make(chan struct{})}
	log, err := os.Create(p.logPath)
	if err != nil {
		return nil, fmt.Errorf("creating log of %s: %w", name, err)
	}
	defer log.Close() // the child has its own descriptor
	if cmd.Stdout == nil {
		cmd.Stdout = log
	}
	cmd.Stderr = log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop sends the stop signal, and kills the process after 20 s. It may be called twice.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(p.stopSignal) // an error means it has already ended
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// Wait returns when the process has ended by itself, or ctx ends.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		if p.err != nil {
			return p.WithLog(p.err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WithLog wraps err with the end of the process's log.
func (p *Process) WithLog(err error) error {
	raw, readErr := os.ReadFile(p.logPath)
	if readErr != nil {
		return fmt.Errorf("running %s: %w", p.name, err)
	}
	const shown = 2000
	raw = bytes.TrimSpace(raw[max(0, len(raw)-shown):])
	return fmt.Errorf("running %s: %w\n%s", p.name, err, raw)
}

// WaitUntil polls check every 10 ms until it succeeds. It fails when the process
// ends, when ctx ends, or after limit with the last error of check.
func (p *Process) WaitUntil(ctx context.Context, limit time.Duration, check func() error) error {
	deadline := time.After(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return p.WithLog(errors.New("it ended unexpectedly"))
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return p.WithLog(fmt.Errorf("waited %s in vain: %w", limit, err))
		}
	}
}

// RespondsOK returns a check for [Process.WaitUntil]: GET url answers 200.
func RespondsOK(url string) func() error {
	client := &http.Client{Timeout: 2 * time.Second}
	return func() error {
		resp, err := client.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s responded with %s", url, resp.Status)
		}
		return nil
	}
}

// AcceptsConnections returns a check for [Process.WaitUntil]: address accepts a connection.
func AcceptsConnections(address string) func() error {
	return func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
