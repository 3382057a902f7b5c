// Package store keeps the SQL of the clinic: queries/*.sql, the code sqlc makes of
// them in dbgen, and the changes that take more than one statement. What a change
// tells other products is published here, in its transaction, so that no path can
// skip it.
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

// Store is the clinic's database. The statements it embeds run by themselves.
type Store struct {
	*dbgen.Queries
	host module.Host
}

// New makes the store of an opened product.
func New(host module.Host) *Store { return &Store{dbgen.New(host.Pool), host} }

// Tx is a transaction at work.
type Tx struct {
	*dbgen.Queries
	Raw  pgx.Tx
	host module.Host
	now  time.Time
}

// InTx runs work in one transaction: committed when it returns nil, else rolled
// back. Errors of the database become errors for callers; doing names the work. Work is
// done anew where PostgreSQL ended it to let another transaction go on.
//
// Whoever locks rows of a clinic locks them in this order, so that nobody waits in a
// circle: the turns of a number's news and of tickets and appointments ([Tx.turns], which
// are advisory locks), imports, patients by their ids, linkings, inbox entries by their
// ids, appointments, payments, requests to be forgotten. What belongs to a patient is
// changed while the patient is held: shared for what is added or settled, alone for who
// they are. A batch of an import takes all the patients whom it may be about first. The
// job that finds overdue payments takes what nobody has, and waits for nothing; so does
// the upkeep of the inbox.
func (s *Store) InTx(ctx context.Context, doing string, work func(tx *Tx) error) error {
	var err error
	for range attempts {
		err = pgx.BeginFunc(ctx, s.host.Pool, func(raw pgx.Tx) error { return work(s.Join(raw)) })
		if !gaveWay(err) {
			break
		}
	}
	return dberr.Wrap(doing, err)
}

// attempts is how often work is begun that gave way to others.
const attempts = 5

// gaveWay tells whether PostgreSQL ended a transaction for the sake of another one.
func gaveWay(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "40P01" || refused.Code == "40001")
}

// Join is a transaction that somebody else began and will end.
func (s *Store) Join(raw pgx.Tx) *Tx {
	return &Tx{dbgen.New(raw), raw, s.host, s.host.Now().Truncate(time.Microsecond)}
}

// Now is the time of the transaction's changes.
func (t *Tx) Now() time.Time { return t.now }

// Scope is whose data a request is about, and which: live or test.
type Scope struct {
	Clinic uuid.UUID
	Env    hub.Environment
}

// publish makes an event of a clinic part of the transaction.
func (t *Tx) publish(ctx context.Context, scope Scope, eventType string, data any) (id string, err error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", eventType, err)
	}
	id, err = t.host.Events.Publish(ctx, t.Raw, hub.Event{TenantID: scope.Clinic, Environment: scope.Env, Type: eventType, Data: raw})
	if err != nil {
		return "", fmt.Errorf("publishing %s: %w", eventType, err)
	}
	return id, nil
}

// NewID makes an id that grows with time.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// missing is the answer to an id that is not this clinic's, whoever else's.
func missing(what string) *hub.Error {
	return hub.Errorf(hub.ErrNotFound, "not_found", "%s not found", what)
}
