package server

import (
	"fmt"
	"os"
	"path/filepath"

	"integrationhub/hub/internal/ownership"
	"integrationhub/hub/internal/scratch"
)

// UseTempDir makes a directory below the data directory for the temporary files of this
// process, such as parts of uploads, and sets TMPDIR to it. It removes what earlier processes
// left there when they were killed. The caller calls remove at the end of the process.
func UseTempDir(dataDir string) (remove func(), err error) {
	parent, err := filepath.Abs(filepath.Join(dataDir, "tmp"))
	if err != nil {
		return nil, fmt.Errorf("finding the directory for temporary files: %w", err)
	}
	// PostgreSQL, which root runs as another user, may have its socket below it.
	if err := ownership.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory for temporary files: %w", err)
	}
	dir, err := scratch.Make(parent, "hub-", filepath.Join(parent, "turn.lock"))
	if err != nil {
		return nil, err
	}
	err = os.Chmod(dir.Path, 0o711) // its files are readable by their owner only
	if err == nil {
		err = os.Setenv("TMPDIR", dir.Path)
	}
	if err != nil {
		dir.Remove()
		return nil, fmt.Errorf("using the directory for temporary files: %w", err)
	}
	return dir.Remove, nil
}
