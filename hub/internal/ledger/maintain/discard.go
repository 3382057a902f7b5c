package maintain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/module/dberr"
)

const (
	discardWait  = 16 * time.Second // for an attempt under way: it takes 14 s at most (HUB_DELIVERY_TIMEOUT)
	discardPause = 100 * time.Millisecond
)

var (
	errNotWaiting = hub.Errorf(hub.ErrConflict, "delivery_settled", "This delivery waits no more: it was delivered, or it failed.")
	errDiscarded  = hub.Errorf(hub.ErrConflict, "discarded", "This delivery was discarded so that others could pass; it cannot be sent again.")
	errUnderWay   = hub.Errorf(hub.ErrConflict, "attempt_under_way", "An attempt of this delivery is under way; try again in a few seconds.")
)

// Discarder fails single deliveries that wait, so that those behind them pass.
type Discarder struct {
	pool       *pgxpool.Pool
	reader     *query.Reader
	onDiscards func(product string, failed int)
}

// NewDiscarder returns the service. reader materializes deliveries that have no rows yet;
// onDiscards counts what failed.
func NewDiscarder(pool *pgxpool.Pool, reader *query.Reader, onDiscards func(product string, failed int)) *Discarder {
	return &Discarder{pool: pool, reader: reader, onDiscards: onDiscards}
}

// Discard fails a pending or parked delivery with the reason discarded. It waits for an
// attempt under way: the next one of the same order must not overtake it. It is a
// [hub.ErrConflict] if the delivery was received or settled, or the attempt does not end. It
// returns the delivery's tenant, as far as it is known, with an error too.
func (d *Discarder) Discard(ctx context.Context, id uuid.UUID) (tenant uuid.UUID, err error) {
	if err := d.reader.Materialize(ctx); err != nil {
		return uuid.Nil, err
	}
	for deadline := time.Now().Add(discardWait); ; {
		found, err := d.tryDiscard(ctx, id)
		if found.isWaiting || err != nil {
			return found.tenant, err
		}
		if time.Now().After(deadline) {
			return found.tenant, errUnderWay
		}
		select {
		case <-ctx.Done():
			return found.tenant, ctx.Err()
		case <-time.After(discardPause):
		}
	}
}

// tryDiscard fails a delivery that no process has leased; isWaiting is false if one has, or if
// another transaction keeps its ordering key locked.
func (d *Discarder) tryDiscard(ctx context.Context, id uuid.UUID) (found discardable, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if err := ledger.LockOrders(ctx, tx, "hub.deliveries", []uuid.UUID{id}); err != nil {
			return err
		}
		found, err = discardUnleased(ctx, tx, id)
		return err
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return found, query.ErrNotFound
	case dberr.IsLockTimeout(err):
		return found, nil
	case err != nil:
		return found, fmt.Errorf("discarding a delivery: %w", err)
	case found.isInbound:
		return found, errReceived
	case found.isSettled:
		return found, errNotWaiting
	case found.isWaiting:
		d.onDiscards(found.product, 1)
	}
	return found, nil
}

// discardable says whether a delivery can be discarded.
type discardable struct {
	isInbound bool
	isWaiting bool // pending and not leased, or parked: it was discarded
	isSettled bool
	product   string
	tenant    uuid.UUID
}

// discardUnleased fails a delivery that waits and that no process has leased. It is
// [pgx.ErrNoRows] if there is none with the id.
func discardUnleased(ctx context.Context, tx pgx.Tx, id uuid.UUID) (found discardable, err error) {
	err = tx.QueryRow(ctx, `
		with found as (
			select d.id, d.inbound, d.product, d.tenant_id, d.status in (1, 3) as settled,
				d.status = 2 or d.status = 0 and `+ledger.UnleasedSQL+` as waiting
			from hub.deliveries d where d.id = $1 for update of d),
		moved as (
			update hub.deliveries d set status = 3, reason = '`+delivery.ReasonDiscarded+`', next_attempt_at = null, parked_at = null, finished_at = now()
			from found f where d.id = f.id and f.waiting and not f.inbound returning d.tenant_id, d.target_id, d.product),
		counted as (
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, failed)
			select date_trunc('minute', now()), tenant_id, target_id, product, 1 from moved)
		select inbound, product, tenant_id, settled, waiting from found`, id).Scan(&found.isInbound, &found.product, &found.tenant, &found.isSettled, &found.isWaiting)
	return found, err
}
