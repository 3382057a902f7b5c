package main

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

// process is a program the bench started, and ends again by its id.
type process struct {
	name    string
	cmd     *exec.Cmd
	logPath string
	stop    syscall.Signal // asks it to end in order
	ended   chan struct{}  // closed when it has ended
	err     error          // why; valid once ended is closed
}

// startProcess starts cmd in a process group of its own, so that Ctrl-C reaches
// the bench alone and the bench ends everything in order. Its output goes to
// <dir>/<name>.log.
func startProcess(name, dir string, cmd *exec.Cmd, stop syscall.Signal) (*process, error) {
	p := &process{name: name, cmd: cmd, logPath: filepath.Join(dir, name+".log"), stop: stop, ended: make(chan struct{})}
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
		close(p.ended)
	}()
	return p, nil
}

// pid is the process id.
func (p *process) pid() int { return p.cmd.Process.Pid }

// end asks the process to end, and kills it after 20 s. It may be called twice.
func (p *process) end() {
	_ = p.cmd.Process.Signal(p.stop) // an error means it has already ended
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// wait waits until the process has ended by itself, or ctx ends.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
		if p.err != nil {
			return p.failure(p.err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure wraps err with the end of the process's log.
func (p *process) failure(err error) error {
	raw, readErr := os.ReadFile(p.logPath)
	if readErr != nil {
		return fmt.Errorf("running %s: %w", p.name, err)
	}
	const shown = 2000
	raw = bytes.TrimSpace(raw[max(0, len(raw)-shown):])
	return fmt.Errorf("running %s: %w\n%s", p.name, err, raw)
}

// until polls check every 10 ms until it succeeds. It fails when the process
// ends, when ctx ends, or after limit; then it says what check said last.
func (p *process) until(ctx context.Context, limit time.Duration, check func() error) error {
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
		case <-p.ended:
			return p.failure(errors.New("it ended unexpectedly"))
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return p.failure(fmt.Errorf("waited %s in vain: %w", limit, err))
		}
	}
}

// answers gives a check for [process.until]: GET url is 200.
func answers(url string) func() error {
	client := &http.Client{Timeout: 2 * time.Second}
	return func() error {
		resp, err := client.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s answered %s", url, resp.Status)
		}
		return nil
	}
}

// dials gives a check for [process.until]: address accepts a connection.
func dials(address string) func() error {
	return func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
