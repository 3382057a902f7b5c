package inbox

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/logid"
)

// writeLog puts what came into the log, as it came: an event, and its one delivery,
// inbound.
func (l *lane) writeLog(ctx context.Context, tx pgx.Tx, batch []*request) error {
	days := make(map[string][]*request)
	for _, r := range batch {
		if r.outcome == Accepted || r.outcome == Ignored {
			day := logid.Partition(r.seq)
			days[day] = append(days[day], r)
		}
	}
	for day, came := range days {
		if err := writeDay(ctx, tx, day, came); err != nil {
			return fmt.Errorf("logging received events: %w", err)
		}
	}
	return nil
}

// writeDay writes into one day's tables, addressed by name as everywhere on the way of
// events.
func writeDay(ctx context.Context, tx pgx.Tx, day string, came []*request) error {
	n := len(came)
	seqs, deliveries, tenants, integrations := make([]uuid.UUID, n), make([]uuid.UUID, n), make([]uuid.UUID, n), make([]uuid.UUID, n)
	ids, environments, products, types := make([]int64, n), make([]string, n), make([]string, n), make([]string, n)
	stories, bodies, answers := make([]*string, n), make([][]byte, n), make([][]byte, n)
	for i, r := range came {
		seqs[i], deliveries[i], tenants[i], integrations[i] = r.seq, logid.Delivery(r.seq, 1), r.Event.TenantID, r.IntegrationID
		ids[i], environments[i], products[i], types[i] = r.id, string(r.Event.Environment), r.Event.Product, r.Event.Type
		bodies[i], answers[i] = r.Body, Answer(r.Event.ID, r.outcome)
		if r.Event.CorrelationID != "" {
			stories[i] = &r.Event.CorrelationID
		}
	}
	statements := &pgx.Batch{}
	statements.Queue(`
		insert into hub.events_`+day+` (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body)
		select u.seq, u.id, u.tenant, u.environment, u.product, u.type, u.story, 1, u.body
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[])
			u(seq, id, tenant, environment, product, type, story, body)`,
		seqs, ids, tenants, environments, products, types, stories, bodies)
	statements.Queue(`
		insert into hub.deliveries_`+day+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, response_body,
			inbound, integration, status, attempts, spent, status_code, round_at, due_at, finished_at)
		select u.*, true, true, 1, 1, 1, 200, null, null, now()
		from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[]) u`,
		deliveries, ids, tenants, integrations, environments, products, types, stories, answers)
	return tx.SendBatch(ctx, statements).Close()
}

// Answer is what the peer is told about an event.
func Answer(id string, outcome Outcome) []byte {
	return fmt.Appendf(nil, `{"received":true,"id":%q,"status":%q}`, id, outcome)
}
