package hubtest

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// SmallDisk gives the test a directory on a disk of its own with so many megabytes,
// to be filled up. It needs the right to mount; without it ok is false.
func SmallDisk(t testing.TB, megabytes int) (dir string, ok bool) {
	t.Helper()
	dir, err := scratchDir("disk")
	require.NoError(t, err)
	options := fmt.Sprintf("size=%dm,mode=0711", megabytes)
	if err := syscall.Mount("hub-test", dir, "tmpfs", 0, options); err != nil {
		t.Logf("mounting a small disk: %v", err)
		return "", false
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return filepath.Clean(dir), true
}
