package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// recoverExamined is how many events a step of a recovery examines at most.
const recoverExamined = 5000

// Recovery selects the stored events that an endpoint is to get, of those that it has no
// delivery of.
type Recovery struct {
	EndpointID uuid.UUID
	Since      time.Time
	Until      *time.Time // nil: now
	EventTypes []string   // of those the endpoint subscribed to; nil: all
}

func (r Recovery) filter() ReplayFilter {
	return ReplayFilter{Filter: query.Filter{EndpointID: &r.EndpointID, Since: &r.Since, Until: r.Until}, EventTypes: r.EventTypes}
}

// CountRecovery returns how many events a recovery would send. Its errors are those of
// [Replays.Count].
func (s *Replays) CountRecovery(ctx context.Context, r Recovery, owner query.Owner) (n int64, err error) {
	leave, err := s.counts.enter(ctx, owner)
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := s.storePromised(ctx); err != nil {
		return 0, err
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		n, err = s.countRecovery(ctx, tx, r, s.upperBound())
		return err
	})
	return n, err
}

// CreateRecovery starts a job that makes deliveries of the events that an endpoint missed.
func (s *Replays) CreateRecovery(ctx context.Context, r Recovery, by Creator) (replay Replay, err error) {
	leave, err := s.counts.enter(ctx, by.Owner)
	if err != nil {
		return Replay{}, err
	}
	defer leave()
	if err := s.storePromised(ctx); err != nil {
		return Replay{}, err
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := requireRoom(ctx, tx, by.Owner); err != nil {
			return err
		}
		upto := s.upperBound()
		total, err := s.countRecovery(ctx, tx, r, upto)
		if err != nil {
			return err
		}
		replay, err = s.insert(ctx, tx, KindRecover, r.filter(), total, upto, by)
		return err
	})
	return replay, err
}

// storePromised makes rows of deliveries that only leases stand for, so that counts see them.
func (s *Replays) storePromised(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, `select hub.unfold_leases(array(select id from hub.leases))`); err != nil {
		return fmt.Errorf("reading what was just accepted: %w", err)
	}
	return nil
}

func (s *Replays) countRecovery(ctx context.Context, tx pgx.Tx, r Recovery, upto uuid.UUID) (n int64, err error) {
	if err := boundStatements(ctx, tx, s.limits.time); err != nil {
		return 0, err
	}
	missed, ok, err := missedEvents(ctx, tx, r.filter(), upto)
	if err != nil || !ok {
		return 0, countError("events", err)
	}
	c := &missed.conditions
	if missed.expression != "" {
		n, err = s.countMatching(ctx, tx, filter.New(missed.expression), c.Where()+" and "+noDeliverySQL, c.Args())
		return n, countError("events", err)
	}
	err = tx.QueryRow(ctx, `select count(*) from hub.events e where `+c.Where()+` and `+noDeliverySQL, append([]any{pgx.QueryExecModeCacheDescribe}, c.Args()...)...).Scan(&n)
	return n, countError("events", err)
}

// noDeliverySQL is true of events e that have no delivery to endpoint $1.
const noDeliverySQL = `not exists (
	select from hub.deliveries d
	where d.id > e.seq and d.id <= (overlay(e.seq::text placing 'ffff' from 33))::uuid and d.target_id = $1 and not d.integration)`

// eventsOfEndpoint selects the events e that an endpoint is to get, whether or not it has them.
type eventsOfEndpoint struct {
	conditions  query.Conditions // $1 is the endpoint
	expression  string           // the endpoint's filter; "" = none
	tenant      uuid.UUID
	environment string
}

// missedEvents returns which events an endpoint is to get: published by its tenant, in its
// environment, of its event types, and what its filter matches. ok is false where it gets none.
func missedEvents(ctx context.Context, db query.DB, f ReplayFilter, upto uuid.UUID) (missed eventsOfEndpoint, ok bool, err error) {
	c := &missed.conditions
	var product string
	var isHosted bool
	var types []string
	err = db.QueryRow(ctx, `
		select e.tenant_id, e.environment, t.product, p.hosted, e.event_types, coalesce(e.filter, '')
		from hub.endpoints e join hub.tenants t on t.id = e.tenant_id join hub.products p on p.name = t.product
		where e.id = $1 and e.deleted_at is null`, f.EndpointID).Scan(&missed.tenant, &missed.environment, &product, &isHosted, &types, &missed.expression)
	if errors.Is(err, pgx.ErrNoRows) {
		return missed, false, nil
	}
	if err != nil {
		return missed, false, fmt.Errorf("reading an endpoint: %w", err)
	}
	c.Add("?::uuid is not null", *f.EndpointID)
	c.Add("e.tenant_id = ?", missed.tenant)
	c.Add("e.environment = ?", missed.environment)
	if isHosted {
		c.Add("e.product = ?", product) // neither what peers sent nor the hub's own
	} else { // peers send it nothing; the log has the names of before it was renamed
		c.Add("e.product <> ?", hub.ProductHub)
	}
	c.Add(notErasedSQL)
	addTypes(c, types)
	if len(f.EventTypes) > 0 {
		addTypes(c, f.EventTypes)
	}
	c.Add("e.seq < ?", upto)
	if f.Since != nil {
		c.Add("e.seq >= ?", logid.Floor(*f.Since))
	}
	if f.Until != nil {
		c.Add("e.seq < ?", logid.Floor(*f.Until))
	}
	return missed, true, nil
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// addTypes adds the condition that [hub.MatchesEventType] decides in Go.
func addTypes(c *query.Conditions, patterns []string) {
	likes := make([]string, len(patterns))
	for i, pattern := range patterns {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		likes[i] = likeEscaper.Replace(prefix)
		if isPrefix {
			likes[i] += "%"
		}
	}
	c.Add("e.event_type like any(?::text[])", likes)
}

// recover makes deliveries of the job's next events, up to limit.
func (j *replayJob) recover(ctx context.Context, tx pgx.Tx, f ReplayFilter, limit int) (b requeuedBatch, err error) {
	events, ok, err := missedEvents(ctx, tx, f, j.upto)
	c, expression := &events.conditions, events.expression
	if err != nil || !ok {
		return b, err
	}
	from := uuid.Nil
	if f.Since != nil {
		from = logid.Floor(*f.Since)
	}
	if j.cursor != nil {
		from = *j.cursor
	}
	where := c.Where()
	examined := c.Numbered(`select seq from hub.events where tenant_id = ? and environment = ? and seq > ? and seq < ? order by seq limit `+fmt.Sprint(recoverExamined),
		events.tenant, events.environment, from, j.upto)
	rows, err := tx.Query(ctx, `
		with examined as materialized (`+examined+`)
		select x.seq, coalesce((select `+where+` and `+noDeliverySQL+` from hub.events e where e.seq = x.seq), false) from examined x order by x.seq`, append([]any{pgx.QueryExecModeCacheDescribe}, c.Args()...)...)
	if err != nil {
		return b, fmt.Errorf("reading events: %w", err)
	}
	var seq uuid.UUID
	var isMissed bool
	var missed []uuid.UUID
	if _, err = pgx.ForEachRow(rows, []any{&seq, &isMissed}, func() error {
		if len(missed) == limit {
			return nil
		}
		b.last = seq
		b.matched++
		if isMissed {
			missed = append(missed, seq)
		}
		return nil
	}); err != nil {
		return b, fmt.Errorf("reading events: %w", err)
	}
	if expression != "" && len(missed) > 0 {
		if missed, err = matchingEvents(ctx, tx, filter.New(expression), missed); err != nil {
			return b, err
		}
	}
	if b.requeued, err = recoverEvents(ctx, tx, *f.EndpointID, missed); err != nil {
		return b, err
	}
	if len(b.requeued) > 0 {
		b.targets = map[uuid.UUID]bool{*f.EndpointID: true}
	}
	return b, nil
}

// recoverEvents makes deliveries of events to an endpoint where there is none, and returns
// their ids. They are bulk, unless the event's priority is high. The rows of the events are locked first: another recovery may number a
// delivery of the same event at the same time. Whoever published an event left its
// deliveries or their lease in the same transaction.
func recoverEvents(ctx context.Context, tx pgx.Tx, endpoint uuid.UUID, seqs []uuid.UUID) ([]uuid.UUID, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	if _, err := tx.Exec(ctx, `select from hub.events where seq = any($1) order by seq for update`, seqs); err != nil {
		return nil, fmt.Errorf("locking events: %w", err)
	}
	_, err := tx.Exec(ctx, `
		select hub.unfold_leases(array(
			select distinct lease_id from hub.promised where (overlay(id::text placing '0000' from 33))::uuid = any($1)))`, seqs)
	if err != nil {
		return nil, fmt.Errorf("reading what was just accepted: %w", err)
	}
	rows, err := tx.Query(ctx, `
		with made as (
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, created_at, out_of_order, priority)
			select (overlay(e.seq::text placing lpad(to_hex(e.deliveries + 1), 4, '0') from 33))::uuid,
				e.id, e.tenant_id, $1, e.environment, e.product, e.event_type, e.correlation_id, e.created_at,
				e.ordering_key is not null and exists (select from hub.endpoints t where t.id = $1 and t.ordered),
				case when e.priority < 0 then e.priority else 1 end
			from hub.events e where e.seq = any($2) and e.deliveries < $3 and `+notErasedSQL+` and `+noDeliverySQL+`
			returning id, tenant_id, product),
		numbered as (
			update hub.events e set deliveries = deliveries + 1 from made m where e.seq = (overlay(m.id::text placing '0000' from 33))::uuid),
		counted as ( -- by the day of the event, as its other deliveries
			insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted)
			select date_trunc('minute', to_timestamp((('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint) / 1000.0)), tenant_id, $1, product, count(*)
			from made group by 1, 2, 4)
		select id from made order by id`, endpoint, seqs, logid.MaxDeliveries)
	if err != nil {
		return nil, fmt.Errorf("making deliveries of events: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("making deliveries of events: %w", err)
	}
	return ids, nil
}
