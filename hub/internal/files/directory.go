package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gocloud.dev/blob/fileblob"

	"integrationhub/hub/internal/ownership"
)

// directoryMode is the mode of the store's directories.
const directoryMode fs.FileMode = 0o700

// openDirectory opens a store in a directory. What root stores below a directory of another
// user belongs to that user, who could not delete it otherwise.
func openDirectory(dir, public string) (*Store, error) {
	if err := ownership.MkdirAll(dir, directoryMode); err != nil {
		return nil, fmt.Errorf("making the directory of uploads: %w", err)
	}
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, DirFileMode: directoryMode, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		return nil, fmt.Errorf("opening the store of uploads: %w", err)
	}
	s := newStore(bucket, public)
	s.dir = dir
	return s, nil
}

// makeDirFor makes the directory of a key, if the store is a directory.
func (s *Store) makeDirFor(key string) error {
	if s.dir == "" {
		return nil
	}
	return ownership.MkdirAll(filepath.Dir(filepath.Join(s.dir, filepath.FromSlash(key))), directoryMode) //nolint:wrapcheck // the caller says of what
}

// beforeWrite changes the owner of a new, empty file to that of its directory.
func (s *Store) beforeWrite(as func(any) bool) error {
	var file *os.File
	if s.dir == "" || !as(&file) {
		return nil
	}
	return ownership.Inherit(file.Name()) //nolint:wrapcheck // names the path
}
