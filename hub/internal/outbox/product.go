package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
	"integrationhub/hub/internal/strictjson"
	"integrationhub/hub/module"
)

// maxOrderingKey is the length of an ordering key in the schema, in bytes.
const maxOrderingKey = 200

// ProductPublisher publishes the events of a hosted product in its own transactions. It
// implements module.Publisher.
type ProductPublisher struct {
	Outbox *Outbox
	Name   string
}

// Publish stores an event and its deliveries in the caller's transaction. They are
// due at once, and the first process to claim them after the commit sends them.
func (p ProductPublisher) Publish(ctx context.Context, tx pgx.Tx, e hub.Event) (string, error) {
	ids, err := p.PublishTo(ctx, tx, module.Audience{}, []hub.Event{e})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// Subscribers implements [module.Publisher].
func (p ProductPublisher) Subscribers(ctx context.Context, tx pgx.Tx, audience module.Audience, e hub.Event) (ids []uuid.UUID, err error) {
	err = p.Outbox.resolveInTx(ctx, tx, []uuid.UUID{e.TenantID}, []string{p.Name}, func() error {
		targets, err := p.Outbox.directory.Subscribers(ctx, e.TenantID, e.Environment, e.Type, audience)
		ids = make([]uuid.UUID, len(targets))
		for i, target := range targets {
			ids[i] = target.ID
		}
		return err
	})
	return ids, err
}

// PublishTo is [ProductPublisher.Publish] for several events and an audience, with as many
// statements as one event takes.
func (p ProductPublisher) PublishTo(ctx context.Context, tx pgx.Tx, audience module.Audience, events []hub.Event) ([]string, error) {
	if len(events) == 0 {
		return nil, nil
	}
	publications := make([]*Publication, len(events))
	for i, e := range events {
		var err error
		if publications[i], err = p.publication(e); err != nil {
			return nil, err
		}
		publications[i].Audience = audience
		p.Outbox.countDisagreement(publications[i])
	}
	return p.Outbox.PublishInTx(ctx, tx, publications)
}

// PublishInTx stores events of one product with their deliveries in the caller's transaction, and
// returns the events' ids. The deliveries are sent after the commit. The events have neither API
// keys nor idempotency keys.
func (o *Outbox) PublishInTx(ctx context.Context, tx pgx.Tx, publications []*Publication) ([]string, error) {
	if len(publications) == 0 {
		return nil, nil
	}
	stored, err := o.prepareInTx(ctx, tx, publications)
	if err != nil {
		return nil, err
	}
	rows, first := &rows{}, publications[0]
	if hasOrdered(stored) {
		batch := &bulk.Batch{}
		taken := rows.addOrderPlaces(batch, stored)
		if err := batch.RunOn(ctx, tx.Conn()); err != nil {
			return nil, fmt.Errorf("taking places for event %s: %w", first.Type, err)
		}
		taken.assign(stored)
	}
	if err := rows.insertInParts(ctx, tx, stored, nil); err != nil {
		return nil, fmt.Errorf("storing event %s: %w", first.Type, err)
	}
	type due struct {
		target   uuid.UUID
		priority hub.Priority
	}
	ids, backlog, deliveries := make([]string, len(stored)), make(map[due]bool), 0
	for i, event := range stored {
		ids[i] = event.event.ID
		deliveries += len(event.targets)
		if event.isDeletion {
			continue
		}
		for _, target := range event.targets {
			backlog[due{target.ID, event.priority}] = true
		}
	}
	if len(backlog) > 0 {
		payloads := make([]string, 0, len(backlog))
		for d := range backlog {
			payloads = append(payloads, delivery.FormatDue(d.target, d.priority))
		}
		if _, err := tx.Exec(ctx, `select pg_notify($1, payload) from unnest($2::text[]) payload`, delivery.DueChannel, payloads); err != nil {
			return nil, fmt.Errorf("announcing event %s: %w", first.Type, err)
		}
	}
	o.recorder.CountAccepted(first.Product, len(stored), deliveries)
	for _, publication := range publications {
		o.countFiltered(publication)
	}
	return ids, nil
}

// publication checks an event of a product, which is published unchanged.
func (p ProductPublisher) publication(e hub.Event) (*Publication, error) {
	switch {
	case !e.Environment.Valid():
		return nil, fmt.Errorf("publishing %s: environment %q is neither live nor test", e.Type, e.Environment)
	case !hub.ValidEventType(e.Type):
		return nil, fmt.Errorf("publishing %q: an event type is words joined by dots", e.Type)
	}
	if err := strictjson.VisitMembers(e.Data, strictjson.Rules{UniqueKeys: true}, func(_, _ []byte) error { return nil }); err != nil {
		return nil, fmt.Errorf("publishing %s: data: %w", e.Type, err)
	}
	if !e.Priority.Valid() {
		return nil, fmt.Errorf("publishing %s: there is no priority %d", e.Type, e.Priority)
	}
	if len(e.OrderingKey) > maxOrderingKey {
		return nil, fmt.Errorf("publishing %s: its ordering key has %d bytes, %d are possible", e.Type, len(e.OrderingKey), maxOrderingKey)
	}
	if _, ok := hub.ParseEventID(e.ID); e.ID != "" && !ok {
		return nil, fmt.Errorf("publishing %s: %q is no event id", e.Type, e.ID)
	}
	return &Publication{
		Priority: e.Priority, TenantID: e.TenantID, Environment: e.Environment, Product: p.Name, Type: e.Type, CorrelationID: e.CorrelationID,
		Data: e.Data, ID: e.ID, OccurredAt: e.Time, OrderingKey: e.OrderingKey,
	}, nil
}

// prepareInTx prepares publications by the configuration that is committed now. A product
// has no limit of deliveries: what it publishes belongs to a change of its own.
func (o *Outbox) prepareInTx(ctx context.Context, tx pgx.Tx, publications []*Publication) (events []*preparedEvent, err error) {
	tenants, products := make([]uuid.UUID, len(publications)), make([]string, len(publications))
	for i, publication := range publications {
		tenants[i], products[i] = publication.TenantID, publication.Product
	}
	err = o.resolveInTx(ctx, tx, tenants, products, func() error {
		targets, err := o.receiversInTx(ctx, publications)
		if err != nil {
			return err
		}
		events, err = o.prepareEvents(ctx, publications, targets)
		return err
	})
	return events, err
}

// receiversInTx returns the receivers of each publication by the configuration as cached now.
func (o *Outbox) receiversInTx(ctx context.Context, publications []*Publication) (targets [][]*directory.Target, err error) {
	targets = make([][]*directory.Target, len(publications))
	for range maxTries {
		isEvaluated := true
		for i, publication := range publications {
			targets[i], err = o.receivers(ctx, publication)
			switch {
			case errors.Is(err, errNotEvaluated):
				isEvaluated = false
			case err != nil:
				return nil, err
			case len(targets[i]) > logid.MaxDeliveries:
				return nil, tooManyDeliveries(logid.MaxDeliveries)
			}
		}
		if isEvaluated {
			return targets, nil
		}
		if err := o.evaluateInTx(ctx, publications); err != nil {
			return nil, err
		}
	}
	return nil, errUnavailable(errKeptChanging)
}

// resolveInTx calls resolve, which finds receivers of tenants' and products' events in the
// cache, until it saw the configuration that is committed now.
func (o *Outbox) resolveInTx(ctx context.Context, tx pgx.Tx, tenants []uuid.UUID, products []string, resolve func() error) error {
	for range maxTries {
		snapshot := o.directory.Snapshot()
		if err := resolve(); err != nil {
			return err
		}
		changed, err := directory.HasChanged(ctx, tx, snapshot, tenants, products)
		if err != nil || !changed {
			return err
		}
		if _, err := o.directory.RefreshSince(ctx, snapshot); err != nil {
			return err
		}
	}
	return errUnavailable(errKeptChanging)
}
