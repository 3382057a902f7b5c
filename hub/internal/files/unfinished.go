package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// unfinishedAge is the age from which a file that is still being written is a killed
// process's. Nothing takes that long to be stored.
const unfinishedAge = 24 * time.Hour

// unfinished matches the names under which fileblob writes a file until it is whole.
var unfinished = regexp.MustCompile(`\.[0-9a-f]{1,16}\.tmp$`)

// RunCleanup removes what killed processes left half written, at once and then every day,
// until ctx ends. Buckets elsewhere have no half files.
func (s *Store) RunCleanup(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(unfinishedAge)
	defer tick.Stop()
	for {
		removed, err := s.RemoveUnfinished(ctx, time.Now().Add(-unfinishedAge))
		if err != nil && ctx.Err() == nil {
			log.Warn("half-written uploads cannot be removed; trying again tomorrow", "error", err)
		}
		if removed > 0 {
			log.Info("half-written uploads of killed processes were removed", "files", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RemoveUnfinished removes files of the store's directory that were not written to since a
// time, and that are not whole. It returns how many.
func (s *Store) RemoveUnfinished(ctx context.Context, before time.Time) (removed int, err error) {
	if s.dir == "" {
		return 0, nil
	}
	err = filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err := cmp.Or(ctx.Err(), ignoreMissing(err)); err != nil || entry == nil {
			return err
		}
		if !entry.Type().IsRegular() || !unfinished.MatchString(entry.Name()) {
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.ModTime().After(before) {
			return ignoreMissing(err)
		}
		if err := os.Remove(path); err != nil { //nolint:gosec // a directory of the hub alone; a link is removed, not followed
			return ignoreMissing(err)
		}
		removed++
		return nil
	})
	if err != nil {
		return removed, fmt.Errorf("removing half-written uploads: %w", err)
	}
	return removed, nil
}

// ignoreMissing returns err, or nil if another process has removed the file.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
