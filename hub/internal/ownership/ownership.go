//go:build unix

// Package ownership keeps a data directory its owner's when root runs the hub in it once.
package ownership

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Of returns the owner and group of a file; ok is false if there is no such file.
func Of(path string) (uid, gid uint32, ok bool) {
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		return 0, 0, false
	}
	return stat.Uid, stat.Gid, true
}

// MkdirAll makes a directory and the missing ones above it, as [os.MkdirAll] does. Each that
// it makes inherits its owner, see [Inherit].
func MkdirAll(path string, mode os.FileMode) error {
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err = MkdirAll(filepath.Dir(path), mode); err == nil {
			err = os.Mkdir(path, mode)
		}
	}
	switch {
	case err == nil:
		return Inherit(path)
	case errors.Is(err, fs.ErrExist):
		return os.MkdirAll(path, mode) //nolint:wrapcheck // names the path; fails if it is no directory
	}
	return err //nolint:wrapcheck // names the path
}

// Inherit changes the owner of a file or directory that this process made to that of the
// directory it is in, if this process is root and that owner is another user. Otherwise it
// changes nothing.
func Inherit(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid, ok := Of(filepath.Dir(path))
	if !ok || uid == 0 {
		return nil
	}
	return os.Lchown(path, int(uid), int(gid)) //nolint:wrapcheck // names the path
}
