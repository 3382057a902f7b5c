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
	s.dir = filepath.Clean(dir)
	return s, nil
}

// makeDirFor makes the directory of a key, if the store is a directory.
func (s *Store) makeDirFor(key string) error {
	if s.dir == "" {
		return nil
	}
	return ownership.MkdirAll(filepath.Dir(filepath.Join(s.dir, filepath.FromSlash(key))), directoryMode) //nolint:wrapcheck // the caller says of what
}

// sync brings a stored file and the directories that lead to it onto the disk, if the store is a
// directory: what is acknowledged survives a power cut.
func (s *Store) sync(key string) error {
	if s.dir == "" {
		return nil
	}
	path := filepath.Join(s.dir, filepath.FromSlash(key))
	for {
		if err := syncPath(path); err != nil {
			return err
		}
		if path == s.dir {
			return nil
		}
		path = filepath.Dir(path)
	}
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening what was stored: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("syncing what was stored: %w", err)
	}
	return nil
}

// beforeWrite changes the owner of a new, empty file to that of its directory.
func (s *Store) beforeWrite(as func(any) bool) error {
	var file *os.File
	if s.dir == "" || !as(&file) {
		return nil
	}
	return ownership.Inherit(file.Name()) //nolint:wrapcheck // names the path
}
