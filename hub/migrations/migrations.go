// Package migrations brings the schema `hub` of a database to the version this
// binary needs. Migrations only go forward.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver goose works through
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

//go:embed *.sql
var files embed.FS

// Status compares the version of a schema with that of this binary.
type Status struct {
	Current int64 // version applied, 0 for an empty database
	Target  int64 // newest version this binary knows
}

// lockID names the advisory lock that keeps replicas starting together apart.
const lockID = 7240911

// Up applies every missing migration, one transaction each, holding an advisory
// lock so that replicas starting together do not collide. It returns the names
// of the files applied.
func Up(ctx context.Context, databaseURL string) ([]string, error) {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return nil, fmt.Errorf("opening database: %w", err)
	}
	defer db.Close()
	status, err := check(ctx, databaseRows{db})
	if err != nil || status.Current == status.Target {
		return nil, err
	}
	if status.Current > status.Target {
		return nil, newerError(status)
	}
	release, err := lock(ctx, db)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := db.ExecContext(ctx, `create schema if not exists hub`); err != nil {
		return nil, fmt.Errorf("creating schema hub: %w", err)
	}
	versions, err := database.NewStore(database.DialectPostgres, versionTable)
	if err != nil {
		return nil, fmt.Errorf("naming the version table: %w", err)
	}
	provider, err := goose.NewProvider("", db, files, goose.WithStore(versions), goose.WithGoMigrations(programmed()...))
	if err != nil {
		return nil, fmt.Errorf("reading migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	var applied []string
	for _, result := range results {
		applied = append(applied, nameOf(result.Source))
	}
	if err != nil {
		return applied, fmt.Errorf("applying migrations: %w", err)
	}
	return applied, nil
}

func newerError(status Status) error {
	return fmt.Errorf("migrating: the database is at version %d, this binary knows %d: run a newer hub", status.Current, status.Target)
}

// nameOf returns the file of a migration. One that is a program is named like a file.
func nameOf(source *goose.Source) string {
	if source.Path != "" {
		return source.Path
	}
	return fmt.Sprintf("%05d_%s.go", source.Version, programmedNames()[source.Version])
}

// Pending reports whether [Up] has something to do or to refuse. It spares a start a
// connection of its own where nothing is pending, as nearly always.
func Pending(ctx context.Context, db *pgxpool.Pool) (bool, error) {
	status, err := check(ctx, poolRows{db})
	return status.Current != status.Target, err
}

// poolRows is a pool as checkTable reads it.
type poolRows struct{ *pgxpool.Pool }

// QueryRowContext implements [rowReader].
func (p poolRows) QueryRowContext(ctx context.Context, query string, args ...any) row {
	return p.QueryRow(ctx, query, args...)
}

// databaseRows is a database/sql handle as checkTable reads it.
type databaseRows struct{ *sql.DB }

// QueryRowContext implements [rowReader].
func (d databaseRows) QueryRowContext(ctx context.Context, query string, args ...any) row {
	return d.DB.QueryRowContext(ctx, query, args...)
}

// rowReader reads one row.
type rowReader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) row
}

type row interface{ Scan(into ...any) error }

// Check returns the status of schema hub without changing anything.
func Check(ctx context.Context, databaseURL string) (Status, error) {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return Status{}, fmt.Errorf("opening database: %w", err)
	}
	defer db.Close()
	return check(ctx, databaseRows{db})
}

const versionTable = "hub.schema_version"

// check returns the status of schema hub.
func check(ctx context.Context, db rowReader) (Status, error) {
	status, err := checkTable(ctx, db, versionTable, files)
	for version := range programmedNames() {
		status.Target = max(status.Target, version)
	}
	return status, err
}

// checkTable compares a version table with the files it counts.
func checkTable(ctx context.Context, db rowReader, table string, files fs.FS) (Status, error) {
	status := Status{Target: newest(files)}
	var exists bool
	if err := db.QueryRowContext(ctx, `select to_regclass($1) is not null`, table).Scan(&exists); err != nil {
		return status, fmt.Errorf("looking for the version table: %w", err)
	}
	if !exists {
		return status, nil
	}
	err := db.QueryRowContext(ctx, `select coalesce(max(version_id), 0) from `+table+` where is_applied`).Scan(&status.Current)
	if err != nil {
		return status, fmt.Errorf("reading the version table: %w", err)
	}
	return status, nil
}

// newest returns the version of the last file (the digits before its first "_"), or 0
// without files.
func newest(files fs.FS) int64 {
	names, _ := fs.Glob(files, "*.sql") // the pattern is well formed
	if len(names) == 0 {
		return 0
	}
	version, _, _ := strings.Cut(slices.Max(names), "_")
	number, _ := strconv.ParseInt(version, 10, 64)
	return number
}
