package delivery

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/logid"
)

// isMissing reports whether the log has no row of an event: a person deleted it. There is
// nothing to send then, and an empty body would be taken for an event.
func (e *Event) isMissing() bool { return e.Body == nil }

// describeMissing sets what deliveries know of their events where the log has none: whose
// they are, so that the failures are counted.
func (d *Dispatcher) describeMissing(ctx context.Context, deliveries []LeasedDelivery) error {
	missing := make(map[uuid.UUID]*Event)
	var ids []uuid.UUID
	for _, delivery := range deliveries {
		if delivery.Event.isMissing() {
			missing[delivery.Event.Seq] = delivery.Event
			ids = append(ids, delivery.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := d.Pool.Query(ctx, `
		select id, tenant_id, environment, product, event_type, coalesce(correlation_id, '') from hub.deliveries where id = any($1::uuid[])`, ids)
	if err != nil {
		return fmt.Errorf("reading deliveries without events: %w", err)
	}
	var id uuid.UUID
	var read Event
	_, err = pgx.ForEachRow(rows, []any{&id, &read.TenantID, &read.Environment, &read.Product, &read.Type, &read.CorrelationID}, func() error {
		event := missing[logid.Seq(id)]
		event.TenantID, event.Environment, event.Product, event.Type, event.CorrelationID = read.TenantID, read.Environment, read.Product, read.Type, read.CorrelationID
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading deliveries without events: %w", err)
	}
	return nil
}
