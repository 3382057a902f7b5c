package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"integrationhub/hub/internal/ownership"
)

// Local is the content of local.json in a running hub's data directory. Commands on the same
// machine use it: read access to the directory is access to the hub.
type Local struct {
	URL   string `json:"url"`   // where it listens, e.g. "http://127.0.0.1:8080"
	Token string `json:"token"` // bearer token, valid as long as the process lives
	PID   int    `json:"pid"`   // of that process
}

const localFile = "local.json"

// WriteLocal atomically writes local.json to the data directory, readable by its owner
// only.
func WriteLocal(dataDir string, local Local) error {
	raw, err := json.Marshal(local)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", localFile, err)
	}
	return writeFile(filepath.Join(dataDir, localFile), append(raw, '\n'))
}

// ReadLocal reads local.json of a data directory; the error satisfies
// errors.Is(err, fs.ErrNotExist) if there is none.
func ReadLocal(dataDir string) (Local, error) {
	var local Local
	raw, err := os.ReadFile(filepath.Join(dataDir, localFile))
	if err != nil {
		return local, fmt.Errorf("reading %s: %w", localFile, err)
	}
	if err := json.Unmarshal(raw, &local); err != nil {
		return local, fmt.Errorf("reading %s: %w", localFile, err)
	}
	return local, nil
}

// RestoreLocal writes local.json if there is none: another hub with this data directory has
// replaced it, and has stopped.
func RestoreLocal(dataDir string, local Local) error {
	_, err := os.Stat(filepath.Join(dataDir, localFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return err //nolint:wrapcheck // it names the file
	}
	if _, err := os.Stat(dataDir); err != nil {
		return err //nolint:wrapcheck // it names the directory
	}
	return WriteLocal(dataDir, local)
}

// RemoveLocal deletes local.json if it is that of the given process. Process ids do not say so:
// in containers that share the directory they are the same.
func RemoveLocal(dataDir string, own Local) error {
	local, err := ReadLocal(dataDir)
	if err != nil || local != own {
		return nil //nolint:nilerr // gone already, or another process's by now
	}
	if err := os.Remove(filepath.Join(dataDir, localFile)); err != nil {
		return fmt.Errorf("removing %s: %w", localFile, err)
	}
	return nil
}

// writeFile atomically writes a file that only its owner may read: it writes and syncs a
// temporary file and renames it. It creates the directory if necessary.
func writeFile(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := ownership.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating %s: %w", dir, err)
	}
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("creating a file in %s: %w", dir, err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // of no effect once it has been moved
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = ownership.Inherit(file.Name())
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
