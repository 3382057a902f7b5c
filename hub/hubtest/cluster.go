//go:build unix

package hubtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/embedded"
)

// clusterLifetime is how long a cluster that was made for copies is kept. It is used on the
// day it was made only: the partitions in it begin there.
const clusterLifetime = 48 * time.Hour

// maxClusters is how many clusters are kept: each migration that is being written makes one
// more for each product, of 75 MB.
const maxClusters = 12

// preparation is what a database gets beside the hub's schema.
type preparation struct {
	name    string
	files   fs.FS // what it depends on; nil: processes do not share it
	prepare func(ctx context.Context, url string) error
}

// copyCluster puts a cluster with the template, and with the prepared database where p has
// files, into dir. The processes of a day copy the same one, which the first makes: copying
// takes a tenth of the time that initdb and the migrations take. Where nothing can be kept, it
// does nothing.
func copyCluster(ctx context.Context, dir string, p preparation) error {
	sum, err := clusterSum(p)
	if err != nil {
		return err
	}
	parent := filepath.Join(ModuleRoot(), ".cache", "test")
	// Held until the copy is made: nobody removes what is copied.
	release, err := lockInTree(filepath.Join(parent, "clusters.lock"))
	if errors.Is(err, fs.ErrNotExist) { // only then: go test would note the directory, which changes
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return nil //nolint:nilerr // a tree that is not ours to write: the process makes its own
		}
		release, err = lockInTree(filepath.Join(parent, "clusters.lock"))
	}
	if err != nil {
		return err
	}
	defer release()
	original := filepath.Join(parent, "cluster-"+sum)
	if _, err := os.Stat(original); err == nil {
		return copyTree(ctx, original, filepath.Join(dir, "cluster"))
	}
	removeOldClusters(parent)
	if err := makeCluster(ctx, dir, p); err != nil {
		return err
	}
	incomplete := original + ".new"
	if err := os.RemoveAll(incomplete); err != nil {
		return fmt.Errorf("removing an unfinished cluster: %w", err)
	}
	if err := copyTree(ctx, filepath.Join(dir, "cluster"), incomplete); err != nil {
		return err
	}
	if err := os.Rename(incomplete, original); err != nil {
		return fmt.Errorf("keeping a cluster: %w", err)
	}
	return nil
}

// lockInTree waits for the lock of a file in the tree. It goes past package os, which notes what
// a test opens: go test would run again all that opened a file of the tree that changed since.
func lockInTree(path string) (release func(), err error) {
	file, err := syscall.Open(path, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	for {
		if err = syscall.Flock(file, syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = syscall.Close(file)
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() {
		_ = syscall.Flock(file, syscall.LOCK_UN) // a process that is being forked off may have the file still
		_ = syscall.Close(file)
	}, nil
}

// makeCluster makes a cluster with the templates in dir, and stops its server.
func makeCluster(ctx context.Context, dir string, p preparation) (err error) {
	server, err := startServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(ctx)) }()
	admin, err := pgxpool.New(ctx, server.URL())
	if err != nil {
		return fmt.Errorf("connecting to the tests' PostgreSQL: %w", err)
	}
	defer admin.Close()
	if err := makeTemplate(ctx, admin, server.URL()); err != nil || p.files == nil {
		return err
	}
	return makePrepared(ctx, admin, server.URL(), p)
}

// clusterSum names all that a cluster depends on: the day, the programs, the code that makes
// it, the schemas.
func clusterSum(p preparation) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, time.Now().UTC().Format(time.DateOnly), os.Getenv("HUB_PG_BIN"), os.Getenv("PATH"))
	root := os.DirFS(ModuleRoot())
	for _, dir := range []string{"hub/migrations", "hub/embedded", "hub/hubtest"} {
		if err := addFiles(hash, root, dir); err != nil {
			return "", err
		}
	}
	if p.files != nil {
		fmt.Fprintln(hash, p.name)
		if err := addFiles(hash, p.files, "."); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// addFiles adds names and contents of the files below dir to a hash.
func addFiles(hash io.Writer, files fs.FS, dir string) error {
	err := fs.WalkDir(files, dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := fs.ReadFile(files, path)
		fmt.Fprintln(hash, path, len(raw))
		_, _ = hash.Write(raw) // never fails
		return err
	})
	if err != nil {
		return fmt.Errorf("reading what the tests' databases are made of: %w", err)
	}
	return nil
}

// removeOldClusters removes what other days left, and the oldest where many were made.
// What cannot be removed stays.
func removeOldClusters(parent string) {
	paths, _ := filepath.Glob(filepath.Join(parent, "cluster-*")) // its error is a wrong pattern
	modified := make(map[string]time.Time, len(paths))
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			modified[path] = info.ModTime()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return modified[b].Compare(modified[a]) }) // newest first
	for i, path := range paths {
		if i >= maxClusters-1 || time.Since(modified[path]) > clusterLifetime {
			_ = os.RemoveAll(path)
		}
	}
}

// copyTree copies a directory with modes and owners.
func copyTree(ctx context.Context, from, to string) error {
	if out, err := exec.CommandContext(ctx, "cp", "-Rp", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying %s: %w\n%s", from, err, out)
	}
	return nil
}

// startServer starts the tests' PostgreSQL in dir.
func startServer(ctx context.Context, dir string) (*embedded.Postgres, error) {
	server, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: dir, Search: PostgresSearch(), Ephemeral: true,
		Params: map[string]string{"max_connections": "400"}, // many parallel tests, each with its pools
	})
	if err != nil {
		return nil, fmt.Errorf("starting the tests' PostgreSQL: %w", err)
	}
	return server, nil
}
