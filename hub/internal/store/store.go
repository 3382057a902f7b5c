// Package store keeps the SQL of the hub: queries/*.sql, the code sqlc makes of
// them in dbgen, and what every caller of PostgreSQL needs besides.
package store

//go:generate make -C ../../.. generate

import (
	"context"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/dberr"
)

// Failed tells what went wrong while doing something in the database, as an error
// that can be returned to a caller; see [dberr.Wrap].
func Failed(doing string, err error) error { return dberr.Wrap(doing, err) }

// Violated gives the name of the constraint that a write broke; see [dberr.ConstraintName].
func Violated(err error) string { return dberr.ConstraintName(err) }

// InTx runs work in one transaction: committed when it returns nil, else rolled back.
func InTx(ctx context.Context, db Beginner, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, work)
}

// Beginner starts transactions: a pool, a connection or a transaction.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}
