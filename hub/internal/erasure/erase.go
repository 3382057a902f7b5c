package erasure

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/logid"
)

// event is an event of the log, as far as erasing needs it.
type event struct {
	seq         uuid.UUID
	id          int64
	deliveries  int
	correlation string // "" = none
}

// deliveriesOf are the ids of all deliveries of events.
func deliveriesOf(events []event) []uuid.UUID {
	var ids []uuid.UUID
	for _, one := range events {
		for n := range one.deliveries {
			ids = append(ids, logid.Delivery(one.seq, n+1))
		}
	}
	return ids
}

// readEvents reads events by seq; those whose retention ended are missing.
func readEvents(ctx context.Context, tx pgx.Tx, seqs []uuid.UUID) ([]event, error) {
	rows, err := tx.Query(ctx, `select seq, id, deliveries, coalesce(correlation_id, '') from hub.events where seq = any($1)`, seqs)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (one event, err error) {
		return one, row.Scan(&one.seq, &one.id, &one.deliveries, &one.correlation)
	})
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	return events, nil
}

// erase erases events of one day: payloads, what was answered to them, and ids of their
// publishers that name the person. Deliveries that wait fail. held are the events of
// which deliveries are in the hands of a process: it settles them, and they are to be
// erased again.
func erase(ctx context.Context, tx pgx.Tx, who *person, events []event) (d done, held []uuid.UUID, err error) {
	if len(events) == 0 {
		return done{}, nil, nil
	}
	day, payload := logid.Partition(events[0].seq), []byte(hub.ErasedPayload)
	seqs := make([]uuid.UUID, len(events))
	var named []event // by their correlation ids
	for i, one := range events {
		seqs[i] = one.seq
		if who.inText(one.correlation) {
			named = append(named, one)
		}
	}
	tag, err := tx.Exec(ctx, `update hub.events_`+day+` set body = $2 where seq = any($1) and body <> $2`, seqs, payload)
	if err != nil {
		return d, nil, fmt.Errorf("erasing payloads: %w", err)
	}
	d.events = int(tag.RowsAffected())
	if d.failed, err = failWaiting(ctx, tx, day, deliveriesOf(events)); err != nil {
		return d, nil, err
	}
	if err := wipeAnswers(ctx, tx, day, deliveriesOf(events)); err != nil {
		return d, nil, err
	}
	if err := eraseNames(ctx, tx, who, day, events, named); err != nil {
		return d, nil, err
	}
	settled, _, err := settledOf(ctx, tx, events)
	if err != nil {
		return d, nil, err
	}
	for _, one := range events {
		if settled[one.seq] < one.deliveries {
			held = append(held, one.seq)
		}
	}
	return d, held, nil
}

// failWaiting ends the wait of deliveries that nobody has in hand: those that are parked,
// that wait for a retry, or whose lease has ended. One that somebody is changing now is
// not waited for. It tells how many failed, by product.
func failWaiting(ctx context.Context, tx pgx.Tx, day string, ids []uuid.UUID) (map[string]int, error) {
	rows, err := tx.Query(ctx, `
		with waiting as (
			select id from hub.deliveries_`+day+`
			where id = any($1) and (status + 0 = 2 or status + 0 = 0 and (next_attempt_at is not null or due_at <= now()))
			order by id for update skip locked),
		moved as (
			update hub.deliveries_`+day+` d set status = 3, reason = 'erased', next_attempt_at = null, finished_at = now()
			from waiting w where d.id = w.id returning tenant_id, target_id, product),
		counted as (
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, failed)
			select date_trunc('minute', now()), tenant_id, target_id, product, count(*) from moved group by 2, 3, 4
			returning product, failed)
		select product, sum(failed)::integer from counted group by product`, ids)
	if err != nil {
		return nil, fmt.Errorf("failing deliveries that waited: %w", err)
	}
	counts := make(map[string]int)
	var product string
	var failed int
	if _, err = pgx.ForEachRow(rows, []any{&product, &failed}, func() error { counts[product] = failed; return nil }); err != nil {
		return nil, fmt.Errorf("failing deliveries that waited: %w", err)
	}
	return counts, nil
}

// wipeAnswers erases what was answered to deliveries. Our own answers to what was taken in
// have nothing but ids in them; those to what was not say why.
func wipeAnswers(ctx context.Context, tx pgx.Tx, day string, ids []uuid.UUID) error {
	for _, statement := range []string{
		`update hub.deliveries_` + day + ` set response_headers = null, response_body = case when response_body is not null then $2::bytea end
			where id = any($1) and (not inbound or status = 3) and (response_headers is not null or response_body <> $2::bytea)`,
		`update hub.attempts_` + day + ` set response_headers = null, response_body = case when response_body is not null then $2::bytea end
			where delivery_id = any($1) and (response_headers is not null or response_body <> $2::bytea)`,
	} {
		if _, err := tx.Exec(ctx, statement, ids, []byte(hub.ErasedPayload)); err != nil {
			return fmt.Errorf("erasing answers: %w", err)
		}
	}
	return nil
}

// eraseAnswers erases answers that are about the person though the payload was not.
func eraseAnswers(ctx context.Context, tx pgx.Tx, who *person, day string, events []event) error {
	ids := deliveriesOf(events)
	if len(ids) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, `
		select id, response_headers, response_body from hub.deliveries_`+day+`
		where id = any($1) and (response_headers is not null or response_body is not null)
		union all
		select delivery_id, response_headers, response_body from hub.attempts_`+day+`
		where delivery_id = any($1) and (response_headers is not null or response_body is not null)`, ids)
	if err != nil {
		return fmt.Errorf("reading answers: %w", err)
	}
	var found []uuid.UUID
	var id uuid.UUID
	var headers, body []byte
	if _, err = pgx.ForEachRow(rows, []any{&id, &headers, &body}, func() error {
		if who.in(body) || who.in(headers) {
			found = append(found, id)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("reading answers: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	return wipeAnswers(ctx, tx, day, found)
}

// eraseNames erases ids that publishers chose and that have the person in them: the
// correlation ids of named, and Idempotency-Keys of events. Such a key is good no more.
func eraseNames(ctx context.Context, tx pgx.Tx, who *person, day string, events, named []event) error {
	if len(named) > 0 {
		seqs := make([]uuid.UUID, len(named))
		for i, one := range named {
			seqs[i] = one.seq
		}
		if _, err := tx.Exec(ctx, `update hub.events_`+day+` set correlation_id = null where seq = any($1)`, seqs); err != nil {
			return fmt.Errorf("erasing correlation ids: %w", err)
		}
		if _, err := tx.Exec(ctx, `update hub.deliveries_`+day+` set correlation_id = null where id = any($1)`, deliveriesOf(named)); err != nil {
			return fmt.Errorf("erasing correlation ids: %w", err)
		}
	}
	ids, seqs := make([]int64, len(events)), make([]uuid.UUID, len(events))
	for i, one := range events {
		ids[i], seqs[i] = one.id, one.seq
	}
	rows, err := tx.Query(ctx, `select key, seq from hub.idempotency where event_id = any($1) and seq = any($2)`, ids, seqs)
	if err != nil {
		return fmt.Errorf("reading idempotency keys: %w", err)
	}
	var found []uuid.UUID
	var key string
	var seq uuid.UUID
	if _, err = pgx.ForEachRow(rows, []any{&key, &seq}, func() error {
		if who.inText(key) {
			found = append(found, seq)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("reading idempotency keys: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `
		update hub.idempotency set key = 'erased:' || seq::text where event_id = any($1) and seq = any($2)`, ids, found); err != nil {
		return fmt.Errorf("erasing idempotency keys: %w", err)
	}
	return nil
}

// settledOf counts the deliveries of events of one day that were delivered or failed, and
// those of them that we failed to deliver.
func settledOf(ctx context.Context, tx pgx.Tx, events []event) (settled, failed map[uuid.UUID]int, err error) {
	settled, failed = make(map[uuid.UUID]int, len(events)), make(map[uuid.UUID]int)
	if len(events) == 0 {
		return settled, failed, nil
	}
	rows, err := tx.Query(ctx, `
		select (overlay(id::text placing '0000' from 33))::uuid, count(*), count(*) filter (where status = 3 and not inbound)
		from hub.deliveries_`+logid.Partition(events[0].seq)+` where id = any($1) and status in (1, 3) group by 1`, deliveriesOf(events))
	if err != nil {
		return nil, nil, fmt.Errorf("counting what is settled: %w", err)
	}
	var seq uuid.UUID
	var n, not int
	if _, err = pgx.ForEachRow(rows, []any{&seq, &n, &not}, func() error { settled[seq], failed[seq] = n, not; return nil }); err != nil {
		return nil, nil, fmt.Errorf("counting what is settled: %w", err)
	}
	return settled, failed, nil
}

// parkedOf counts the deliveries of an event that are parked for integrations.
func parkedOf(ctx context.Context, tx pgx.Tx, one event) (n int, err error) {
	err = tx.QueryRow(ctx, `select count(*) from hub.deliveries_`+logid.Partition(one.seq)+` where id = any($1) and status = 2 and integration`,
		deliveriesOf([]event{one})).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting what is parked: %w", err)
	}
	return n, nil
}
