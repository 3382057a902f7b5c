//go:build linux || darwin

package server

import "golang.org/x/sys/unix"

// diskSpace returns what an unprivileged program can still write on the disk of a directory,
// and its size, both in bytes.
func diskSpace(dir string) (free, total uint64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), stat.Blocks * uint64(stat.Bsize), nil
}
