// Package store holds the SQL of the scheduling service: queries/*.sql, the code sqlc generates
// from them in dbgen, and the changes that need several statements. A change that is a method here
// publishes its events in its own transaction. Queries of dbgen publish nothing: outside of this
// package appointments, clients and payments are only read, but for the writes that silentWrites
// lists in hub/hubtest/queries_test.go.
package store

//go:generate make -C ../../.. generate

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/tx"
	"integrationhub/scheduling/internal/store/dbgen"
)

// Store is the service's database. The queries it embeds run outside a transaction.
type Store struct {
	DB
	host module.Host
	gate bookingGate
}

// DB runs queries, either on the pool or in a transaction.
type DB struct {
	*dbgen.Queries
	conn dbgen.DBTX
}

func dbOf(conn dbgen.DBTX) DB { return DB{dbgen.New(conn), conn} }

// New returns the store of an opened product.
func New(host module.Host) *Store { return &Store{DB: dbOf(host.Pool), host: host} }

// Tx is a running transaction.
type Tx struct {
	DB
	*tx.Tx
	now time.Time // [tx.Tx.Now], addressable
}

// Page is a part of a list: at most Limit rows after the first Offset.
type Page struct{ Limit, Offset int }

// InTx runs work in one transaction, which commits when work returns nil. Database
// errors become errors for callers; doing names the work in them. [tx.Run] repeats work
// after a deadlock or serialization failure, so work must set anew what it captures.
func (s *Store) InTx(ctx context.Context, doing string, work func(tx *Tx) error) error {
	return tx.Run(ctx, s.host, doing, func(t *tx.Tx) error { return work(newTx(t)) })
}

// Join wraps a transaction that the caller began and ends.
func (s *Store) Join(raw pgx.Tx) *Tx { return newTx(tx.Join(s.host, raw)) }

func newTx(t *tx.Tx) *Tx { return &Tx{DB: dbOf(t.Raw), Tx: t, now: t.Now()} }

// withSavepoint runs work in a nested transaction. If it fails, its writes are rolled
// back and its locks released.
func (t *Tx) withSavepoint(ctx context.Context, work func(tx *Tx) error) error {
	return pgx.BeginFunc(ctx, t.Raw, func(inner pgx.Tx) error {
		nested := *t.Tx
		nested.Raw = inner
		return work(newTx(&nested))
	})
}

// publish adds an event of an organization to the transaction.
func (t *Tx) publish(ctx context.Context, org uuid.UUID, data events.Data) error {
	_, err := t.Publish(ctx, org, hub.Live, data)
	return err
}

// IgnoreNotFound returns nil for a row that does not exist, and err otherwise.
func IgnoreNotFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	return err
}

// NewID returns an id that sorts by creation time.
func NewID() uuid.UUID { return tx.NewID() }
