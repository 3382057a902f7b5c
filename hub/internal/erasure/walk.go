package erasure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/events"
	"integrationhub/hub/internal/logid"
)

// Bounds of one step.
const (
	walkBatch   = 2000  // events that are examined
	walkWeight  = 20000 // the tenant's deliveries and KiB among them, roughly
	settleBatch = 500   // events that are erased again
)

// walk examines the next events of the log and erases those about the person.
func (j *job) walk(ctx context.Context, tx pgx.Tx) (stepResult, error) {
	day, err := nextDay(ctx, tx, j.cursor)
	if err != nil {
		return stepResult{}, err
	}
	if day == "" || day > logid.Partition(*j.upto) {
		return stepResult{}, j.endWalk(ctx, tx)
	}
	deleted, err := j.loadPerson(ctx, tx)
	if err != nil {
		return stepResult{}, err
	}
	if deleted.isEmpty() {
		return stepResult{}, j.endWalk(ctx, tx)
	}
	matching, others, cursor, err := j.matchNext(ctx, tx, day, deleted)
	if err != nil {
		return stepResult{}, err
	}
	d, leased, err := erase(ctx, tx, deleted, matching)
	if err != nil {
		return d, err
	}
	if err := eraseResponses(ctx, tx, deleted, day, others); err != nil {
		return d, err
	}
	_, err = tx.Exec(ctx, `
		update hub.erasures set cursor = $2, held = held || array(select unnest($3::uuid[]) except select unnest(held)), events = events + $4, failed = failed + $5, due_at = now() where seq = $1`,
		j.seq, cursor, leased, len(d.events), len(d.failed))
	if err != nil {
		return d, fmt.Errorf("moving an erasure on: %w", err)
	}
	return d, nil
}

// endWalk records that the end of the log was reached.
func (j *job) endWalk(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `update hub.erasures set upto = null, cursor = null, examined = true, due_at = now() where seq = $1`, j.seq); err != nil {
		return fmt.Errorf("moving an erasure on: %w", err)
	}
	return nil
}

// nextDay returns the first day at or after an id's day that has tables, "" if there is
// none.
func nextDay(ctx context.Context, tx pgx.Tx, from uuid.UUID) (day string, err error) {
	err = tx.QueryRow(ctx, `
		select right(c.relname, 9) from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'hub.events'::regclass and right(c.relname, 9) >= $1 order by 1 limit 1`, logid.Partition(from)).Scan(&day)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("listing days: %w", err)
	}
	return day, nil
}

// matchNext examines a day's next events. matching are about the person, others are the
// tenant's remaining ones, and cursor is the last event it examined.
func (j *job) matchNext(ctx context.Context, tx pgx.Tx, day string, deleted *person) (matching, others []logEvent, cursor uuid.UUID, err error) {
	examined, cursor, err := j.listNext(ctx, tx, day)
	if err != nil || len(examined) == 0 {
		return nil, nil, cursor, err
	}
	seqs := make([]uuid.UUID, len(examined))
	for i, event := range examined {
		seqs[i] = event.seq
	}
	rows, err := tx.Query(ctx, `select seq, body from hub.events_`+day+` where seq = any($1) order by seq`, seqs)
	if err != nil {
		return nil, nil, cursor, fmt.Errorf("reading payloads: %w", err)
	}
	var seq uuid.UUID
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &body}, func() error {
		for examined[0].seq != seq {
			examined = examined[1:]
		}
		if event := examined[0]; deleted.matches(event, body) {
			matching = append(matching, event)
		} else {
			others = append(others, event)
		}
		return nil
	})
	if err != nil {
		return nil, nil, cursor, fmt.Errorf("reading payloads: %w", err)
	}
	return matching, others, cursor, nil
}

// listNext lists the tenant's events among a day's next ones, as many as fit in a step.
// Which of them the erasure covers is decided by the database's clock: ids carry the time
// of processes whose clocks may be wrong. Deletion events with erasures of their own are
// left out, unless the whole tenant is erased.
func (j *job) listNext(ctx context.Context, tx pgx.Tx, day string) (batch []logEvent, cursor uuid.UUID, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(`
		select `+logEventColumns+`, octet_length(e.body),
			e.tenant_id = $3 and e.environment = $4 and e.created_at <= $5
				and ($7 or not (e.event_type = $6 and exists (select from hub.erasures r where r.seq = e.seq)))
		from hub.events_%s e where e.seq > $1 and e.seq <= $2 order by e.seq limit %d`, day, walkBatch),
		j.cursor, *j.upto, j.tenant, j.environment, *j.startedAt, events.TypePatientDeleted, j.isWholeTenant)
	if err != nil {
		return nil, cursor, fmt.Errorf("reading the log: %w", err)
	}
	var event logEvent
	var size int
	var isCovered bool
	seen, weight := 0, 0
	_, err = pgx.ForEachRow(rows, append(event.fields(), &size, &isCovered), func() error {
		if seen++; weight >= walkWeight {
			return nil
		}
		cursor = event.seq
		if isCovered {
			weight += event.deliveries + size/1024
			batch = append(batch, event)
		}
		return nil
	})
	if err != nil {
		return nil, cursor, fmt.Errorf("reading the log: %w", err)
	}
	if seen < walkBatch && weight < walkWeight { // the day is done
		cursor, err = firstIDAfter(day)
	}
	return batch, cursor, err
}

// firstIDAfter returns the first id after a day.
func firstIDAfter(day string) (uuid.UUID, error) {
	date, err := time.Parse("p20060102", day)
	if err != nil {
		return uuid.Nil, fmt.Errorf("reading the name of a day's table: %w", err)
	}
	return logid.Floor(date.AddDate(0, 0, 1)), nil
}
