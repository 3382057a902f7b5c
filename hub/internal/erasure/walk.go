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

// What one step looks at or changes at most, whatever the log holds.
const (
	walkBatch   = 2000  // events
	walkWeight  = 20000 // the tenant's deliveries and KiB among them, about
	settleBatch = 500   // events that are looked at again
)

// walk looks at the next events of the log and erases those about the person.
func (j *job) walk(ctx context.Context, tx pgx.Tx) (done, error) {
	day, err := nextDay(ctx, tx, j.cursor)
	if err != nil {
		return done{}, err
	}
	if day == "" || day > logid.Partition(*j.upto) {
		return done{}, j.walked(ctx, tx)
	}
	who, err := j.person(ctx, tx)
	if err != nil {
		return done{}, err
	}
	if who.nobody() {
		return done{}, j.walked(ctx, tx)
	}
	found, others, cursor, err := j.read(ctx, tx, day, who)
	if err != nil {
		return done{}, err
	}
	d, held, err := erase(ctx, tx, who, found)
	if err != nil {
		return d, err
	}
	if err := eraseAnswers(ctx, tx, who, day, others); err != nil {
		return d, err
	}
	_, err = tx.Exec(ctx, `
		update hub.erasures set cursor = $2, held = held || $3::uuid[], events = events + $4, failed = failed + $5, due_at = now() where seq = $1`,
		j.seq, cursor, held, d.events, d.failures())
	if err != nil {
		return d, fmt.Errorf("moving an erasure on: %w", err)
	}
	return d, nil
}

// walked notes that the end of the log was reached.
func (j *job) walked(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `update hub.erasures set upto = null, cursor = null, due_at = now() where seq = $1`, j.seq); err != nil {
		return fmt.Errorf("moving an erasure on: %w", err)
	}
	return nil
}

// nextDay is the first day at or after an id that has tables; "" where there is none.
func nextDay(ctx context.Context, tx pgx.Tx, from uuid.UUID) (day string, err error) {
	err = tx.QueryRow(ctx, `
		select right(c.relname, 9) from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'hub.events'::regclass and right(c.relname, 9) >= $1 order by 1 limit 1`, logid.Partition(from)).Scan(&day)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("listing days: %w", err)
	}
	return day, nil
}

// read looks at a day's next events. found are about the person; others are the
// tenant's too, but not about them. cursor is how far it came.
func (j *job) read(ctx context.Context, tx pgx.Tx, day string, who *person) (found, others []event, cursor uuid.UUID, err error) {
	seen, cursor, err := j.next(ctx, tx, day)
	if err != nil || len(seen) == 0 {
		return nil, nil, cursor, err
	}
	seqs := make([]uuid.UUID, len(seen))
	for i, one := range seen {
		seqs[i] = one.seq
	}
	rows, err := tx.Query(ctx, `select seq, body from hub.events_`+day+` where seq = any($1) order by seq`, seqs)
	if err != nil {
		return nil, nil, cursor, fmt.Errorf("reading payloads: %w", err)
	}
	var seq uuid.UUID
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &body}, func() error {
		for seen[0].seq != seq {
			seen = seen[1:]
		}
		if one := seen[0]; who.theirs(one, body) {
			found = append(found, one)
		} else {
			others = append(others, one)
		}
		return nil
	})
	if err != nil {
		return nil, nil, cursor, fmt.Errorf("reading payloads: %w", err)
	}
	return found, others, cursor, nil
}

// next lists the tenant's events among a day's next ones, as many as one step can take.
// Which belong to the erasure, the database's clock tells: ids have the time of processes
// whose clocks may be wrong. Deletion events that were taken in have erasures of their own.
func (j *job) next(ctx context.Context, tx pgx.Tx, day string) (batch []event, cursor uuid.UUID, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(`
		select e.seq, e.id, e.deliveries, coalesce(e.correlation_id, ''), octet_length(e.body),
			e.tenant_id = $3 and e.environment = $4 and e.created_at <= $5
				and not (e.event_type = $6 and exists (select from hub.erasures r where r.seq = e.seq))
		from hub.events_%s e where e.seq > $1 and e.seq <= $2 order by e.seq limit %d`, day, walkBatch),
		j.cursor, *j.upto, j.tenant, j.environment, *j.startedAt, events.TypePatientDeleted)
	if err != nil {
		return nil, cursor, fmt.Errorf("reading the log: %w", err)
	}
	var one event
	var size int
	var ours bool
	seen, weight := 0, 0
	_, err = pgx.ForEachRow(rows, []any{&one.seq, &one.id, &one.deliveries, &one.correlation, &size, &ours}, func() error {
		if seen++; weight >= walkWeight {
			return nil
		}
		cursor = one.seq
		if ours {
			weight += one.deliveries + size/1024
			batch = append(batch, one)
		}
		return nil
	})
	if err != nil {
		return nil, cursor, fmt.Errorf("reading the log: %w", err)
	}
	if seen < walkBatch && weight < walkWeight { // the day is done
		cursor, err = endOf(day)
	}
	return batch, cursor, err
}

// endOf is the first id after a day.
func endOf(day string) (uuid.UUID, error) {
	at, err := time.Parse("p20060102", day)
	if err != nil {
		return uuid.Nil, fmt.Errorf("reading the name of a day's table: %w", err)
	}
	return logid.Floor(at.AddDate(0, 0, 1)), nil
}

// sameDay counts the first ids of one day.
func sameDay(ids []uuid.UUID) int {
	n := 1
	for n < len(ids) && logid.SameDay(ids[0], ids[n]) {
		n++
	}
	return n
}
