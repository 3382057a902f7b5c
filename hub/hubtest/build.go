//go:build unix

package hubtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// BuildProgram builds a program of this module with flags of go build, and returns its path.
// The file is this process's own: other runs do not change it, and [Main] removes it. Test
// processes share the work: what they build stays in .cache/test under name, and go build
// links it again only where the flags or something in the program have changed.
func BuildProgram(name, program string, flags ...string) (string, error) {
	dir, err := SharedDir(name)
	if err != nil {
		return "", err
	}
	own := filepath.Join(dir, filepath.Base(program))
	kept := filepath.Join(ModuleRoot(), ".cache", "test", name)
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil { // a tree that is not ours to write
		return own, goBuild(own, program, flags)
	}
	release, err := lockInTree(kept + ".lock")
	if err != nil {
		return "", err
	}
	defer release()
	if err := goBuild(kept, program, flags); err != nil {
		return "", err
	}
	// go build replaces the file and does not write into it, so a link keeps what it is.
	if err := os.Link(kept, own); err == nil {
		return own, nil
	}
	return own, copyProgram(own, kept)
}

func goBuild(path, program string, flags []string) error {
	arguments := append([]string{"build", "-trimpath", "-o", path}, flags...)
	build := exec.Command("go", append(arguments, program)...)
	build.Dir = ModuleRoot()
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", program, err, out)
	}
	return nil
}

// copyProgram copies a program to another file system.
func copyProgram(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copying a program: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return fmt.Errorf("copying a program: %w", err)
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close()); err != nil {
		return fmt.Errorf("copying a program: %w", err)
	}
	return nil
}
