package query

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

// IntegrationDelivery is what came of sending an event to an integration.
type IntegrationDelivery struct {
	IntegrationID uuid.UUID
	Status        delivery.Status
	Connected     bool       // the integration is, still or again: what waits will be sent
	DeliveredAt   *time.Time // when the integration accepted the event; nil: not yet
}

// published is where an event stands in the log; n is its place among those asked for.
type published struct {
	index int
	seq   uuid.UUID
}

// IntegrationDeliveries returns the deliveries of tenants' events to integrations, in the order of the
// events, of which ID, TenantID and Environment count. Its statements are one for each day
// on which the events were published and two more, however many events these are.
func (r *Reader) IntegrationDeliveries(ctx context.Context, events []hub.Event) ([][]IntegrationDelivery, error) {
	deliveries := make([][]IntegrationDelivery, len(events))
	if len(events) == 0 {
		return deliveries, nil
	}
	if err := r.Materialize(ctx); err != nil {
		return nil, err
	}
	published, err := r.findPublished(ctx, events)
	for err == nil && len(published) > 0 {
		n := 1
		for n < len(published) && logid.SameDay(published[0].seq, published[n].seq) {
			n++
		}
		err = r.addDeliveries(ctx, deliveries, events, published[:n])
		published = published[n:]
	}
	return deliveries, err
}

// findPublished finds events, in the order of time. Several tenants may have chosen one id.
func (r *Reader) findPublished(ctx context.Context, events []hub.Event) ([]published, error) {
	ids, from, upto := make([]int64, len(events)), make([]uuid.UUID, len(events)), make([]uuid.UUID, len(events))
	for i, e := range events {
		bits, ok := hub.ParseEventID(e.ID)
		if !ok {
			continue // an empty span has none
		}
		ids[i] = int64(bits)
		from[i], upto[i] = logid.EventSpan(bits)
	}
	rows, err := r.pool.Query(ctx, `
		select w.n, e.seq from unnest($1::bigint[], $2::uuid[], $3::uuid[]) with ordinality w(id, low, high, n)
		join lateral (
			select seq from hub.events where seq >= w.low and seq < w.high and id = w.id
			union
			select seq from hub.idempotency where event_id = w.id) e on true
		where w.low < w.high`, ids, from, upto)
	if err != nil {
		return nil, fmt.Errorf("looking up events: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p published, err error) {
		err = row.Scan(&p.index, &p.seq)
		p.index--
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("looking up events: %w", err)
	}
	slices.SortFunc(found, func(a, b published) int { return bytes.Compare(a.seq[:], b.seq[:]) })
	return found, nil
}

// addDeliveries adds the deliveries of events of one day.
func (r *Reader) addDeliveries(ctx context.Context, deliveries [][]IntegrationDelivery, events []hub.Event, of []published) error {
	indices, first, last := make([]int, len(of)), make([]uuid.UUID, len(of)), make([]uuid.UUID, len(of))
	tenants, environments := make([]uuid.UUID, len(of)), make([]string, len(of))
	for i, event := range of {
		indices[i], first[i], last[i] = event.index, event.seq, logid.Last(event.seq)
		tenants[i], environments[i] = events[event.index].TenantID, string(events[event.index].Environment)
	}
	rows, err := r.pool.Query(ctx, `
		select w.n, d.target_id, d.status, coalesce(i.status <> 'inactive', false), case when d.status = 1 then d.finished_at end
		from unnest($1::int[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[]) w(n, first, last, tenant, environment)
		join hub.deliveries_`+logid.Partition(of[0].seq)+` d on d.id between w.first and w.last and d.tenant_id = w.tenant and d.environment = w.environment
		left join hub.integrations i on i.id = d.target_id
		where d.integration and not d.inbound order by w.n, d.id desc`, indices, first, last, tenants, environments)
	if err == nil {
		var n int
		var integrationDelivery IntegrationDelivery
		_, err = pgx.ForEachRow(rows, []any{&n, &integrationDelivery.IntegrationID, &integrationDelivery.Status, &integrationDelivery.Connected, &integrationDelivery.DeliveredAt}, func() error {
			deliveries[n] = append(deliveries[n], integrationDelivery)
			return nil
		})
	}
	if err != nil && !isMissingTable(err) { // the day's retention has ended
		return fmt.Errorf("reading deliveries: %w", err)
	}
	return nil
}
