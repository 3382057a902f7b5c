package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
)

// Why a delivery waits.
const (
	CauseRetry      = "retry_scheduled"
	CauseUnderWay   = "attempt_under_way"
	CauseBehind     = "behind_others"
	CausePaced      = "paced"
	CauseBreaker    = "breaker_open"
	CauseDisabled   = "receiver_disabled"
	CauseGone       = "receiver_gone"
	CauseDeleted    = "receiver_deleted"
	CauseInactive   = "integration_inactive"
	CausePeerDown   = "peer_down"
	CauseTrial      = "trial_scheduled"
	CauseTrying     = "trial_under_way"
	CauseDraining   = "draining"
	CauseCancelled  = "replay_cancelled"
	CauseUnreleased = "not_scheduled"
	CauseOrder      = "behind_in_order"
)

// What releases a delivery that waits.
const (
	ReleaseTime     = "time"
	ReleaseAnswer   = "receiver_answers"
	ReleaseEnable   = "enable_receiver"
	ReleaseActivate = "activate_integration"
	ReleaseRetry    = "retry"
	ReleaseDiscard  = "discard"
)

// Bounds of what is counted.
const (
	maxAheadCounted    = 10_000
	maxFailuresCounted = 100
)

// Waiting says why a delivery waits and what releases it. It is read from the database and the
// configuration: every process answers the same.
type Waiting struct {
	Cause         string     `json:"cause" enum:"retry_scheduled,attempt_under_way,behind_others,paced,breaker_open,receiver_disabled,receiver_gone,receiver_deleted,integration_inactive,peer_down,trial_scheduled,trial_under_way,draining,replay_cancelled,not_scheduled,behind_in_order" doc:"What keeps it: the next retry's time; an attempt that runs; deliveries to the same receiver that are earlier or of a higher priority; the receiver's pace; its breaker, as attempts failed in a row and few are made at once; the receiver was disabled, responded 410, or was deleted; its integration is inactive or in error; a trial of one parked delivery is scheduled or runs; parked deliveries are going out in order; its replay was cancelled; nothing is scheduled; earlier deliveries of the same ordering key"`
	Since         *time.Time `json:"since" doc:"Since when it waits for this; null: unknown"`
	Until         *time.Time `json:"until" doc:"When the hub acts next by itself; null: no time is set"`
	Behind        *uuid.UUID `json:"behind" format:"uuid" nullable:"true" doc:"Delivery of the same ordering key that is sent next and holds up this one; null: none"`
	HoldsUp       int        `json:"holds_up" minimum:"0" maximum:"10000" doc:"Deliveries of the same ordering key that are sent after this one, if it is the next; counted up to 10000"`
	Ahead         int        `json:"ahead" minimum:"0" maximum:"10000" doc:"Deliveries to the same receiver that go first, counted up to 10000"`
	RatePerMinute int        `json:"rate_per_minute" minimum:"0" maximum:"1000000" doc:"Deliveries a minute that the receiver gets at most; 0: as many as it takes"`
	Failures      int        `json:"failures" minimum:"0" maximum:"100" doc:"Attempts at the receiver that failed since one succeeded, as far as their deliveries still wait; counted up to 100. From 10 on the breaker is open"`
	LastError     *string    `json:"last_error" maxLength:"4096" doc:"What the integration's last check found; null: nothing, or an endpoint"`
	ExpiresAt     *time.Time `json:"expires_at" doc:"When a parked delivery fails for good; null while it is pending"`
	Release       []string   `json:"release" nullable:"false" maxItems:"3" enum:"time,receiver_answers,enable_receiver,activate_integration,retry,discard" doc:"What releases it: the time in until, a success at the receiver, enabling the receiver, a working connection of the integration, sending it again by hand, or discarding the one it is behind"`
	Explanation   string     `json:"explanation" maxLength:"500" doc:"The same in a sentence" example:"Attempt 3 is due at 14:03:07 UTC."`
}

// receiverState is what a delivery's receiver and its drain look like now.
type receiverState struct {
	now            time.Time
	hasPlace       bool // in an order
	isHeld         bool // a deletion event, until attempts about the person have ended
	parkedAt       *time.Time
	exists         bool
	enabled        bool
	disabledReason *string
	disabledAt     *time.Time
	status         *integration.Status // of an integration
	disabled       bool                // an integration, by an administrator
	inactiveAt     *time.Time
	errorAt        *time.Time
	lastError      *string
	probeAt        *time.Time
	drain          *string // state
	drainDueAt     *time.Time
	drainSince     *time.Time
	trials         int
	trial          *uuid.UUID
}

// waiting returns why a delivery waits; nil where it does not.
func (r *Reader) waiting(ctx context.Context, detail *Detail) (*Waiting, error) {
	item := detail.Item
	isPending, isParked := item.Status == delivery.Pending.String(), item.Status == delivery.Parked.String()
	if item.Direction == "inbound" || !isPending && !isParked {
		return nil, nil
	}
	receiver, isIntegration := item.EndpointID, item.IntegrationID != nil
	if isIntegration {
		receiver = item.IntegrationID
	}
	state, err := r.receiverState(ctx, item.ID)
	if errors.Is(err, pgx.ErrNoRows) { // its day was dropped meanwhile
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lastAttemptAt *time.Time
	if n := len(detail.Attempts); n > 0 {
		lastAttemptAt = &detail.Attempts[n-1].StartedAt
	}
	w := &Waiting{LastError: state.lastError}
	if r.pace != nil {
		if w.RatePerMinute, err = r.pace(ctx, *receiver, isIntegration); err != nil {
			return nil, err
		}
	}
	if w.Failures, err = r.failuresInARow(ctx, *receiver); err != nil {
		return nil, err
	}
	if isParked {
		expires := state.parkedAt.Add(ledger.MaxParkedAge)
		w.ExpiresAt = &expires
	}
	if item.OrderingKey != nil {
		if err := r.readOrder(ctx, item.ID, *receiver, *item.OrderingKey, w); err != nil {
			return nil, err
		}
	}
	if err := r.describeCause(ctx, &state, w, item, *receiver, lastAttemptAt); err != nil {
		return nil, err
	}
	w.Explanation = w.explain(item)
	if state.isHeld && w.Cause == CauseBehind {
		w.Explanation = "Attempts of deliveries about the person are under way. It is sent when they have ended."
	}
	return w, nil
}

// describeCause sets the cause for which a delivery waits, and what releases it. lastAttemptAt is
// nil before the first attempt.
func (r *Reader) describeCause(ctx context.Context, state *receiverState, w *Waiting, item Item, receiver uuid.UUID, lastAttemptAt *time.Time) (err error) {
	switch {
	case w.Behind != nil:
		w.set(CauseOrder, &item.CreatedAt, nil, ReleaseAnswer, ReleaseDiscard)
	case item.Reason != nil && *item.Reason == delivery.ReasonReplayCancelled && !state.hasPlace:
		w.set(CauseCancelled, state.parkedAt, nil, ReleaseRetry)
	case !state.inUse():
		state.describeUnused(w)
	case item.Status == delivery.Parked.String():
		state.describeParked(w)
	case item.NextAttemptAt != nil && item.NextAttemptAt.After(state.now):
		w.set(CauseRetry, lastAttemptAt, item.NextAttemptAt, ReleaseTime, ReleaseRetry)
	case state.isHeld:
		w.set(CauseBehind, &item.CreatedAt, nil, ReleaseTime)
	default:
		if w.Ahead, err = r.pendingAhead(ctx, item.ID, receiver); err != nil {
			return err
		}
		state.describeQueued(w, item)
	}
	if w.Cause == CauseDraining {
		if w.Ahead, err = r.parkedAhead(ctx, item.ID, receiver); err != nil {
			return err
		}
	}
	return nil
}

func (w *Waiting) set(cause string, since, until *time.Time, release ...string) {
	w.Cause, w.Since, w.Until, w.Release = cause, since, until, append([]string{}, release...)
}

func (r *Reader) receiverState(ctx context.Context, id uuid.UUID) (s receiverState, err error) {
	err = r.pool.QueryRow(ctx, `
		select clock_timestamp(), d.ordering_key is not null, d.event_type = '`+events.TypePatientDeleted+`' and d.status = 0 and d.due_at > now() and d.due_at = hub.deletion_due_at(d.id), coalesce(d.parked_at, d.finished_at, d.created_at),
			coalesce(e.id, i.id) is not null and (i.id is null or i.revoked_at is null), coalesce(e.enabled, i.status = 'active', false),
			e.disabled_reason, e.disabled_at, i.status, coalesce(i.disabled, false), i.inactive_at, i.error_at, nullif(i.last_error, ''), i.next_probe_at,
			drain.state, drain.due_at, drain.since, coalesce(drain.trials, 0), drain.trial_id
		from hub.deliveries_`+logid.Partition(id)+` d
		left join hub.endpoints e on not d.integration and e.id = d.target_id and e.deleted_at is null
		left join hub.integrations i on d.integration and i.id = d.target_id
		left join hub.drains drain on drain.target_id = d.target_id
		where d.id = $1`, id).
		Scan(&s.now, &s.hasPlace, &s.isHeld, &s.parkedAt, &s.exists, &s.enabled, &s.disabledReason, &s.disabledAt, &s.status, &s.disabled, &s.inactiveAt, &s.errorAt,
			&s.lastError, &s.probeAt, &s.drain, &s.drainDueAt, &s.drainSince, &s.trials, &s.trial)
	if err != nil {
		return s, fmt.Errorf("reading why a delivery waits: %w", err)
	}
	return s, nil
}

func (s *receiverState) inUse() bool { return s.exists && s.enabled }

// describeUnused describes what waits for a receiver that takes nothing now.
func (s *receiverState) describeUnused(w *Waiting) {
	switch {
	case !s.exists:
		w.set(CauseDeleted, nil, nil)
	case s.status == nil && s.disabledReason != nil && *s.disabledReason == delivery.ReasonGone:
		w.set(CauseGone, s.disabledAt, nil, ReleaseEnable)
	case s.status == nil:
		w.set(CauseDisabled, s.disabledAt, nil, ReleaseEnable)
	case s.disabled:
		w.set(CauseDisabled, s.inactiveAt, nil, ReleaseEnable)
	case *s.status == integration.StatusInactive:
		w.set(CauseInactive, s.inactiveAt, nil, ReleaseActivate)
	default:
		w.set(CausePeerDown, s.errorAt, s.probeAt, ReleaseAnswer, ReleaseActivate)
	}
}

// describeParked describes what is parked for a receiver in use.
func (s *receiverState) describeParked(w *Waiting) {
	switch {
	case s.drain == nil:
		w.set(CauseUnreleased, s.parkedAt, nil, ReleaseRetry)
	case *s.drain == "waiting":
		w.set(CauseTrial, s.parkedAt, s.drainDueAt, ReleaseTime, ReleaseAnswer, ReleaseRetry)
	case *s.drain == "trying":
		w.set(CauseTrying, s.parkedAt, nil, ReleaseAnswer, ReleaseRetry)
	default:
		w.set(CauseDraining, s.drainSince, s.drainDueAt, ReleaseTime, ReleaseRetry)
	}
}

// describeQueued describes what is due, or leased by a process, for a receiver in use.
func (s *receiverState) describeQueued(w *Waiting, item Item) {
	due := item.NextAttemptAt
	if due == nil && item.AttemptCount == 0 {
		due = &item.CreatedAt
	}
	switch {
	case w.Failures >= delivery.BreakerAfter && w.Ahead > 0:
		w.set(CauseBreaker, due, nil, ReleaseAnswer)
	case w.RatePerMinute > 0 && w.Ahead > 0:
		until := s.now.Add(time.Duration(w.Ahead) * time.Minute / time.Duration(w.RatePerMinute))
		w.set(CausePaced, due, &until, ReleaseTime)
	case w.Ahead > 0:
		w.set(CauseBehind, due, nil, ReleaseTime)
	default:
		w.set(CauseUnderWay, due, nil, ReleaseTime)
	}
}

// pendingAhead counts the due deliveries of a receiver that go before one: those of a higher
// priority, and of the same one leased ones with an earlier id and, unless it is leased itself,
// those that came due before it.
func (r *Reader) pendingAhead(ctx context.Context, id, receiver uuid.UUID) (n int, err error) {
	if err := r.Materialize(ctx); err != nil {
		return 0, err
	}
	err = r.pool.QueryRow(ctx, `
		with own as (select due_at <= now() as unclaimed, due_at, priority from hub.deliveries where id = $1)
		select count(*) from (
			select from own, lateral (
				select d.id, d.due_at, d.priority from hub.deliveries d
				where d.status = 0 and d.target_id = $2 and d.priority <= own.priority and (d.next_attempt_at is null or d.next_attempt_at <= now()) and d.due_at < 'infinity'
				order by d.priority, d.due_at limit $3 + 1) d
			where d.id <> $1 and case when d.priority < own.priority then true when own.unclaimed then d.due_at > now() or (d.due_at, d.id) < (own.due_at, $1) else d.due_at > now() and d.id < $1 end
			limit $3) ahead`, id, receiver, maxAheadCounted).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting the deliveries before one: %w", err)
	}
	return n, nil
}

// readOrder sets which delivery one is behind in the order of its key, and how many go first;
// or, of the one that is sent next, how many are behind it.
func (r *Reader) readOrder(ctx context.Context, id, receiver uuid.UUID, key string, w *Waiting) error {
	err := r.pool.QueryRow(ctx, `
		select case when q.place is not null then k.head end,
			case when q.place is not null then 1 + (select count(*) from (
				select from hub.ordering_queue o where o.target_id = k.target_id and o.key = k.key and o.place < q.place limit $4 - 1) ahead) else 0 end,
			case when k.head = $1 then least(k.waiting - 1, $4) else 0 end
		from hub.ordering_keys k left join lateral (select place from hub.ordering_queue where delivery_id = $1) q on true
		where k.target_id = $2 and k.key = $3`, id, receiver, key, maxAheadCounted).Scan(&w.Behind, &w.Ahead, &w.HoldsUp)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("reading the order of a delivery: %w", err)
	}
	return nil
}

// parkedAhead counts the parked deliveries of a receiver that go before one.
func (r *Reader) parkedAhead(ctx context.Context, id, receiver uuid.UUID) (n int, err error) {
	err = r.pool.QueryRow(ctx, `
		select count(*) from (
			select from hub.deliveries d where d.target_id = $2 and d.status = 2
				and (d.priority, d.id) < (select own.priority, own.id from hub.deliveries own where own.id = $1) limit $3) ahead`, id, receiver, maxAheadCounted).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting the deliveries before one: %w", err)
	}
	return n, nil
}

// failuresInARow counts the attempts at a receiver since one of the newest succeeded, of
// deliveries that still wait.
func (r *Reader) failuresInARow(ctx context.Context, receiver uuid.UUID) (n int, err error) {
	err = r.pool.QueryRow(ctx, `
		with success as (
			select coalesce(max(finished_at), '-infinity') as at from (
				select finished_at from hub.deliveries where target_id = $1 and status = 1 order by id desc limit 20) newest),
		waiting as (
			(select id, started_at from hub.deliveries where target_id = $1 and status = 0 and attempts > 0 order by priority, due_at limit $2)
			union all
			(select id, started_at from hub.deliveries where target_id = $1 and status = 2 order by id desc limit $2))
		select count(*) from (
			select from waiting w, success where w.started_at > success.at
			union all
			select from success, waiting w, lateral (select from hub.attempts a where a.delivery_id = w.id and a.started_at > success.at) a
			limit $2) failed`, receiver, maxFailuresCounted).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting failed attempts: %w", err)
	}
	return n, nil
}

// goesAfter says which deliveries go before one.
func (i Item) goesAfter() string {
	if i.Priority == hub.PriorityBulk.String() {
		return "deliveries, all that are not bulk and earlier bulk ones,"
	}
	return "earlier deliveries"
}

// explain writes a waiting delivery's state as a sentence or two.
func (w *Waiting) explain(item Item) string {
	until := "by itself"
	if w.Until != nil {
		until = "at " + w.Until.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	since := ""
	if w.Since != nil {
		since = " since " + w.Since.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	switch w.Cause {
	case CauseRetry:
		return fmt.Sprintf("Attempt %d is due %s.", item.AttemptCount+1, until)
	case CauseUnderWay:
		return "It is due, and its attempt is being made."
	case CauseBehind:
		return fmt.Sprintf("%d %s to the same receiver go first.", w.Ahead, item.goesAfter())
	case CauseOrder:
		return fmt.Sprintf("It is behind delivery %s in the order of its key, and %d go first. Once that one is delivered, has failed or is discarded, the next is sent.", w.Behind, w.Ahead)
	case CausePaced:
		return fmt.Sprintf("The receiver gets at most %d deliveries a minute, and %d go first: its turn is about %s.", w.RatePerMinute, w.Ahead, until)
	case CauseBreaker:
		return fmt.Sprintf("%d attempts at the receiver failed in a row: few are made at once until one succeeds, and %d deliveries go first.", w.Failures, w.Ahead)
	case CauseDisabled:
		return fmt.Sprintf("The receiver is disabled%s. Enabling it sends this.", since)
	case CauseGone:
		return fmt.Sprintf("The receiver responded 410 (gone) and is disabled%s. Enabling it sends this.", since)
	case CauseDeleted:
		return "The receiver was deleted: this fails."
	case CauseInactive:
		return fmt.Sprintf("The integration is inactive%s. It is sent when the integration is active again.", since)
	case CausePeerDown:
		return fmt.Sprintf("The other product is down%s. It is sent when a check succeeds; the next is %s.", since, until)
	case CauseTrial:
		return fmt.Sprintf("The receiver refused it. One parked delivery is tried %s; when that succeeds, the rest follow.", until)
	case CauseTrying:
		return "The receiver refused it. A parked delivery is being tried now; when that succeeds, the rest follow."
	case CauseDraining:
		return fmt.Sprintf("The receiver takes deliveries again: parked ones go out in order, and %d go first.", w.Ahead)
	case CauseCancelled:
		return "Its replay was cancelled. It is sent only by hand."
	default:
		return "Nothing is scheduled. It is sent only by hand."
	}
}
