// Package migrations brings schema "hub" of a database up to date.
package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver: goose needs database/sql
	"github.com/pressly/goose/v3"
)

//go:embed *.sql
var files embed.FS

// versionTable is goose's record of what was applied.
const versionTable = "hub.schema_version"

// lockKey is the advisory lock of schema changes: "hubmig" in hexadecimal.
const lockKey = 0x6875626d6967

// Up makes the schema and applies what is missing, one transaction for each
// file. Several processes may call it at once: they take turns.
func Up(ctx context.Context, databaseURL string) error {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	defer db.Close()
	release, err := takeTurn(ctx, db)
	if err != nil {
		return err
	}
	defer release()
	// The version table lives in the schema, so goose cannot make it.
	if _, err := db.ExecContext(ctx, `create schema if not exists hub`); err != nil {
		return fmt.Errorf("making schema hub: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}

// takeTurn waits in the database for the lock; goose's own lock polls every few
// seconds and does not cover the schema. Closing the connection gives it up.
func takeTurn(ctx context.Context, db *sql.DB) (release func(), err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	if _, err := conn.ExecContext(ctx, `select pg_advisory_lock($1)`, int64(lockKey)); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("waiting for another migration: %w", err)
	}
	return func() {
		// Raw with ErrBadConn drops the connection instead of returning it to the pool, lock and all.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}, nil
}
