package query

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

// ListByIDs reads those of the deliveries that a filter matches, in the order they changed.
func (r *Reader) ListByIDs(ctx context.Context, f Filter, ids []uuid.UUID) ([]Item, error) {
	c, ok, err := f.conditions(ctx, r.pool)
	if err != nil || !ok {
		return nil, err
	}
	c.Add("d.id = any(?::uuid[])", ids)
	found, err := readIDs(ctx, r.pool, "reading deliveries", `select d.id from hub.deliveries d where `+c.Where(), c.args...)
	if err != nil {
		return nil, err
	}
	return r.itemsByChange(ctx, found)
}

// DatabaseTime is the time by the database's clock, which attempts are stored by.
func (r *Reader) DatabaseTime(ctx context.Context) (now time.Time, err error) {
	if err := r.pool.QueryRow(ctx, `select now()`).Scan(&now); err != nil {
		return now, fmt.Errorf("asking the time: %w", err)
	}
	return now, nil
}

// maxAttemptsRead is how many attempts are looked at, newest first, for what changed.
const maxAttemptsRead = 2000

// ListAttemptedSince reads what matches and had an attempt stored since a moment, in the order
// it changed; of more than limit, what changed last. It looks at a bounded number of
// attempts. Each delivery is looked up by its id: the tables joined as a whole would be
// read as a whole.
func (r *Reader) ListAttemptedSince(ctx context.Context, f Filter, since time.Time, limit int) ([]Item, error) {
	attempted, items, err := r.findChanged(ctx, f, since, limit)
	return slices.DeleteFunc(items, func(it Item) bool {
		return it.Status == delivery.Pending.String() && !slices.Contains(attempted, it.ID)
	}), err
}

// ListChangedSince reads what matches and was accepted or attempted since a moment, in the order
// it changed; of more than limit, what changed last.
func (r *Reader) ListChangedSince(ctx context.Context, f Filter, since time.Time, limit int) ([]Item, error) {
	if err := r.Materialize(ctx); err != nil {
		return nil, err
	}
	_, items, err := r.findChanged(ctx, f, since, limit)
	return items, err
}

// findChanged returns what changed since a time, and the ids of those with attempts in
// hub.attempts. A first attempt that delivers has none there, but it is made
// within a lease of the delivery being accepted.
func (r *Reader) findChanged(ctx context.Context, f Filter, since time.Time, limit int) (attempted []uuid.UUID, items []Item, err error) {
	if attempted, err = r.findAttempted(ctx, f, since, limit); err != nil {
		return nil, nil, err
	}
	floor := logid.Floor(since.Add(-delivery.LeaseDuration))
	p, ok, err := f.plan(ctx, r.pool, r.limits, &floor, nil)
	if err != nil {
		return nil, nil, err
	}
	var accepted []uuid.UUID
	if ok { // else nothing was accepted, though what was before may have been attempted
		if accepted, err = r.find(ctx, &p, limit); err != nil {
			return nil, nil, err
		}
	}
	items, err = r.itemsByChange(ctx, slices.Concat(attempted, accepted))
	items = slices.DeleteFunc(items, func(it Item) bool { return it.ChangedAt.Before(since) })
	return attempted, items[max(0, len(items)-limit):], err
}

func (r *Reader) findAttempted(ctx context.Context, f Filter, since time.Time, limit int) ([]uuid.UUID, error) {
	c, ok, err := f.conditions(ctx, r.pool)
	if err != nil || !ok {
		return nil, err
	}
	statement := c.numbered(`
		with recent as (
			select delivery_id, stored_at from hub.attempts where stored_at >= ? order by stored_at desc limit ?),
		latest as (
			select delivery_id, max(stored_at) as at from recent group by delivery_id)
		select d.id from latest l, lateral (
			select d.id from hub.deliveries d where d.id = l.delivery_id and `+c.Where()+` limit 1) d
		order by l.at desc limit ?`, since, maxAttemptsRead, limit)
	return readIDs(ctx, r.pool, "reading attempts", statement, c.args...)
}

// itemsByChange reads deliveries in the order they changed, each once.
func (r *Reader) itemsByChange(ctx context.Context, ids []uuid.UUID) ([]Item, error) {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(b[:], a[:]) })
	items, err := r.items(ctx, slices.Compact(ids))
	slices.SortStableFunc(items, func(a, b Item) int { return a.ChangedAt.Compare(b.ChangedAt) })
	return items, err
}
