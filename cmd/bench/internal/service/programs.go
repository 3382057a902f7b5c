package service

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Programs are the executables of a run. Those of the hub are built at most once.
type Programs struct {
	Bench       string // the bench itself
	HubBinary   string // the hub to measure; "": built
	NotesBinary string // the hub that hosts the product notes; "": built
	Source      string // the checkout that both are built from; "": that of the working directory
	Dir         string // where both are built

	hub, notes program
}

// program is an executable that is built once.
type program struct {
	once sync.Once
	path string
	err  error
}

// BenchCommand returns a command that runs the bench itself with arguments.
func (p *Programs) BenchCommand(args ...string) *exec.Cmd {
	return exec.Command(p.Bench, args...)
}

// Hub returns the path of the hub.
func (p *Programs) Hub(ctx context.Context) (string, error) {
	return p.find(ctx, &p.hub, p.HubBinary, "integrationhub/cmd/hub")
}

// NotesHub returns the path of the hub that hosts the product notes.
func (p *Programs) NotesHub(ctx context.Context) (string, error) {
	return p.find(ctx, &p.notes, p.NotesBinary, "integrationhub/hub/hubtest/notes/hubnotes")
}

// find returns the path of a binary that was given, else of what is built from a package.
func (p *Programs) find(ctx context.Context, program *program, binary, source string) (string, error) {
	program.once.Do(func() {
		if binary != "" {
			program.path, program.err = filepath.Abs(binary) // the hub runs in another directory
			return
		}
		if program.err = os.MkdirAll(p.Dir, 0o755); program.err != nil {
			return
		}
		program.path = filepath.Join(p.Dir, filepath.Base(source))
		// A checkout may belong to another user, for whom git answers nothing about its version.
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", program.path, source)
		build.Dir = p.Source
		if out, err := build.CombinedOutput(); err != nil {
			program.err = fmt.Errorf("building %s: %w\n%s", source, err, out)
		}
	})
	return program.path, program.err
}
