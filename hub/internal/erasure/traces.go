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

// Known keeps what publishers know of persons beside their deletion events. It implements
// [module.Erasures].
type Known struct{ Box *seal.Box }

var _ module.Erasures = Known{}

// traceContext binds sealed traces to their event.
func traceContext(tenant, environment string, event int64) string {
	return "erasure/" + tenant + "/" + environment + "/" + hub.FormatEventID(uint64(event))
}

var errEventID = errors.New("not an event's id")

// AddTraces implements [module.Erasures].
func (k Known) AddTraces(ctx context.Context, tx pgx.Tx, e hub.Event, traces module.Traces) error {
	bits, ok := hub.ParseEventID(e.ID)
	if !ok {
		return fmt.Errorf("keeping traces of a person: %w", errEventID)
	}
	plain, err := json.Marshal(traces)
	if err != nil {
		return fmt.Errorf("keeping traces of a person: %w", err)
	}
	sealed := k.Box.Seal(plain, traceContext(e.TenantID.String(), string(e.Environment), int64(bits)))
	_, err = tx.Exec(ctx, `
		insert into hub.erasure_traces (tenant_id, environment, event_id, traces) values ($1, $2, $3, $4)
		on conflict (tenant_id, environment, event_id) do update set traces = excluded.traces`, e.TenantID, string(e.Environment), int64(bits), sealed)
	if err != nil {
		return fmt.Errorf("keeping traces of a person: %w", err)
	}
	return nil
}

// Release implements [module.Erasures].
func (k Known) Release(ctx context.Context, tx pgx.Tx, e hub.Event) error {
	bits, ok := hub.ParseEventID(e.ID)
	if !ok {
		return fmt.Errorf("releasing a deletion event: %w", errEventID)
	}
	_, err := tx.Exec(ctx, `
		update hub.erasure_traces set released_at = now() where tenant_id = $1 and environment = $2 and event_id = $3 and released_at is null`,
		e.TenantID, string(e.Environment), int64(bits))
	if err != nil {
		return fmt.Errorf("releasing a deletion event: %w", err)
	}
	return nil
}

// traces reads what is known of the person of an erasure beside its event.
func (j *job) traces(ctx context.Context, tx pgx.Tx, event int64) (traces module.Traces, err error) {
	var sealed []byte
	err = tx.QueryRow(ctx, `select traces from hub.erasure_traces where tenant_id = $1 and environment = $2 and event_id = $3`, j.tenant, j.environment, event).Scan(&sealed)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && sealed == nil {
		return traces, nil
	}
	if err != nil {
		return traces, fmt.Errorf("reading traces of a person: %w", err)
	}
	plain, err := j.box.Open(sealed, traceContext(j.tenant.String(), j.environment, event))
	if err != nil {
		return traces, fmt.Errorf("reading traces of a person: %w", err)
	}
	if err := json.Unmarshal(plain, &traces); err != nil {
		return traces, fmt.Errorf("reading traces of a person: %w", err)
	}
	return traces, nil
}

// drop forgets what was known of a person, once the payloads are erased. What releases
// the event stays as long as that.
func (j *job) drop(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		update hub.erasure_traces set traces = null where tenant_id = $1 and environment = $2 and event_id = (select id from hub.events where seq = $3)`,
		j.tenant, j.environment, j.seq)
	if err != nil {
		return fmt.Errorf("dropping traces of a person: %w", err)
	}
	return nil
}

// end removes the row of an erasure that is done, and those whose events are gone from
// the log.
func (j *job) end(ctx context.Context, tx pgx.Tx, events []event) error {
	var id int64
	if len(events) > 0 {
		id = events[0].id
	}
	_, err := tx.Exec(ctx, `
		delete from hub.erasure_traces where tenant_id = $1 and environment = $2 and event_id = $3 or created_at < now() - interval '60 days'`,
		j.tenant, j.environment, id)
	if err != nil {
		return fmt.Errorf("dropping traces of a person: %w", err)
	}
	return nil
}

// released tells whether nobody waits for those who did not take the deletion event.
func (j *job) released(ctx context.Context, tx pgx.Tx, event int64) (released bool, err error) {
	err = tx.QueryRow(ctx, `
		select released_at is not null from hub.erasure_traces where tenant_id = $1 and environment = $2 and event_id = $3`, j.tenant, j.environment, event).Scan(&released)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("reading whether a deletion event was released: %w", err)
	}
	return released, nil
}
