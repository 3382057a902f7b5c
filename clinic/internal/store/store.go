// Package store holds the clinic's SQL (queries/*.sql, with the code that sqlc generates
// from it in dbgen) and the changes of patients, records, appointments, interactions and
// payments. A change that is a method here publishes its events in its own transaction.
// Queries of dbgen publish nothing: outside of this package these tables are only read, but for
// the writes that silentWrites lists in hub/hubtest/queries_test.go.
package store

//go:generate make -C ../../.. generate

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/tx"
)

// Store is the clinic's database. The embedded queries run outside of transactions.
type Store struct {
	*dbgen.Queries
	host module.Host
	db   dbgen.DBTX // of searches
}

// New returns the store of an opened product.
func New(host module.Host) *Store { return &Store{dbgen.New(host.Pool), host, host.Pool} }

// ReadIn returns a store whose queries and searches run in a transaction.
func (s *Store) ReadIn(tx *Tx) *Store { return &Store{tx.Queries, s.host, tx.Raw} }

// Tx is a transaction. The embedded queries run in it.
type Tx struct {
	*dbgen.Queries
	*tx.Tx
}

// InTx runs work in one transaction, like [tx.Run]; doing describes the work, such as
// "storing an import".
//
// To avoid deadlocks, every transaction locks rows in this order:
//  1. the advisory lock of the clinic's exports, then exports
//  2. the advisory lock of the clinic's erasures
//  3. the advisory locks of phone numbers, tickets and appointments (package inbox)
//  4. imports
//  5. patients, by id
//  6. linkings
//  7. inbox entries, by id
//  8. appointments
//  9. payments
//  10. deletion requests
//
// A change of a patient's data holds the patient: with a shared lock if it adds or
// settles something, with an exclusive lock if it changes the patient's own row. A batch
// of an import first locks all patients that it may match. The jobs for overdue payments
// and inbox upkeep skip locked rows, so they wait for nothing.
func (s *Store) InTx(ctx context.Context, doing string, work func(tx *Tx) error) error {
	return tx.Run(ctx, s.host, doing, func(t *tx.Tx) error { return work(&Tx{dbgen.New(t.Raw), t}) })
}

// Join returns a Tx for a transaction that the caller began and will end.
func (s *Store) Join(raw pgx.Tx) *Tx { return &Tx{dbgen.New(raw), tx.Join(s.host, raw)} }

// Savepoint runs work in a nested transaction: if it fails, only its own changes are
// rolled back.
func (t *Tx) Savepoint(ctx context.Context, work func(nested *Tx) error) error {
	return pgx.BeginFunc(ctx, t.Raw, func(raw pgx.Tx) error {
		nested := *t.Tx
		nested.Raw = raw
		return work(&Tx{dbgen.New(raw), &nested})
	})
}

// Scope is a clinic and its environment, live or test. All data belongs to one scope.
type Scope struct {
	Clinic uuid.UUID
	Env    hub.Environment
}

// NewID returns a new id (UUIDv7). Later ids sort after earlier ones.
func NewID() uuid.UUID { return tx.NewID() }
