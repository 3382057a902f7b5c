// Package store holds the SQL of the scheduling service: queries/*.sql, the code
// sqlc generates from them in dbgen, and the changes that take more than one
// statement. A change publishes its events here, in its own transaction, so that no
// caller can skip them.
package store

//go:generate make -C ../../.. generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
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
	Raw  pgx.Tx
	host module.Host
	now  time.Time
}

// InTx runs work in one transaction, which commits when work returns nil. Database
// errors become errors for callers; doing names the work in them.
func (s *Store) InTx(ctx context.Context, doing string, work func(tx *Tx) error) error {
	return dberr.Wrap(doing, pgx.BeginFunc(ctx, s.host.Pool, func(raw pgx.Tx) error {
		return work(s.Join(raw))
	}))
}

// Join wraps a transaction that the caller began and ends.
func (s *Store) Join(raw pgx.Tx) *Tx {
	return &Tx{DB: dbOf(raw), Raw: raw, host: s.host, now: s.host.Now().Truncate(time.Microsecond)}
}

// Now returns the time of the transaction's changes.
func (t *Tx) Now() time.Time { return t.now }

// publish adds an event of an organization to the transaction.
func (t *Tx) publish(ctx context.Context, org uuid.UUID, eventType string, data map[string]any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("writing %s: %w", eventType, err)
	}
	_, err = t.host.Events.Publish(ctx, t.Raw, hub.Event{TenantID: org, Environment: hub.Live, Type: eventType, Data: raw})
	if err != nil {
		return fmt.Errorf("publishing %s: %w", eventType, err)
	}
	return nil
}

// IgnoreNotFound returns nil for a row that does not exist, and err otherwise.
func IgnoreNotFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	return err
}

// NewID returns an id that sorts by creation time.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// notFound is the error for an id that does not belong to the organization. It does
// not say whether another organization has it.
func notFound(what string) *hub.Error {
	return hub.Errorf(hub.ErrNotFound, "not_found", "%s not found", what)
}
