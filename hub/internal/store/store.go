// Package store holds the SQL of the hub: queries/*.sql, the code that sqlc generates
// from them in dbgen, and transactions.
package store

//go:generate make -C ../../.. generate

import (
	"context"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/dberr"
)

// Failed adds to a database error what was being done, and turns it into an error for
// callers; see [dberr.Wrap].
func Failed(doing string, err error) error { return dberr.Wrap(doing, err) }

// Violated returns the name of the constraint that a write violated; see
// [dberr.ConstraintName].
func Violated(err error) string { return dberr.ConstraintName(err) }

// InTx runs work in one transaction, which is committed if work returns nil and rolled
// back otherwise.
func InTx(ctx context.Context, db Beginner, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, work)
}

// Beginner starts transactions: a pool, a connection or a transaction.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}
