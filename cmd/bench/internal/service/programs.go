package service

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
)

// Programs are the executables of a run. Those of the hub are built at most once.
type Programs struct {
	executable string // the bench itself
	hubBinary  string // the hub to measure; "" = built from cmd/hub
	dir        string // where the hub is built

	hubOnce sync.Once
	hubPath string
	hubErr  error
}

// NewPrograms returns the programs of a run; executable is the bench's own, hubBinary may be empty.
func NewPrograms(executable, hubBinary, dir string) *Programs {
	return &Programs{executable: executable, hubBinary: hubBinary, dir: dir}
}

// BenchCommand returns a command that runs the bench itself with arguments.
func (p *Programs) BenchCommand(args ...string) *exec.Cmd {
	return exec.Command(p.executable, args...)
}

// Hub returns the path of the hub. It is built once, unless a binary was given.
func (p *Programs) Hub(ctx context.Context) (string, error) {
	p.hubOnce.Do(func() {
		if p.hubBinary != "" {
			p.hubPath, p.hubErr = filepath.Abs(p.hubBinary) // the hub runs in another directory
			return
		}
		p.hubPath = filepath.Join(p.dir, "hub")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", p.hubPath, "integrationhub/cmd/hub")
		if out, err := build.CombinedOutput(); err != nil {
			p.hubErr = fmt.Errorf("building the hub: %w\n%s", err, out)
		}
	})
	return p.hubPath, p.hubErr
}

// NotesHub builds the hub that hosts the product notes, and returns its path.
func (p *Programs) NotesHub(ctx context.Context) (string, error) {
	binary := filepath.Join(p.dir, "hubnotes")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "integrationhub/hub/hubtest/notes/hubnotes")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the hub with a product: %w\n%s", err, out)
	}
	return binary, nil
}
