package erasure

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// logEvent is what an erasure needs of an event of the log.
type logEvent struct {
	seq         uuid.UUID
	id          int64
	deliveries  int
	correlation string // "" = none
	orderingKey string // "" = none
}

// logEventColumns are the columns of hub.events that an erasure needs, of a table e.
const logEventColumns = `e.seq, e.id, e.deliveries, coalesce(e.correlation_id, ''), coalesce(e.ordering_key, '')`

// fields returns where the logEventColumns of an event are read to.
func (e *logEvent) fields() []any {
	return []any{&e.seq, &e.id, &e.deliveries, &e.correlation, &e.orderingKey}
}

// chosenIDs returns what the publisher chose of the event that may name a person.
func (e *logEvent) chosenIDs() [2]string { return [2]string{e.correlation, e.orderingKey} }

// deliveryIDs returns the ids of all deliveries of events.
func deliveryIDs(events []logEvent) []uuid.UUID {
	var ids []uuid.UUID
	for _, event := range events {
		for n := range event.deliveries {
			ids = append(ids, logid.Delivery(event.seq, n+1))
		}
	}
	return ids
}

// readEvents loads events by seq, without those that retention has deleted.
func readEvents(ctx context.Context, db query.DB, seqs []uuid.UUID) ([]logEvent, error) {
	rows, err := db.Query(ctx, `select `+logEventColumns+` from hub.events e where seq = any($1)`, seqs)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (event logEvent, err error) {
		return event, row.Scan(event.fields()...)
	})
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	return events, nil
}

// personMatcher recognizes deleted persons in texts.
type personMatcher interface {
	// isInChosenID reports whether an id that a publisher chose names one of the persons.
	isInChosenID(text string) bool
}

// erase erases events of one day: their payloads, the responses to them, and correlation ids,
// Idempotency-Keys and ordering keys that name the person. Waiting deliveries fail. leased are
// the events with deliveries that a process has leased; they must be erased again afterwards.
func erase(ctx context.Context, tx pgx.Tx, matcher personMatcher, events []logEvent) (d stepResult, leased []uuid.UUID, err error) {
	if len(events) == 0 {
		return stepResult{}, nil, nil
	}
	day, payload := logid.Partition(events[0].seq), []byte(hub.ErasedPayload)
	seqs := make([]uuid.UUID, len(events))
	var eventsNamingPerson []logEvent // whose correlation ids name the person
	for i, event := range events {
		seqs[i] = event.seq
		if matcher.isInChosenID(event.correlation) {
			eventsNamingPerson = append(eventsNamingPerson, event)
		}
	}
	rows, err := tx.Query(ctx, `update hub.events_`+day+` set body = $2, subjects = null where seq = any($1) and body <> $2 returning seq`, seqs, payload)
	if err == nil {
		d.events, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	}
	if err != nil {
		return d, nil, fmt.Errorf("erasing payloads: %w", err)
	}
	if d.failed, err = failWaiting(ctx, tx, day, deliveryIDs(events)); err != nil {
		return d, nil, err
	}
	// Counted before the responses are erased: each statement sees what is committed by then, and
	// a delivery that settles between the two must not count, or its response would stay.
	settled, _, err := countSettled(ctx, tx, events)
	if err != nil {
		return d, nil, err
	}
	if err := blankResponses(ctx, tx, day, deliveryIDs(events)); err != nil {
		return d, nil, err
	}
	if err := eraseIDs(ctx, tx, matcher, day, events, eventsNamingPerson); err != nil {
		return d, nil, err
	}
	var keyed []logEvent // whose ordering keys name the person and are in no use any more
	for _, event := range events {
		switch {
		case settled[event.seq] < event.deliveries:
			leased = append(leased, event.seq)
		case matcher.isInChosenID(event.orderingKey):
			keyed = append(keyed, event)
		}
	}
	return d, leased, eraseOrderingKeys(ctx, tx, day, keyed)
}

// eraseOrderingKeys erases the ordering keys of events of which every delivery is settled. A
// delivery that is not has its place by the key: what it frees is found by that. Rows of
// hub.ordering_keys that still have waiting deliveries belong to newer events and stay.
func eraseOrderingKeys(ctx context.Context, tx pgx.Tx, day string, events []logEvent) error {
	if len(events) == 0 {
		return nil
	}
	seqs := make([]uuid.UUID, len(events))
	var ids []uuid.UUID
	var keys []string
	for i, event := range events {
		seqs[i] = event.seq
		of := deliveryIDs(events[i : i+1])
		ids, keys = append(ids, of...), append(keys, slices.Repeat([]string{event.orderingKey}, len(of))...)
	}
	statements := &pgx.Batch{}
	statements.Queue(`
		delete from hub.ordering_keys where waiting = 0 and ctid = any(array(
			select k.ctid from hub.ordering_keys k where k.waiting = 0 and (k.target_id, k.key) in (
				select d.target_id, u.key from unnest($1::uuid[], $2::text[]) u(id, key) join hub.deliveries_`+day+` d on d.id = u.id)
			order by k.target_id, k.key for update skip locked))`, ids, keys)
	statements.Queue(`update hub.deliveries_`+day+` set ordering_key = null where id = any($1) and status in (1, 3) and ordering_key is not null`, ids)
	statements.Queue(`update hub.events_`+day+` set ordering_key = null where seq = any($1)`, seqs)
	if err := tx.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("erasing ordering keys: %w", err)
	}
	return nil
}

// failWaiting fails deliveries that no process has leased: those that are parked, wait for
// a retry, or whose lease has expired. Rows locked by others are skipped. It returns
// those that failed.
func failWaiting(ctx context.Context, tx pgx.Tx, day string, ids []uuid.UUID) ([]failedDelivery, error) {
	if err := ledger.LockOrders(ctx, tx, "hub.deliveries_"+day, ids); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `
		with waiting as (
			select id from hub.deliveries_`+day+`
			where id = any($1) and (status + 0 = 2 or status + 0 = 0 and `+ledger.UnleasedSQL+`)
			order by id for update skip locked),
		moved as (
			update hub.deliveries_`+day+` d set status = 3, reason = 'erased', next_attempt_at = null, finished_at = now()
			from waiting w where d.id = w.id returning d.id, tenant_id, target_id, product),
		counted as (
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, failed)
			select date_trunc('minute', now()), tenant_id, target_id, product, count(*) from moved group by 2, 3, 4)
		select id, product from moved`, ids)
	if err != nil {
		return nil, fmt.Errorf("failing deliveries that waited: %w", err)
	}
	failed, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d failedDelivery, err error) {
		return d, row.Scan(&d.id, &d.product)
	})
	if err != nil {
		return nil, fmt.Errorf("failing deliveries that waited: %w", err)
	}
	return failed, nil
}

// failedDelivery is a delivery that waited and failed.
type failedDelivery struct {
	id      uuid.UUID
	product string
}

// blankResponses erases the responses to deliveries. Of inbound ones only failures are erased:
// our response to an accepted event has nothing but its id.
func blankResponses(ctx context.Context, tx pgx.Tx, day string, ids []uuid.UUID) error {
	for _, statement := range []string{
		`update hub.deliveries_` + day + ` set response_headers = null, response_body = case when response_body is not null then $2::bytea end
			where id = any($1) and (not inbound or status = 3) and (response_headers is not null or response_body <> $2::bytea)`,
		`update hub.attempts_` + day + ` set response_headers = null, response_body = case when response_body is not null then $2::bytea end
			where delivery_id = any($1) and (response_headers is not null or response_body <> $2::bytea)`,
	} {
		if _, err := tx.Exec(ctx, statement, ids, []byte(hub.ErasedPayload)); err != nil {
			return fmt.Errorf("erasing responses: %w", err)
		}
	}
	return nil
}

// eraseResponses erases responses that name the person although the payload does not.
func eraseResponses(ctx context.Context, tx pgx.Tx, deleted *person, day string, events []logEvent) error {
	ids := deliveryIDs(events)
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
		return fmt.Errorf("reading responses: %w", err)
	}
	var found []uuid.UUID
	var id uuid.UUID
	var headers, body []byte
	if _, err = pgx.ForEachRow(rows, []any{&id, &headers, &body}, func() error {
		if deleted.occursIn(body) || deleted.occursIn(headers) {
			found = append(found, id)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("reading responses: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	return blankResponses(ctx, tx, day, found)
}

// eraseIDs erases ids that publishers chose and that name the person: the correlation ids
// of eventsNamingPerson, and Idempotency-Keys of events, which no longer detect repetitions then.
func eraseIDs(ctx context.Context, tx pgx.Tx, matcher personMatcher, day string, events, eventsNamingPerson []logEvent) error {
	if len(eventsNamingPerson) > 0 {
		seqs := make([]uuid.UUID, len(eventsNamingPerson))
		for i, event := range eventsNamingPerson {
			seqs[i] = event.seq
		}
		if _, err := tx.Exec(ctx, `update hub.events_`+day+` set correlation_id = null where seq = any($1)`, seqs); err != nil {
			return fmt.Errorf("erasing correlation ids: %w", err)
		}
		if _, err := tx.Exec(ctx, `update hub.deliveries_`+day+` set correlation_id = null where id = any($1)`, deliveryIDs(eventsNamingPerson)); err != nil {
			return fmt.Errorf("erasing correlation ids: %w", err)
		}
	}
	ids, seqs := make([]int64, len(events)), make([]uuid.UUID, len(events))
	for i, event := range events {
		ids[i], seqs[i] = event.id, event.seq
	}
	rows, err := tx.Query(ctx, `select key, seq from hub.idempotency where event_id = any($1) and seq = any($2)`, ids, seqs)
	if err != nil {
		return fmt.Errorf("reading idempotency keys: %w", err)
	}
	var found []uuid.UUID
	var key string
	var seq uuid.UUID
	if _, err = pgx.ForEachRow(rows, []any{&key, &seq}, func() error {
		if matcher.isInChosenID(key) {
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

// countSettled counts the deliveries of events of one day that were delivered or failed,
// and the outbound ones among them that failed. Of a compacted day those that are not there
// any more were settled.
func countSettled(ctx context.Context, tx pgx.Tx, events []logEvent) (settled, failed map[uuid.UUID]int, err error) {
	settled, failed = make(map[uuid.UUID]int, len(events)), make(map[uuid.UUID]int)
	if len(events) == 0 {
		return settled, failed, nil
	}
	rows, err := tx.Query(ctx, `
		select (overlay(w.id::text placing '0000' from 33))::uuid, count(*), count(*) filter (where d.status = 3 and not d.inbound)
		from unnest($1::uuid[]) w(id) left join hub.deliveries_`+logid.Partition(events[0].seq)+` d on d.id = w.id
		where d.status in (1, 3) or d.id is null and exists (select from hub.compacted_days where day = to_date(right($2, 8), 'YYYYMMDD'))
		group by 1`, deliveryIDs(events), logid.Partition(events[0].seq))
	if err != nil {
		return nil, nil, fmt.Errorf("counting what is settled: %w", err)
	}
	var seq uuid.UUID
	var settledCount, failedCount int
	if _, err = pgx.ForEachRow(rows, []any{&seq, &settledCount, &failedCount}, func() error { settled[seq], failed[seq] = settledCount, failedCount; return nil }); err != nil {
		return nil, nil, fmt.Errorf("counting what is settled: %w", err)
	}
	return settled, failed, nil
}

// countParked counts the deliveries of an event that are parked for integrations.
func countParked(ctx context.Context, tx pgx.Tx, event logEvent) (n int, err error) {
	err = tx.QueryRow(ctx, `select count(*) from hub.deliveries_`+logid.Partition(event.seq)+` where id = any($1) and status = 2 and integration`,
		deliveryIDs([]logEvent{event})).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting what is parked: %w", err)
	}
	return n, nil
}
