//go:build unix

// Package filelock provides advisory file locks, which the kernel releases when their
// holder ends for any reason.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// HeldError means that another process holds the lock.
type HeldError struct {
	Path string
	Pid  int // of the holder; 0 = it has not written it yet
}

// Error implements error.
func (e *HeldError) Error() string {
	if e.Pid == 0 {
		return e.Path + " is locked by another process"
	}
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.Pid)
}

// Lock is a held lock.
type Lock struct{ file *os.File }

// Try acquires the lock at path and writes our process id into the file, which is
// created with mode 0600. If the lock is held, it returns a [*HeldError] at once.
func Try(path string) (*Lock, error) { return acquire(path, syscall.LOCK_EX|syscall.LOCK_NB) }

// Wait acquires the lock at path, waiting for its holder without limit.
func Wait(path string) (*Lock, error) { return acquire(path, syscall.LOCK_EX) }

func acquire(path string, operation int) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), operation)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		held := &HeldError{Path: path, Pid: holder(path)}
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, held
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// The id only serves error messages; the lock itself does not need it.
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return &Lock{file: file}, nil
}

// holder returns the process id in a lock file, 0 if there is none.
func holder(path string) int {
	text, _ := os.ReadFile(path)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// Release drops the lock; the file stays, because removing it would let two
// processes hold locks on two files of the same name. Closing alone would leave the lock for
// a moment to a process that is being forked off and has not dropped the file yet.
func (l *Lock) Release() {
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	_ = l.file.Close()
}
