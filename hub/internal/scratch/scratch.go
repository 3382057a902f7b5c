//go:build unix

// Package scratch makes directories for temporary files that belong to one process. What a
// process leaves there when it is killed, the next one removes.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"integrationhub/hub/internal/filelock"
)

// aliveLock is the file in a directory whose lock the process holds.
const aliveLock = "alive.lock"

// Dir is a directory of this process.
type Dir struct {
	Path string
	lock *filelock.Lock
}

// Make makes a directory in parent, whose name begins with a prefix, and removes those that
// ended processes left there. Processes take turns at the lock file turn, so that none sees
// another's directory before its lock is held. The caller calls [Dir.Remove].
func Make(parent, prefix, turn string) (*Dir, error) {
	lock, err := filelock.Wait(turn)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	removeDead(parent, prefix)
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("making a directory for temporary files: %w", err)
	}
	alive, err := filelock.Try(filepath.Join(path, aliveLock))
	if err != nil {
		return nil, err
	}
	return &Dir{path, alive}, nil
}

// Remove removes the directory.
func (d *Dir) Remove() {
	_ = os.RemoveAll(d.Path)
	d.lock.Release()
}

func removeDead(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // making our own directory then says why
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		dir := filepath.Join(parent, entry.Name())
		lock, err := filelock.Try(filepath.Join(dir, aliveLock))
		var held *filelock.HeldError
		if errors.As(err, &held) {
			continue
		}
		_ = os.RemoveAll(dir) // fails for another user's, as it should
		if err == nil {
			lock.Release()
		}
	}
}
