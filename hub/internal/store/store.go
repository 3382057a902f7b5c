// Package store holds the SQL of the hub: queries/*.sql, the code that sqlc generates
// from them in dbgen, and transactions.
package store

//go:generate make -C ../../.. generate

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/dberr"
)

// Wrap wraps a database error with the operation and maps it to an error for
// callers; see [dberr.Wrap].
func Wrap(operation string, err error) error { return dberr.Wrap(operation, err) }

// ConstraintName returns the name of the constraint that a write violated; see
// [dberr.ConstraintName].
func ConstraintName(err error) string { return dberr.ConstraintName(err) }

// ValidText removes what PostgreSQL cannot store in a text.
func ValidText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// InTx runs work in one transaction, which is committed if work returns nil and rolled
// back otherwise.
func InTx(ctx context.Context, db Beginner, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, work)
}

// Beginner starts transactions: a pool, a connection or a transaction.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}
