// Package erasure clears the log of persons. Whoever accepts an event that says a person
// was deleted stores a row that asks for it in the same transaction; any process works it
// off, a bounded piece in each transaction, and goes on where another one died.
//
// Every payload of the tenant's environment that has the person's id, e-mail address or
// phone number in it is replaced, whichever way it went, and what receivers answered with
// it. Deliveries that waited fail; those that a process has in hand are settled by it
// first. What is accepted after the work began is left alone: it is new. The deletion
// event itself stays as it is until all have it who will get it.
package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/internal/store/dbgen"
)

const (
	lookEvery   = time.Second
	againEvery  = time.Second      // while processes have deliveries in hand
	failedPause = 10 * time.Second // before a step that failed is tried again
	commitTime  = time.Second      // for commits that are under way when an erasure begins
	beyond      = 10 * time.Second // that their ids may lie beyond the last one in the log
	longestRest = time.Second      // between two steps
)

// Insert asks for erasures: the columns are the events' seqs, tenants and environments.
// It belongs into the transaction that stores the events.
const Insert = `
	insert into hub.erasures (seq, tenant_id, environment)
	select * from unnest($1::uuid[], $2::uuid[], $3::text[])`

// Recorder counts what is erased.
type Recorder interface {
	// CountErasedPayloads counts payloads.
	CountErasedPayloads(n int)
	// CountErasedPerson counts an erasure of which only the event is left.
	CountErasedPerson()
	// CountFailedUnsent counts deliveries of a product that failed without an attempt.
	CountFailedUnsent(product string, deliveries int)
}

// Eraser works off erasures. Every process runs one: a step of an erasure is one's at a
// time.
type Eraser struct {
	pool   *pgxpool.Pool
	log    *slog.Logger
	record Recorder
	box    *seal.Box
	watch  func(tenants []uuid.UUID)
}

// New makes an eraser. box opens what [Known] keeps; watch is told every second of which tenants payloads are being
// erased; what this process has of them in memory may be out of date.
func New(pool *pgxpool.Pool, log *slog.Logger, record Recorder, box *seal.Box, watch func(tenants []uuid.UUID)) *Eraser {
	return &Eraser{pool: pool, log: log, record: record, box: box, watch: watch}
}

// Run works until ctx ends.
func (e *Eraser) Run(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.every(ctx, "hearing of erasures", e.look)
	}()
	e.every(ctx, "erasing payloads", e.work)
	<-ended
}

// every does something every second until ctx ends, and says once when it begins to fail.
func (e *Eraser) every(ctx context.Context, doing string, do func(context.Context) error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	failing := false
	for {
		err := do(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			e.log.Warn(doing+" failed; trying again", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look tells this process of the tenants whose payloads are being erased.
func (e *Eraser) look(ctx context.Context) error {
	rows, err := e.pool.Query(ctx, `select distinct tenant_id from hub.erasures where finished_at is null and erased_at is null`)
	if err != nil {
		return fmt.Errorf("reading erasures: %w", err)
	}
	tenants, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return fmt.Errorf("reading erasures: %w", err)
	}
	e.watch(tenants)
	return nil
}

// work does what is due, and rests after each step for as long as it took: erasing must
// not take the database from those who publish.
func (e *Eraser) work(ctx context.Context) error {
	for ctx.Err() == nil {
		began := time.Now()
		more, err := e.step(ctx)
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Since(began), longestRest)):
		}
	}
	return nil
}

// job is an erasure as a step finds it.
type job struct {
	box         *seal.Box
	seq, tenant uuid.UUID
	environment string
	startedAt   *time.Time
	upto        *uuid.UUID
	cursor      uuid.UUID // Nil: nothing was looked at yet
	held        []uuid.UUID
	erasedAt    *time.Time
	events      int // erased in the steps before
	failed      int
}

// done is what a step did, told of after its commit.
type done struct {
	events int
	failed map[string]int // by product
	erased bool           // only the event is left
}

func (d *done) add(other done) {
	d.events += other.events
	for product, n := range other.failed {
		if d.failed == nil {
			d.failed = make(map[string]int)
		}
		d.failed[product] += n
	}
}

func (d *done) failures() (n int) {
	for _, failed := range d.failed {
		n += failed
	}
	return n
}

// step does the next piece of the erasure that has waited longest, in one transaction.
// It tells whether there was one.
func (e *Eraser) step(ctx context.Context) (more bool, err error) {
	j := job{box: e.box}
	var result done
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			select seq, tenant_id, environment, started_at, upto, coalesce(cursor, '00000000-0000-0000-0000-000000000000'), held, erased_at, events, failed
			from hub.erasures where finished_at is null and due_at <= now() order by due_at limit 1 for update skip locked`).
			Scan(&j.seq, &j.tenant, &j.environment, &j.startedAt, &j.upto, &j.cursor, &j.held, &j.erasedAt, &j.events, &j.failed)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("taking an erasure: %w", err)
		}
		more = true
		result, err = j.step(ctx, tx)
		failpoint.Here("erasing")
		return err
	})
	if err != nil {
		if more && ctx.Err() == nil {
			e.putOff(ctx, j.seq)
		}
		return false, err
	}
	e.tell(j, result)
	return more, nil
}

// putOff lets others have their turn before a step that failed is tried again.
func (e *Eraser) putOff(ctx context.Context, seq uuid.UUID) {
	if _, err := e.pool.Exec(ctx, `update hub.erasures set due_at = now() + $2 where seq = $1`, seq, failedPause); err != nil {
		e.log.Warn("putting an erasure off failed", "error", err)
	}
}

// tell counts and logs what was committed.
func (e *Eraser) tell(j job, d done) {
	e.record.CountErasedPayloads(d.events)
	for product, n := range d.failed {
		e.record.CountFailedUnsent(product, n)
	}
	if d.erased {
		e.record.CountErasedPerson()
		e.log.Info("erased the payloads about a person that was deleted", "erasure", j.seq, "tenant_id", j.tenant, "environment", j.environment,
			"payloads", j.events+d.events, "deliveries_failed", j.failed+d.failures())
	}
}

func (j *job) step(ctx context.Context, tx pgx.Tx) (done, error) {
	switch {
	case j.startedAt == nil:
		return done{}, j.start(ctx, tx)
	case j.erasedAt != nil:
		return j.finish(ctx, tx)
	case j.upto != nil:
		return j.walk(ctx, tx)
	default:
		return j.settle(ctx, tx)
	}
}

// start fixes what is looked at: all that was accepted by now. Commits under way get some
// time to end; they may have ids a little beyond the last one. What processes took on
// without a row yet gets one.
func (j *job) start(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `select hub.unfold_leases(array(select id from hub.leases))`); err != nil {
		return fmt.Errorf("giving waiting deliveries their rows: %w", err)
	}
	last := j.seq
	err := tx.QueryRow(ctx, `select seq from hub.events order by seq desc limit 1`).Scan(&last)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("reading the end of the log: %w", err)
	}
	_, err = tx.Exec(ctx, `update hub.erasures set started_at = now(), due_at = now() + $2, upto = $3 where seq = $1`,
		j.seq, commitTime, logid.Floor(logid.Time(last).Add(beyond)))
	if err != nil {
		return fmt.Errorf("beginning an erasure: %w", err)
	}
	return nil
}

// settle looks again at the events of which deliveries were in hand. When there are none
// left, nothing is left to do but to see the deletion event off.
func (j *job) settle(ctx context.Context, tx pgx.Tx) (done, error) {
	who, err := j.person(ctx, tx)
	if err != nil {
		return done{}, err
	}
	again, rest := j.held[:min(len(j.held), settleBatch)], j.held[min(len(j.held), settleBatch):]
	d := done{}
	for len(again) > 0 {
		n := sameDay(again)
		events, err := readEvents(ctx, tx, again[:n])
		if err != nil {
			return d, err
		}
		some, held, err := erase(ctx, tx, who, events)
		if err != nil {
			return d, err
		}
		d.add(some)
		rest, again = append(rest, held...), again[n:]
	}
	d.erased = len(rest) == 0
	_, err = tx.Exec(ctx, `
		update hub.erasures set held = $2, events = events + $3, failed = failed + $4, due_at = now() + $5,
			erased_at = case when $6 then now() end
		where seq = $1`, j.seq, rest, d.events, d.failures(), againEvery, d.erased)
	if err != nil {
		return d, fmt.Errorf("moving an erasure on: %w", err)
	}
	if d.erased {
		if err := j.drop(ctx, tx); err != nil {
			return d, err
		}
		return d, j.audit(ctx, tx)
	}
	return d, nil
}

// finish erases the deletion event itself once all have it who want it. Who did not take it
// may be sent it again, for as long as the log keeps it, or until its publisher releases it.
func (j *job) finish(ctx context.Context, tx pgx.Tx) (done, error) {
	events, err := readEvents(ctx, tx, []uuid.UUID{j.seq})
	if err != nil {
		return done{}, err
	}
	over, err := j.over(ctx, tx, events)
	if err != nil {
		return done{}, err
	}
	if !over {
		// It may wait for weeks: looked at less and less often.
		_, err := tx.Exec(ctx, `
			update hub.erasures set due_at = now() + least(interval '1 minute', interval '1 second' + (now() - requested_at) / 10) where seq = $1`, j.seq)
		if err != nil {
			return done{}, fmt.Errorf("putting an erasure off: %w", err)
		}
		return done{}, nil
	}
	who, err := j.person(ctx, tx)
	if err != nil {
		return done{}, err
	}
	d, _, err := erase(ctx, tx, who, events)
	if err != nil {
		return d, err
	}
	if _, err := tx.Exec(ctx, `update hub.erasures set finished_at = now(), events = events + $2 where seq = $1`, j.seq, d.events); err != nil {
		return d, fmt.Errorf("ending an erasure: %w", err)
	}
	return d, j.end(ctx, tx, events)
}

// over tells whether the deletion event has no more to do: its deliveries are settled, and
// those that failed, or are parked for integrations, are nobody's concern. An event that
// came in failed here, and is not sent again by us.
func (j *job) over(ctx context.Context, tx pgx.Tx, events []event) (bool, error) {
	if len(events) == 0 {
		return true, nil
	}
	settled, failed, err := settledOf(ctx, tx, events)
	if err != nil {
		return false, err
	}
	waiting := events[0].deliveries - settled[j.seq]
	if waiting == 0 && failed[j.seq] == 0 {
		return true, nil
	}
	released, err := j.released(ctx, tx, events[0].id)
	if err != nil || !released || waiting == 0 {
		return released, err
	}
	parked, err := parkedOf(ctx, tx, events[0])
	return parked == waiting, err
}

// person reads whom the deletion event is about.
func (j *job) person(ctx context.Context, tx pgx.Tx) (*person, error) {
	var body []byte
	var id int64
	err := tx.QueryRow(ctx, `select body, id from hub.events where seq = $1`, j.seq).Scan(&body, &id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("reading the event of an erasure: %w", err)
	}
	traces, err := j.traces(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	who := readPerson(body)
	who.know(traces)
	return who, nil
}

// audit records that a person's payloads were erased.
func (j *job) audit(ctx context.Context, tx pgx.Tx) error {
	var id int64
	err := tx.QueryRow(ctx, `select coalesce((select id from hub.events where seq = $1), 0)`, j.seq).Scan(&id)
	if err != nil {
		return fmt.Errorf("reading the event of an erasure: %w", err)
	}
	event := hub.FormatEventID(uint64(id))
	err = dbgen.New(tx).RecordAudit(ctx, dbgen.RecordAuditParams{
		ID: uuid.Must(uuid.NewV7()), ActorType: audit.ActorSystem, Action: "payloads.erase", Resource: "events", ResourceID: &event,
		TenantID: &j.tenant, Status: 200,
	})
	if err != nil {
		return fmt.Errorf("recording an erasure in the audit log: %w", err)
	}
	return nil
}
