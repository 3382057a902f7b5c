package erasure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/module"
)

// TraceStore stores, encrypted, what publishers know about a deleted person besides the
// deletion event. It implements [module.Erasures].
type TraceStore struct{ Box *seal.Box }

var _ module.Erasures = TraceStore{}

// traceContext returns what traces are encrypted under: it binds them to their event.
func traceContext(tenant, environment string, eventID int64) string {
	return "erasure/" + tenant + "/" + environment + "/" + hub.FormatEventID(uint64(eventID))
}

var errEventID = errors.New("not an event's id")

// AddTraces implements [module.Erasures].
func (t TraceStore) AddTraces(ctx context.Context, tx pgx.Tx, event hub.Event, traces module.LogTraces) error {
	bits, ok := hub.ParseEventID(event.ID)
	if !ok {
		return fmt.Errorf("keeping traces of a person: %w", errEventID)
	}
	plain, err := json.Marshal(traces)
	if err != nil {
		return fmt.Errorf("keeping traces of a person: %w", err)
	}
	sealed := t.Box.Seal(plain, traceContext(event.TenantID.String(), string(event.Environment), int64(bits)))
	_, err = tx.Exec(ctx, `
		insert into hub.erasure_traces (tenant_id, environment, event_id, traces) values ($1, $2, $3, $4)
		on conflict (tenant_id, environment, event_id) do update set traces = excluded.traces`, event.TenantID, string(event.Environment), int64(bits), sealed)
	if err != nil {
		return fmt.Errorf("keeping traces of a person: %w", err)
	}
	return nil
}

// Release implements [module.Erasures].
func (t TraceStore) Release(ctx context.Context, tx pgx.Tx, event hub.Event) error {
	bits, ok := hub.ParseEventID(event.ID)
	if !ok {
		return fmt.Errorf("releasing a deletion event: %w", errEventID)
	}
	_, err := tx.Exec(ctx, `
		update hub.erasure_traces set released_at = now() where tenant_id = $1 and environment = $2 and event_id = $3 and released_at is null`,
		event.TenantID, string(event.Environment), int64(bits))
	if err != nil {
		return fmt.Errorf("releasing a deletion event: %w", err)
	}
	return nil
}

// loadTraces returns what the publisher stored about the person besides the event.
func (j *job) loadTraces(ctx context.Context, tx pgx.Tx, eventID int64) (traces module.LogTraces, err error) {
	var sealed []byte
	err = tx.QueryRow(ctx, `select traces from hub.erasure_traces where tenant_id = $1 and environment = $2 and event_id = $3`, j.tenant, j.environment, eventID).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return traces, nil
	}
	if err != nil {
		return traces, fmt.Errorf("reading traces of a person: %w", err)
	}
	return openTraces(j.box, sealed, scope{j.tenant, j.environment}, eventID)
}

// openTraces decrypts what the publisher stored about a person; nothing where sealed is nil.
func openTraces(box *seal.Box, sealed []byte, s scope, eventID int64) (traces module.LogTraces, err error) {
	if sealed == nil {
		return traces, nil
	}
	plain, err := box.Open(sealed, traceContext(s.tenant.String(), s.environment, eventID))
	if err != nil {
		return traces, fmt.Errorf("reading traces of a person: %w", err)
	}
	if err := json.Unmarshal(plain, &traces); err != nil {
		return traces, fmt.Errorf("reading traces of a person: %w", err)
	}
	return traces, nil
}

// dropTraces deletes a person's traces once the payloads are erased. The row stays: it
// says whether the event was released.
func (j *job) dropTraces(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		update hub.erasure_traces set traces = null where tenant_id = $1 and environment = $2 and event_id = (select id from hub.events where seq = $3)`,
		j.tenant, j.environment, j.seq)
	if err != nil {
		return fmt.Errorf("dropping traces of a person: %w", err)
	}
	return nil
}

// deleteTraces deletes the row of a finished erasure.
func (j *job) deleteTraces(ctx context.Context, tx pgx.Tx, events []logEvent) error {
	var id int64
	if len(events) > 0 {
		id = events[0].id
	}
	_, err := tx.Exec(ctx, `
		delete from hub.erasure_traces t where t.tenant_id = $1 and t.environment = $2 and t.event_id = $3`,
		j.tenant, j.environment, id)
	if err != nil {
		return fmt.Errorf("dropping traces of a person: %w", err)
	}
	return nil
}

// isReleased reports whether the publisher released the deletion event: receivers that did
// not take it need not get it any more.
func (j *job) isReleased(ctx context.Context, tx pgx.Tx, eventID int64) (released bool, err error) {
	err = tx.QueryRow(ctx, `
		select released_at is not null from hub.erasure_traces where tenant_id = $1 and environment = $2 and event_id = $3`, j.tenant, j.environment, eventID).Scan(&released)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("reading whether a deletion event was released: %w", err)
	}
	return released, nil
}
