package erasure

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/logid"
)

// Bounds of one look at what waits.
const (
	waitingPersons = 200     // are looked for at once
	waitingLimit   = 250_000 // deliveries that are looked at, of each status; what is beyond is left to the walk
	waitingScopes  = 100     // tenants that are listed, to find one that no other process works on
)

// scope is whose log is erased.
type scope struct {
	tenant      uuid.UUID
	environment string
}

// isNewSQL is true of new erasures: their deletion events are held, and no process has looked
// for what waits yet.
const isNewSQL = `hold_ended_at is null and not whole_tenant and screened_at is null and finished_at is null`

// eraseNextWaiting looks for what waits about the persons of new erasures, of one tenant and
// environment, and erases it. The tenants take turns. It reports whether there were any that no
// other process works on.
//
// It reads what waits at the receivers of the deletion events, not the log: so the time it
// takes is bounded by that, and one look serves many deletions.
func (e *Eraser) eraseNextWaiting(ctx context.Context) (found bool, err error) {
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		var err error
		if found, err = e.lockNextScope(ctx, tx); err != nil || !found {
			return err
		}
		return e.eraseWaiting(ctx, e.last)
	})
	return found, err
}

// lockNextScope finds the next tenant and environment with new erasures and locks it for
// this process until the transaction ends. The lock is none of a row: others do not wait for it.
func (e *Eraser) lockNextScope(ctx context.Context, tx pgx.Tx) (found bool, err error) {
	rows, err := tx.Query(ctx, `
		select tenant_id, environment from hub.erasures where `+isNewSQL+`
		group by 1, 2 order by (tenant_id, environment) <= ($1, $2), 1, 2 limit $3`, e.last.tenant, e.last.environment, waitingScopes)
	if err != nil {
		return false, fmt.Errorf("reading erasures: %w", err)
	}
	scopes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s scope, err error) {
		return s, row.Scan(&s.tenant, &s.environment)
	})
	if err != nil {
		return false, fmt.Errorf("reading erasures: %w", err)
	}
	for _, next := range scopes {
		err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock(hashtextextended('hub.erasures/' || $1::uuid::text || '/' || $2, 0))`,
			next.tenant, next.environment).Scan(&found)
		if err != nil {
			return false, fmt.Errorf("locking a tenant's erasures: %w", err)
		}
		if found {
			e.last = next
			return true, nil
		}
	}
	return false, nil
}

// eraseWaiting looks for what waits about the persons of a tenant's new erasures and erases it,
// each part in a transaction of its own. After a kill another process begins anew.
func (e *Eraser) eraseWaiting(ctx context.Context, s scope) error {
	persons, err := e.loadNew(ctx, s)
	if err != nil || len(persons) == 0 {
		return err
	}
	if err := e.matchWaiting(ctx, s, persons); err != nil {
		return err
	}
	failpoint.Here("erasing_waiting")
	leased, err := e.eraseMatched(ctx, persons)
	if err != nil {
		return err
	}
	var seqs, erasures, leasedEvents []uuid.UUID
	for _, p := range persons {
		seqs = append(seqs, p.seq)
		for _, event := range p.matched {
			if leased[event.seq] {
				erasures, leasedEvents = append(erasures, p.seq), append(leasedEvents, event.seq)
			}
		}
	}
	_, err = e.pool.Exec(ctx, `
		with leased as (
			select erasure, array_agg(event) as events from unnest($2::uuid[], $3::uuid[]) u(erasure, event) group by 1),
		screened as (
			update hub.erasures e set screened_at = now(), held = coalesce((select events from leased where erasure = e.seq), '{}')
			where seq = any($1) and screened_at is null returning held)
		select pg_notify($4, $5) from screened where cardinality(held) > 0 limit 1`, seqs, erasures, leasedEvents, delivery.DueChannel, delivery.ErasureNotice)
	if err != nil {
		return fmt.Errorf("recording what was looked for: %w", err)
	}
	return nil
}

// loadNew reads the oldest new erasures of a tenant with their persons.
func (e *Eraser) loadNew(ctx context.Context, s scope) ([]*personErasure, error) {
	rows, err := e.pool.Query(ctx, `
		with chosen as (
			select seq from hub.erasures where `+isNewSQL+` and tenant_id = $1 and environment = $2 order by requested_at limit $3),
		begun as (
			update hub.erasures e set screening_since = coalesce(e.screening_since, now()) from chosen c where e.seq = c.seq
			returning e.seq, e.requested_at, e.held)
		select b.seq, b.requested_at, b.held, coalesce(v.id, 0), v.body, t.traces, exists (
			select from hub.deliveries d where d.id > b.seq and d.id <= (overlay(b.seq::text placing 'ffff' from 33))::uuid and d.inbound)
		from begun b left join hub.events v on v.seq = b.seq
		left join hub.erasure_traces t on t.tenant_id = $1 and t.environment = $2 and t.event_id = v.id order by b.seq`, s.tenant, s.environment, waitingPersons)
	if err != nil {
		return nil, fmt.Errorf("reading erasures: %w", err)
	}
	persons, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*personErasure, error) {
		p := &personErasure{}
		var id int64
		var body, sealed []byte
		if err := row.Scan(&p.seq, &p.requestedAt, &p.foundEarlier, &id, &body, &sealed, &p.isReceived); err != nil {
			return nil, err
		}
		traces, err := openTraces(e.box, sealed, s, id)
		if err != nil {
			return nil, err
		}
		p.person = readPerson(body)
		p.addTraces(traces)
		return p, nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading erasures: %w", err)
	}
	return persons, nil
}

// matchWaiting finds the events about the persons that have deliveries which wait or are under
// way. It records them before any is erased: an erased event names nobody any more.
func (e *Eraser) matchWaiting(ctx context.Context, s scope, persons []*personErasure) error {
	searched := slices.DeleteFunc(slices.Clone(persons), func(p *personErasure) bool { return p.isEmpty() })
	if len(searched) == 0 {
		return nil
	}
	targets, err := e.targetsOf(ctx, s, searched)
	if err != nil || len(targets) == 0 {
		return err
	}
	if _, err := e.pool.Exec(ctx, `
		select hub.unfold_leases(array(select distinct lease_id from hub.promised where target_id = any($1)))`, targets); err != nil {
		return fmt.Errorf("giving waiting deliveries their rows: %w", err)
	}
	seqs, err := e.listWaiting(ctx, targets)
	if err != nil {
		return err
	}
	all := newPersonSet(searched)
	for len(seqs) > 0 {
		n := min(logid.CountSameDay(seqs), walkBatch)
		if err := e.match(ctx, s, all, seqs[:n]); err != nil {
			return err
		}
		seqs = seqs[n:]
	}
	return e.recordMatched(ctx, searched)
}

// targetsOf returns where deliveries are looked for: the receivers of the deletion events. A
// deletion that a peer sent, or that nobody gets, has none: then all that the tenant has.
func (e *Eraser) targetsOf(ctx context.Context, s scope, persons []*personErasure) ([]uuid.UUID, error) {
	seqs := make([]uuid.UUID, len(persons))
	for i, p := range persons {
		seqs[i] = p.seq
	}
	rows, err := e.pool.Query(ctx, `
		with own as (
			select seq, d.target_id from unnest($1::uuid[]) seq, lateral (
				select target_id from hub.deliveries d where d.id > seq and d.id <= (overlay(seq::text placing 'ffff' from 33))::uuid and not d.inbound offset 0) d),
		others as (
			select id from hub.endpoints where tenant_id = $2 and environment = $3 and deleted_at is null
			union all
			select id from hub.integrations where tenant_id = $2 and environment = $3)
		select target_id from own
		union
		select id from others where exists (select from unnest($1::uuid[]) seq where seq not in (select seq from own))`, seqs, s.tenant, s.environment)
	if err != nil {
		return nil, fmt.Errorf("reading who gets a deletion: %w", err)
	}
	targets, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("reading who gets a deletion: %w", err)
	}
	return targets, nil
}

// listWaiting returns the events with deliveries to targets that wait or are under way, newest
// first: of one ordering key, those behind fail before their head does. They are read in one
// statement, so that none is overlooked which parks or is drained meanwhile.
func (e *Eraser) listWaiting(ctx context.Context, targets []uuid.UUID) ([]uuid.UUID, error) {
	rows, err := e.pool.Query(ctx, `
		(select id from hub.deliveries where target_id = any($1) and status = 0 limit $2)
		union all
		(select id from hub.deliveries where target_id = any($1) and status = 2 and not inbound limit $2)`, targets, waitingLimit)
	if err != nil {
		return nil, fmt.Errorf("listing what waits: %w", err)
	}
	var seqs []uuid.UUID
	var id uuid.UUID
	if _, err = pgx.ForEachRow(rows, []any{&id}, func() error { seqs = append(seqs, logid.Seq(id)); return nil }); err != nil {
		return nil, fmt.Errorf("listing what waits: %w", err)
	}
	slices.SortFunc(seqs, func(a, b uuid.UUID) int { return bytes.Compare(b[:], a[:]) })
	return slices.Compact(seqs), nil
}

// match finds which events of one day are about whom.
func (e *Eraser) match(ctx context.Context, s scope, all *personSet, seqs []uuid.UUID) error {
	rows, err := e.pool.Query(ctx, `
		select `+logEventColumns+`, e.created_at, e.body from hub.events_`+logid.Partition(seqs[0])+` e
		where e.seq = any($1) and e.tenant_id = $2 and e.environment = $3 and e.body <> $5
			and not (e.event_type = $4 and exists (select from hub.erasures r where r.seq = e.seq))
		order by e.seq desc`, seqs, s.tenant, s.environment, events.TypePatientDeleted, []byte(hub.ErasedPayload))
	if err != nil {
		return fmt.Errorf("reading what waits: %w", err)
	}
	var event logEvent
	var createdAt time.Time
	var body []byte
	_, err = pgx.ForEachRow(rows, append(event.fields(), &createdAt, &body), func() error {
		for _, p := range all.personsIn(event, createdAt, body) {
			p.matched = append(p.matched, event)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading what waits: %w", err)
	}
	return nil
}

// recordMatched records which events are about to be erased, beside those that a process which
// was killed had found.
func (e *Eraser) recordMatched(ctx context.Context, persons []*personErasure) error {
	var erasures, matched []uuid.UUID
	for _, p := range persons {
		for _, event := range p.matched {
			erasures, matched = append(erasures, p.seq), append(matched, event.seq)
		}
	}
	if len(matched) == 0 {
		return nil
	}
	_, err := e.pool.Exec(ctx, `
		update hub.erasures e set held = array(select unnest(e.held) union select unnest(f.events))
		from (select erasure, array_agg(event) as events from unnest($1::uuid[], $2::uuid[]) u(erasure, event) group by 1) f
		where e.seq = f.erasure and e.screened_at is null`, erasures, matched)
	if err != nil {
		return fmt.Errorf("recording what is erased: %w", err)
	}
	return nil
}

// eraseMatched erases what was found about persons, and what a process that was killed had
// found. It returns the events of which processes have leased deliveries.
func (e *Eraser) eraseMatched(ctx context.Context, persons []*personErasure) (leased map[uuid.UUID]bool, err error) {
	found, owners := []logEvent{}, make(map[uuid.UUID]*personErasure)
	for _, p := range persons {
		if len(p.foundEarlier) > 0 {
			earlier, err := readEvents(ctx, e.pool, p.foundEarlier)
			if err != nil {
				return nil, err
			}
			p.matched = append(p.matched, earlier...)
		}
		for _, event := range p.matched {
			if owners[event.seq] == nil {
				owners[event.seq] = p
				found = append(found, event)
			}
		}
	}
	slices.SortFunc(found, func(a, b logEvent) int { return bytes.Compare(b.seq[:], a.seq[:]) })
	all := newPersonSet(persons)
	leased = make(map[uuid.UUID]bool)
	for len(found) > 0 {
		n := 1
		for n < min(len(found), settleBatch) && logid.SameDay(found[0].seq, found[n].seq) {
			n++
		}
		part, err := e.erasePart(ctx, all, owners, found[:n])
		if err != nil {
			return nil, err
		}
		for _, seq := range part {
			leased[seq] = true
		}
		found = found[n:]
	}
	return leased, nil
}

// erasePart erases some events of one day about persons, and returns those of which processes
// have leased deliveries.
func (e *Eraser) erasePart(ctx context.Context, all *personSet, owners map[uuid.UUID]*personErasure, part []logEvent) (leased []uuid.UUID, err error) {
	var d stepResult
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		var err error
		if d, leased, err = erase(ctx, tx, all, part); err != nil {
			return err
		}
		var erasures []uuid.UUID
		var events, failed []int
		for _, seq := range d.events {
			erasures, events, failed = append(erasures, owners[seq].seq), append(events, 1), append(failed, 0)
		}
		for _, delivery := range d.failed {
			erasures, events, failed = append(erasures, owners[logid.Seq(delivery.id)].seq), append(events, 0), append(failed, 1)
		}
		_, err = tx.Exec(ctx, `
			update hub.erasures e set events = e.events + c.events, failed = e.failed + c.failed
			from (select seq, sum(events) as events, sum(failed) as failed from unnest($1::uuid[], $2::integer[], $3::integer[]) u(seq, events, failed) group by 1) c
			where e.seq = c.seq`, erasures, events, failed)
		if err != nil {
			return fmt.Errorf("recording what was erased: %w", err)
		}
		failpoint.Here("erased_waiting_part")
		return nil
	})
	if err != nil {
		return nil, err
	}
	e.recordErased(d)
	return leased, nil
}
