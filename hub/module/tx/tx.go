// Package tx runs the transactions of hosted products. It retries those that PostgreSQL
// aborted for a conflict, joins those that the hub began, and publishes events in them.
package tx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
)

// maxAttempts is how often work runs while it conflicts with others.
const maxAttempts = 5

// Tx is a transaction under way. A product's own type embeds it beside its queries.
type Tx struct {
	Raw      pgx.Tx
	Host     module.Host
	Priority hub.Priority // of the events that it publishes from now on
	now      time.Time
}

// Run runs work in one transaction: committed when work returns nil, else rolled back.
// Work runs again, up to five times in all, when PostgreSQL ended the transaction for a
// deadlock or a serialization failure, or work returned [ErrConflict], so it must set what it captures anew each time and
// have no effect outside of the transaction. Errors of the database become errors for
// callers ([dberr.Wrap]). operation names the work in the log, as there.
func Run(ctx context.Context, host module.Host, operation string, work func(tx *Tx) error) error {
	var err error
	for range maxAttempts {
		err = pgx.BeginFunc(ctx, host.Pool, func(raw pgx.Tx) error { return work(Join(host, raw)) })
		if !IsRetryable(err) {
			break
		}
	}
	return dberr.Wrap(operation, err)
}

// ErrConflict is returned by work that found, with its locks taken, that another
// transaction changed what they were chosen by. The work runs again.
var ErrConflict = hub.Errorf(hub.ErrUnavailable, "busy", "Others are changing the same data; try again in a moment.")

// IsRetryable reports whether a transaction met another one: PostgreSQL aborted it
// (serialization_failure, deadlock_detected), or its work returned [ErrConflict].
func IsRetryable(err error) bool {
	return errors.Is(err, ErrConflict) || dberr.IsConflict(err)
}

// Join returns a transaction that the caller began and will end.
func Join(host module.Host, raw pgx.Tx) *Tx {
	return &Tx{Raw: raw, Host: host, now: host.Now().Truncate(time.Microsecond)}
}

// Now returns the time of the transaction's changes, in whole microseconds as PostgreSQL
// keeps them.
func (t *Tx) Now() time.Time { return t.now }

// Publish makes an event part of the transaction and returns its id.
func (t *Tx) Publish(ctx context.Context, tenant uuid.UUID, environment hub.Environment, data events.Data) (id string, err error) {
	event, err := t.eventOf(tenant, environment, data)
	if err != nil {
		return "", err
	}
	if id, err = t.Host.Events.Publish(ctx, t.Raw, event); err != nil {
		return "", fmt.Errorf("publishing %s: %w", event.Type, err)
	}
	return id, nil
}

// PublishAll makes several events part of the transaction, in a few statements for all.
func PublishAll[D events.Data](ctx context.Context, t *Tx, tenant uuid.UUID, environment hub.Environment, list []D) error {
	return PublishTo(ctx, t, module.Audience{}, tenant, environment, list)
}

// PublishTo is [PublishAll] for an audience.
func PublishTo[D events.Data](ctx context.Context, t *Tx, audience module.Audience, tenant uuid.UUID, environment hub.Environment, list []D) error {
	if len(list) == 0 {
		return nil
	}
	batch := make([]hub.Event, len(list))
	for i, data := range list {
		event, err := t.eventOf(tenant, environment, data)
		if err != nil {
			return err
		}
		batch[i] = event
	}
	if _, err := t.Host.Events.PublishTo(ctx, t.Raw, audience, batch); err != nil {
		return fmt.Errorf("publishing %d events: %w", len(batch), err)
	}
	return nil
}

func (t *Tx) eventOf(tenant uuid.UUID, environment hub.Environment, data events.Data) (hub.Event, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return hub.Event{}, fmt.Errorf("encoding %s: %w", data.EventType(), err)
	}
	return hub.Event{TenantID: tenant, Environment: environment, Type: data.EventType(), Data: raw, Priority: t.Priority, OrderingKey: data.OrderingKey()}, nil
}

// NewID returns an id that grows with time (UUIDv7).
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
