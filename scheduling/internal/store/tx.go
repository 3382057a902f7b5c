// Package store keeps the SQL of the scheduling service: queries/*.sql, the code
// sqlc makes of them in dbgen, and the changes that take more than one statement.
// What a change tells other products is published here, in its transaction, so that
// no path can skip it.
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

// Store is the service's database. The statements it embeds run by themselves.
type Store struct {
	DB
	host module.Host
	gate turns
}

// DB is where statements run: by themselves, or in a transaction.
type DB struct {
	*dbgen.Queries
	conn dbgen.DBTX
}

func dbOf(conn dbgen.DBTX) DB { return DB{dbgen.New(conn), conn} }

// New makes the store of an opened product.
func New(host module.Host) *Store { return &Store{DB: dbOf(host.Pool), host: host} }

// Tx is a transaction at work.
type Tx struct {
	DB
	Raw  pgx.Tx
	host module.Host
	now  time.Time
}

// InTx runs work in one transaction: committed when it returns nil, else rolled
// back. Errors of the database become errors for callers; doing names the work.
func (s *Store) InTx(ctx context.Context, doing string, work func(tx *Tx) error) error {
	return dberr.Wrap(doing, pgx.BeginFunc(ctx, s.host.Pool, func(raw pgx.Tx) error {
		return work(s.Join(raw))
	}))
}

// Join is a transaction that somebody else began and will end.
func (s *Store) Join(raw pgx.Tx) *Tx {
	return &Tx{DB: dbOf(raw), Raw: raw, host: s.host, now: s.host.Now().Truncate(time.Microsecond)}
}

// Now is the time of the transaction's changes.
func (t *Tx) Now() time.Time { return t.now }

// publish makes an event of an organization part of the transaction.
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

// IgnoreNotFound is nil for something that is not there, or not any more, and else err.
func IgnoreNotFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, hub.ErrNotFound) {
		return nil
	}
	return err
}

// NewID makes an id that grows with time.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// notFound is the answer to an id that is not this organization's, whoever else's.
func notFound(what string) *hub.Error {
	return hub.Errorf(hub.ErrNotFound, "not_found", "%s not found", what)
}
