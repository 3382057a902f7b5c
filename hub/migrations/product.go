package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// UpProduct brings a hosted product's own schema to the version of its files, one
// transaction each, under the same lock as [Up]. The schema is made where it is
// missing, and is first in search_path while the files run. It returns the names of
// the files applied; a product may have none.
func UpProduct(ctx context.Context, databaseURL, schema string, files fs.FS) ([]string, error) {
	db, err := openProduct(databaseURL, schema)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	status, err := checkTable(ctx, databaseRows{db}, productTable(schema), files)
	switch {
	case err != nil:
		return nil, err
	case status.Current > status.Target:
		return nil, newerProductError(schema, status)
	case status.Current == status.Target && status.Current > 0:
		return nil, nil
	}
	release, err := lock(ctx, db)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := db.ExecContext(ctx, `create schema if not exists `+pgx.Identifier{schema}.Sanitize()); err != nil {
		return nil, fmt.Errorf("creating schema %s: %w", schema, err)
	}
	// Found by the search_path: goose compares a qualified name as it is written, quotes
	// included, and would create an existing table again.
	versions, err := database.NewStore(database.DialectPostgres, productVersionTable)
	if err != nil {
		return nil, fmt.Errorf("naming the version table: %w", err)
	}
	provider, err := goose.NewProvider("", db, files, goose.WithStore(versions))
	if errors.Is(err, goose.ErrNoMigrations) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading migrations of %s: %w", schema, err)
	}
	results, err := provider.Up(ctx)
	var applied []string
	for _, result := range results {
		applied = append(applied, result.Source.Path)
	}
	if err != nil {
		return applied, fmt.Errorf("applying migrations of %s: %w", schema, err)
	}
	return applied, nil
}

// PendingProduct reports whether [UpProduct] has something to do or to refuse.
func PendingProduct(ctx context.Context, db *pgxpool.Pool, schema string, files fs.FS) (bool, error) {
	status, err := checkTable(ctx, poolRows{db}, productTable(schema), files)
	return status.Current != status.Target || status.Current == 0, err
}

// RefuseNewer returns an error if the schema of a database, or one of a product, is newer than
// this binary. It changes nothing.
func RefuseNewer(ctx context.Context, db *pgxpool.Pool, products map[string]fs.FS) error {
	status, err := check(ctx, poolRows{db})
	if err != nil {
		return err
	}
	if status.Current > status.Target {
		return newerError(status)
	}
	for schema, files := range products {
		status, err := checkTable(ctx, poolRows{db}, productTable(schema), files)
		if err != nil {
			return err
		}
		if status.Current > status.Target {
			return newerProductError(schema, status)
		}
	}
	return nil
}

func newerProductError(schema string, status Status) error {
	return fmt.Errorf("migrating: the schema %s is at version %d, this binary knows %d: run a newer hub", schema, status.Current, status.Target)
}

// CheckProduct returns the status of a hosted product's schema without changing anything.
func CheckProduct(ctx context.Context, databaseURL, schema string, files fs.FS) (Status, error) {
	db, err := openProduct(databaseURL, schema)
	if err != nil {
		return Status{}, err
	}
	defer db.Close()
	return checkTable(ctx, databaseRows{db}, productTable(schema), files)
}

func openProduct(databaseURL, schema string) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("opening database: the address cannot be read") // its own error quotes it
	}
	cfg.RuntimeParams["search_path"] = SearchPath(schema)
	return stdlib.OpenDB(*cfg), nil
}

// productVersionTable is the name of the version table in each product's schema.
const productVersionTable = "schema_version"

// productTable returns the qualified name of a product's version table.
func productTable(schema string) string {
	return pgx.Identifier{schema, productVersionTable}.Sanitize()
}

// SearchPath returns the search_path with a product's schema first.
func SearchPath(schema string) string { return pgx.Identifier{schema}.Sanitize() + ", public" }

// lock takes the advisory lock that serializes migrations of several replicas. The
// caller calls release.
func lock(ctx context.Context, db *sql.DB) (release func(), err error) {
	holder, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if _, err := holder.ExecContext(ctx, `select pg_advisory_lock($1)`, lockID); err != nil {
		_ = holder.Close()
		return nil, fmt.Errorf("taking the migration lock: %w", err)
	}
	return func() {
		// The connection may go back to a pool: the lock must not stay with it.
		_, _ = holder.ExecContext(context.WithoutCancel(ctx), `select pg_advisory_unlock($1)`, lockID)
		_ = holder.Close() // ends the session, and the lock with it, at the latest with the pool
	}, nil
}
