// Package store holds the clinic's SQL (queries/*.sql, with the code that sqlc generates
// from it in dbgen) and the changes of patients, records, appointments, interactions and
// payments. A change publishes its events in its own transaction, so that no caller can
// forget them.
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
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// Store is the clinic's database. The embedded queries run outside of transactions.
type Store struct {
	*dbgen.Queries
	host module.Host
}

// New returns the store of an opened product.
func New(host module.Host) *Store { return &Store{dbgen.New(host.Pool), host} }

// Tx is a transaction. The embedded queries run in it.
type Tx struct {
	*dbgen.Queries
	Raw  pgx.Tx
	host module.Host
	now  time.Time
}

// InTx runs work in one transaction. It commits if work returns nil, and rolls back
// otherwise. If PostgreSQL aborts the transaction because of a serialization failure or
// a deadlock, InTx runs work again. Database errors become errors for callers; action
// describes the work, such as "storing an import".
//
// To avoid deadlocks, every transaction locks rows in this order:
//  1. the advisory locks of phone numbers, tickets and appointments (package inbox)
//  2. imports
//  3. patients, by id
//  4. linkings
//  5. inbox entries, by id
//  6. appointments
//  7. payments
//  8. deletion requests
//
// A change of a patient's data holds the patient: with a shared lock if it adds or
// settles something, with an exclusive lock if it changes the patient's own row. A batch
// of an import first locks all patients that it may match. The jobs for overdue payments
// and inbox upkeep skip locked rows, so they wait for nothing.
func (s *Store) InTx(ctx context.Context, action string, work func(tx *Tx) error) error {
	var err error
	for range maxAttempts {
		err = pgx.BeginFunc(ctx, s.host.Pool, func(raw pgx.Tx) error { return work(s.Join(raw)) })
		if !IsSerializationFailure(err) {
			break
		}
	}
	return dberr.Wrap(action, err)
}

// maxAttempts is how often InTx runs work that PostgreSQL aborts.
const maxAttempts = 5

// IsSerializationFailure reports whether PostgreSQL aborted a transaction in favour of
// another one.
func IsSerializationFailure(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == "40P01" || pgErr.Code == "40001")
}

// Join returns a Tx for a transaction that the caller began and will end.
func (s *Store) Join(raw pgx.Tx) *Tx {
	return &Tx{dbgen.New(raw), raw, s.host, s.host.Now().Truncate(time.Microsecond)}
}

// Savepoint runs work in a nested transaction: if it fails, only its own changes are
// rolled back.
func (t *Tx) Savepoint(ctx context.Context, work func(nested *Tx) error) error {
	return pgx.BeginFunc(ctx, t.Raw, func(raw pgx.Tx) error { return work(&Tx{dbgen.New(raw), raw, t.host, t.now}) })
}

// Now returns the time of the transaction's changes.
func (t *Tx) Now() time.Time { return t.now }

// Scope is a clinic and its environment, live or test. All data belongs to one scope.
type Scope struct {
	Clinic uuid.UUID
	Env    hub.Environment
}

// Publish publishes an event of a clinic in the transaction and returns the event's id.
func (t *Tx) Publish(ctx context.Context, scope Scope, eventType string, data any) (id string, err error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", eventType, err)
	}
	id, err = t.host.Events.Publish(ctx, t.Raw, hub.Event{TenantID: scope.Clinic, Environment: scope.Env, Type: eventType, Data: raw})
	if err != nil {
		return "", fmt.Errorf("publishing %s: %w", eventType, err)
	}
	return id, nil
}

// NewID returns a new id (UUIDv7). Later ids sort after earlier ones.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
