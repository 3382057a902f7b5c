package files_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// What a killed process left half written is removed when nobody has written to it for long;
// whole files, and those that are being written, stay.
func TestRemoveUnfinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, "file://"+dir)
	kept := s.BlobsFor("messaging")
	require.NoError(t, kept.Put(t.Context(), uuid.New(), strings.NewReader("whole")))
	names := func() (list []string) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if entry.Type().IsRegular() {
				list = append(list, path)
			}
			return err
		}))
		return list
	}
	whole := names()
	require.Len(t, whole, 1)

	source, writer := io.Pipe()
	stored := make(chan error, 1)
	id := uuid.New()
	go func() { stored <- kept.Put(t.Context(), id, source) }()
	_, err := writer.Write([]byte("first half, "))
	require.NoError(t, err)
	require.Len(t, names(), 2)
	removed, err := s.RemoveUnfinished(t.Context(), time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Zero(t, removed, "it is being written")
	_, err = writer.Write([]byte("second half"))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.NoError(t, <-stored)
	require.Len(t, names(), 2)

	// Another process is killed at the same point.
	source, writer = io.Pipe()
	go func() { stored <- kept.Put(t.Context(), uuid.New(), source) }()
	_, err = writer.Write([]byte("half"))
	require.NoError(t, err)
	var left string
	for _, name := range names() {
		if !slices.Contains(whole, name) && !strings.HasSuffix(name, id.String()) {
			left = name
		}
	}
	last := len(left) - len(".tmp") - 1 // a digit of the name
	copied := left[:last] + map[bool]string{true: "1", false: "0"}[left[last] == '0'] + ".tmp"
	require.NoError(t, os.WriteFile(copied, []byte("half"), 0o600))
	long := time.Now().Add(-2 * time.Hour)
	for _, name := range append(whole, copied) {
		require.NoError(t, os.Chtimes(name, long, long))
	}
	removed, err = s.RemoveUnfinished(t.Context(), time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.NoFileExists(t, copied)
	require.FileExists(t, left)
	require.FileExists(t, whole[0])
	require.NoError(t, writer.CloseWithError(errors.New("the test is over")))
	require.Error(t, <-stored)
}
