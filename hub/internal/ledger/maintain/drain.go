package maintain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
)

// drainState is a state of hub.drains.
type drainState string

const (
	drainWaiting  drainState = "waiting"  // for the next trial
	drainTrying   drainState = "trying"   // the trial is pending
	drainDraining drainState = "draining" // what was parked before since is sent
	drainHeld     drainState = "held"     // the target is not in use; a trigger begins the drain when it is again
	drainSettling drainState = "settling" // nothing was left: two more looks before the row is deleted
	drainEnding   drainState = "ending"   // the target was deleted: what is parked fails
)

const (
	maxDrainInFlight  = 64              // of one target, pending at once
	slowDrainInFlight = 4               // of a target that is slow
	quickDrain        = time.Second     // what goes out within it was not too much
	slowDrain         = 4 * time.Second // what takes longer was
	maxParksInARow    = 3               // of a drain, before it ends
	maxStuckRetries   = 4               // that wait for a retry while others are sent past them
	headTrials        = 3               // of the oldest delivery alone; then others are tried in turn
	rotatedTrials     = 1000            // the oldest deliveries that are tried in turn
	firstSettlingLook = 2 * time.Second
	// A transaction that parked before the last look began has ended by then.
	lastSettlingLook = 30 * time.Second
	trialPoll        = time.Second
)

// trialWaits are the pauses after failed trials. The pause before the first one is
// [ledger.FirstTrialWaitSQL].
var trialWaits = [...]time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute}

// targetDrain is a row of hub.drains, locked.
type targetDrain struct {
	target        uuid.UUID
	isIntegration bool
	state         drainState
	trials        int
	trial         *uuid.UUID
	suspect       *uuid.UUID
	since         time.Time
	inFlight      int
	sent          []uuid.UUID
	sinceRequeue  *time.Duration
	hasDelivered  bool
	parked        int
	cursor        *drainCursor // what comes before was looked at
}

// drainCursor is a place in the order of a drain: by priority, then by id.
type drainCursor struct {
	priority hub.Priority
	id       uuid.UUID
}

// beforeAll is the cursor of a drain that begins.
var beforeAll = drainCursor{priority: hub.PriorityHigh}

// drainOutcome is what one step of a target did.
type drainOutcome struct {
	requeued int
	failed   map[string]int // deliveries, by product
	isBusy   bool           // the next step is due soon
}

// step works on a target whose step is due.
func (t *targetDrain) step(ctx context.Context, tx pgx.Tx, usage targetUsage) (drainOutcome, error) {
	switch {
	case t.state == drainEnding || !usage.exists:
		return t.failAll(ctx, tx)
	case !usage.inUse:
		return drainOutcome{}, t.update(ctx, tx, `state = 'held', due_at = null, trial_id = null, sent = '{}'`)
	case t.state == drainTrying:
		return t.checkTrial(ctx, tx)
	case t.state == drainDraining:
		return t.drain(ctx, tx)
	case t.state == drainSettling:
		return drainOutcome{}, t.settle(ctx, tx)
	default:
		return t.startTrial(ctx, tx)
	}
}

// startTrial makes one parked delivery pending, for a single attempt.
func (t *targetDrain) startTrial(ctx context.Context, tx pgx.Tx) (drainOutcome, error) {
	pick := `select d.id from hub.deliveries d where ` + drainableSQL + ` order by d.priority, d.id limit 1 for update skip locked`
	if t.trials >= headTrials && t.trials%2 == 1 { // it may be that this delivery alone fails
		pick = fmt.Sprintf(`select d.id from hub.deliveries d where d.id = (
			select o.id from (select d.id, d.finished_at from hub.deliveries d where %s order by d.priority, d.id limit %d) o order by o.finished_at, o.id limit 1)
			and d.status = 2 for update skip locked`, drainableSQL, rotatedTrials)
	}
	ids, err := requeueForDrain(ctx, tx, pick, delivery.LastAttemptCount, t.target)
	if err != nil {
		return drainOutcome{}, err
	}
	if len(ids) == 0 {
		return drainOutcome{}, t.beginSettling(ctx, tx)
	}
	return drainOutcome{requeued: 1, isBusy: true},
		t.update(ctx, tx, `state = 'trying', trial_id = $2, due_at = clock_timestamp() + $3`, ids[0].id, busyDrainInterval)
}

// checkTrial begins a drain if the trial was delivered, and schedules another trial if not.
func (t *targetDrain) checkTrial(ctx context.Context, tx pgx.Tx) (drainOutcome, error) {
	var status delivery.Status
	var waits, isUnsent bool
	err := tx.QueryRow(ctx, `select status, next_attempt_at is not null, `+isUnsentSQL+` from hub.deliveries d where d.id = $1`, t.trial).Scan(&status, &waits, &isUnsent)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return drainOutcome{}, fmt.Errorf("reading a trial: %w", err)
	case err != nil || status == delivery.Failed: // it shows nothing: another is tried
		return drainOutcome{isBusy: true}, t.update(ctx, tx, `state = 'waiting', trial_id = null, due_at = clock_timestamp()`)
	case isUnsent: // it shows nothing either: it is tried again
		return drainOutcome{isBusy: true}, t.update(ctx, tx, `state = 'waiting', trial_id = null, due_at = clock_timestamp() + $2`, busyDrainInterval)
	case status == delivery.Pending:
		return drainOutcome{isBusy: !waits}, t.update(ctx, tx, `due_at = clock_timestamp() + $2`, trialPoll)
	case status == delivery.Delivered:
		suspect, err := t.suspectOf(ctx, tx)
		if err != nil {
			return drainOutcome{}, err
		}
		return drainOutcome{isBusy: true}, t.update(ctx, tx, `state = 'draining', since = clock_timestamp(), due_at = clock_timestamp(), trials = 0, trial_id = null,
			suspect_id = $2, in_flight = 1, sent = '{}', requeued_at = null, delivered_at = clock_timestamp(), parked = 0, cursor = null`, suspect)
	default:
		wait := trialWaits[min(t.trials, len(trialWaits)-1)]
		return drainOutcome{}, t.update(ctx, tx,
			`state = 'waiting', trial_id = null, trials = trials + 1, due_at = clock_timestamp() + $2::interval * (0.9 + 0.2 * random())`, wait)
	}
}

// suspectOf returns the first parked delivery if it was tried in vain and another was
// delivered now; else nil. It goes last.
func (t *targetDrain) suspectOf(ctx context.Context, tx pgx.Tx) (*uuid.UUID, error) {
	if t.trials < headTrials {
		return nil, nil
	}
	var oldest uuid.UUID
	err := tx.QueryRow(ctx, `
		select d.id from hub.deliveries d where `+drainableSQL+`
			and (d.priority, d.id) < (select trial.priority, trial.id from hub.deliveries trial where trial.id = $2)
		order by d.priority, d.id limit 1`, t.target, *t.trial).Scan(&oldest)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the first parked delivery: %w", err)
	}
	return &oldest, nil
}

// drain sends the next parked deliveries as far as the target keeps up. It ends when none
// is left, or when the target fails.
func (t *targetDrain) drain(ctx context.Context, tx pgx.Tx) (drainOutcome, error) {
	progress, err := readDrainProgress(ctx, tx, t.sent)
	if err != nil {
		return drainOutcome{}, err
	}
	t.hasDelivered = t.hasDelivered || progress.delivered > 0
	if progress.unsent > 0 {
		return drainOutcome{isBusy: true}, t.restart(ctx, tx, progress.open)
	}
	if progress.delivered > 0 {
		t.parked = 0
	}
	t.parked += progress.parked
	if t.parked >= maxParksInARow || t.parked > 0 && !t.hasDelivered {
		return drainOutcome{}, t.wait(ctx, tx)
	}
	t.inFlight = t.nextInFlight(progress)
	free := t.freeInFlight(progress)
	var requeued []drainCursor
	isDone := false
	if free > 0 {
		if requeued, err = t.requeueNext(ctx, tx, free); err != nil {
			return drainOutcome{}, err
		}
		isDone = len(requeued) == 0 && t.cursor == nil
	}
	if isDone && len(progress.open) == 0 {
		return drainOutcome{isBusy: true}, t.finish(ctx, tx)
	}
	cursor := t.cursor
	sent := progress.open
	for _, next := range requeued {
		sent = append(sent, next.id)
		cursor = &next
	}
	if len(requeued) == 0 && free > 0 {
		cursor = nil // once more from the beginning: deliveries do not park in their order
	}
	cursorID, cursorPriority := cursor.columns()
	return drainOutcome{requeued: len(requeued), isBusy: true}, t.update(ctx, tx, `
		sent = $2, in_flight = $3, parked = $4, cursor = $5, due_at = clock_timestamp() + $6,
		delivered_at = case when $7 then clock_timestamp() else delivered_at end, requeued_at = case when $8 then clock_timestamp() else requeued_at end,
		cursor_priority = $9`,
		sent, t.inFlight, t.parked, cursorID, busyDrainInterval/2, progress.delivered > 0, len(requeued) > 0, cursorPriority)
}

// columns returns the cursor as hub.drains has it; nil: the drain begins.
func (c *drainCursor) columns() (id *uuid.UUID, priority hub.Priority) {
	if c == nil {
		return nil, hub.PriorityNormal
	}
	return &c.id, c.priority
}

// drainProgress is where the deliveries stand that a drain sent.
type drainProgress struct {
	open      []uuid.UUID // not settled
	retrying  int         // of these: an attempt failed
	delivered int
	parked    int
	unsent    int // parked without an attempt
}

func readDrainProgress(ctx context.Context, tx pgx.Tx, sent []uuid.UUID) (p drainProgress, err error) {
	p.open = []uuid.UUID{}
	if len(sent) == 0 {
		return p, nil
	}
	rows, err := tx.Query(ctx, `select d.id, d.status, d.next_attempt_at is not null, `+isUnsentSQL+` from hub.deliveries d where d.id = any($1)`, sent)
	if err != nil {
		return p, fmt.Errorf("reading a drain's deliveries: %w", err)
	}
	var id uuid.UUID
	var status delivery.Status
	var waits, isUnsent bool
	if _, err = pgx.ForEachRow(rows, []any{&id, &status, &waits, &isUnsent}, func() error {
		switch {
		case status == delivery.Pending:
			p.open = append(p.open, id)
			if waits {
				p.retrying++
			}
		case status == delivery.Delivered:
			p.delivered++
		case isUnsent:
			p.unsent++
		case status == delivery.Parked:
			p.parked++
		}
		return nil
	}); err != nil {
		return p, fmt.Errorf("reading a drain's deliveries: %w", err)
	}
	return p, nil
}

// nextInFlight returns how many deliveries may be pending from now on: twice as many where
// all went out quickly, half where they did not. Live deliveries wait behind these only.
func (t *targetDrain) nextInFlight(p drainProgress) int {
	switch {
	case p.parked > 0 || t.sinceRequeue != nil && *t.sinceRequeue > slowDrain && len(p.open) > p.retrying:
		return max(min(slowDrainInFlight, t.inFlight), t.inFlight/2)
	case p.delivered > 0 && len(p.open) == 0 && t.sinceRequeue != nil && *t.sinceRequeue < quickDrain:
		return min(2*t.inFlight, maxDrainInFlight)
	case p.delivered > 0 && len(p.open) == 0 && t.inFlight < slowDrainInFlight:
		return t.inFlight + 1
	}
	return t.inFlight
}

// freeInFlight returns how many deliveries may be sent now.
func (t *targetDrain) freeInFlight(p drainProgress) int {
	switch {
	case p.retrying == 0 || p.delivered > 0:
		return max(0, t.inFlight-len(p.open))
	case p.retrying == len(p.open) && p.retrying < maxStuckRetries && t.hasDelivered: // it may be that these alone fail
		return 1
	}
	return 0
}

// requeueNext makes the next parked deliveries pending, by priority and oldest first, the
// suspect last.
func (t *targetDrain) requeueNext(ctx context.Context, tx pgx.Tx, limit int) ([]drainCursor, error) {
	from := beforeAll
	if t.cursor != nil {
		from = *t.cursor
	}
	requeued, err := requeueForDrain(ctx, tx, `
		select d.id from hub.deliveries d where `+drainableSQL+` and d.finished_at < $2 and (d.priority, d.id) > ($3::smallint, $4::uuid) and ($5::uuid is null or d.id <> $5)
		order by d.priority, d.id limit `+strconv.Itoa(limit)+` for update skip locked`, 0, t.target, t.since, from.priority, from.id, t.suspect)
	if err != nil || len(requeued) > 0 || t.suspect == nil || t.cursor != nil {
		return requeued, err
	}
	suspect := *t.suspect
	t.suspect = nil
	if err := t.update(ctx, tx, `suspect_id = null`); err != nil {
		return nil, err
	}
	return requeueForDrain(ctx, tx, `select d.id from hub.deliveries d where `+drainableSQL+` and d.id = $2 for update skip locked`, 0, t.target, suspect)
}

// finish ends a drain that found nothing more.
func (t *targetDrain) finish(ctx context.Context, tx pgx.Tx) error {
	var unsent, left bool
	err := tx.QueryRow(ctx, `
		select exists (select from hub.deliveries d where `+drainableSQL+` and `+isUnsentSQL+`),
			exists (select from hub.deliveries d where `+drainableSQL+`)`, t.target).Scan(&unsent, &left)
	switch {
	case err != nil:
		return fmt.Errorf("looking for parked deliveries: %w", err)
	case unsent:
		return t.restart(ctx, tx, []uuid.UUID{})
	case left:
		return t.wait(ctx, tx)
	}
	return t.beginSettling(ctx, tx)
}

// restart makes the drain look once more at everything that is parked. Processes learn of
// changed configuration within a fraction of a second: one that takes the target for unused
// parks what it is sent without an attempt, which shows nothing about the target. open was
// sent and is not settled.
func (t *targetDrain) restart(ctx context.Context, tx pgx.Tx, open []uuid.UUID) error {
	return t.update(ctx, tx, `since = clock_timestamp(), due_at = clock_timestamp() + $2, sent = $3, cursor = null,
		delivered_at = case when $4 then coalesce(delivered_at, clock_timestamp()) end`, busyDrainInterval, open, t.hasDelivered)
}

// isUnsentSQL is true of deliveries d that were parked without an attempt because their
// target was not in use. An endpoint that responds 410 is disabled by then; an integration is
// not: its deliveries have that reason after an attempt.
var isUnsentSQL = `(d.status = 2 and (coalesce(d.reason, '') in ('` + strings.Join([]string{delivery.ReasonDisabled,
	delivery.ReasonIntegrationInactive, delivery.ReasonPeerUnavailable}, `', '`) + `') or d.reason = '` + delivery.ReasonGone + `' and not d.integration))`

// wait schedules the first of a series of trials.
func (t *targetDrain) wait(ctx context.Context, tx pgx.Tx) error {
	return t.update(ctx, tx, `state = 'waiting', trials = 0, trial_id = null, sent = '{}', due_at = clock_timestamp() + `+ledger.FirstTrialWaitSQL)
}

// beginSettling schedules two more looks before the row is deleted.
func (t *targetDrain) beginSettling(ctx context.Context, tx pgx.Tx) error {
	return t.update(ctx, tx, `state = 'settling', trials = 0, trial_id = null, sent = '{}', due_at = clock_timestamp() + $2`, firstSettlingLook)
}

// settle looks for deliveries that were parked while the drain ended.
func (t *targetDrain) settle(ctx context.Context, tx pgx.Tx) error {
	var left bool
	err := tx.QueryRow(ctx, `select exists (select from hub.deliveries d where `+drainableSQL+`)`, t.target).Scan(&left)
	switch {
	case err != nil:
		return fmt.Errorf("looking for parked deliveries: %w", err)
	case left:
		return t.update(ctx, tx, `state = 'waiting', trials = 0, due_at = clock_timestamp()`)
	case t.trials == 0:
		return t.update(ctx, tx, `trials = 1, due_at = clock_timestamp() + $2`, lastSettlingLook)
	}
	return t.delete(ctx, tx)
}

// failAll fails what is parked for a deleted endpoint, a batch in each step.
func (t *targetDrain) failAll(ctx context.Context, tx pgx.Tx) (drainOutcome, error) {
	failed, err := failWaiting(ctx, tx, t.target, delivery.ReasonEndpointDeleted, failBatch)
	if err != nil {
		return drainOutcome{}, err
	}
	n := 0
	for _, count := range failed {
		n += count
	}
	if n < failBatch {
		return drainOutcome{failed: failed}, t.delete(ctx, tx)
	}
	return drainOutcome{failed: failed, isBusy: true}, t.update(ctx, tx, `state = 'ending', due_at = clock_timestamp()`)
}

func (t *targetDrain) delete(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `delete from hub.drains where target_id = $1`, t.target); err != nil {
		return fmt.Errorf("ending a drain: %w", err)
	}
	return nil
}

// update changes the target's row. $1 is its id.
func (t *targetDrain) update(ctx context.Context, tx pgx.Tx, assignments string, args ...any) error {
	_, err := tx.Exec(ctx, `update hub.drains set `+assignments+` where target_id = $1`, append([]any{t.target}, args...)...)
	if err != nil {
		return fmt.Errorf("recording a drain: %w", err)
	}
	return nil
}

// drainableSQL is true of the parked deliveries d of target $1 that are sent again without
// being asked for. What a cancelled replay took back is not, but for those with a place in an
// order: the others of their key would wait for them.
const drainableSQL = `d.target_id = $1 and d.status = 2 and not d.inbound and (d.reason is distinct from '` + delivery.ReasonReplayCancelled + `' or d.ordering_key is not null)`

// requeueForDrain makes the deliveries pending that a query picks and locks, as if countedAttempts
// of their round had been made. It returns them in the order of drains.
func requeueForDrain(ctx context.Context, tx pgx.Tx, pick string, countedAttempts int, args ...any) ([]drainCursor, error) {
	rows, err := tx.Query(ctx, `
		with sendable as (`+pick+`),
		kept as (`+moveFirstAttemptSQL+`),
		moved as (
			update hub.deliveries d `+setPendingSQL+`, spent = `+strconv.Itoa(countedAttempts)+` from sendable s where d.id = s.id returning d.priority, d.id)
		select priority, id from moved order by priority, id`, args...)
	if err != nil {
		return nil, fmt.Errorf("requeueing parked deliveries: %w", err)
	}
	requeued, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c drainCursor, err error) {
		return c, row.Scan(&c.priority, &c.id)
	})
	if err != nil {
		return nil, fmt.Errorf("requeueing parked deliveries: %w", err)
	}
	return requeued, nil
}
