// Package erasure erases deleted persons from the log. The transaction that accepts an
// event about a deletion also stores a row in hub.erasures. Any process works on it, a
// bounded step per transaction, and continues where another process died.
//
// A deletion goes first. What waits about the person at the event's receivers is looked for at
// once and erased, and until then the event's deliveries are held; see [Eraser.eraseNextWaiting] and
// [Eraser.endHolds].
//
// An erasure replaces every payload of the tenant's environment that contains the person's
// id, e-mail address or phone number, in both directions, and the responses to it. What the
// publisher chose, a correlation id or an ordering key, may name the person too, and goes with
// it. Waiting deliveries fail. Deliveries that a process has leased are settled by that process
// first. What is accepted after the erasure began is new and stays. The deletion event itself
// stays until every receiver that will get it has it.
//
// The log of a deleted tenant is erased in the same way: everything of it, without a
// deletion event.
package erasure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/seal"
	"integrationhub/hub/internal/store/dbgen"
)

const (
	pollInterval   = time.Second
	settleInterval = time.Second      // while processes have leased deliveries
	failureDelay   = 10 * time.Second // before a step that failed is tried again
	commitGrace    = time.Second      // for commits under way when an erasure begins
	idSlack        = 10 * time.Second // that the ids of those commits may lie beyond the last one in the log
	maxPause       = time.Second      // between two steps
)

// RequestSQL requests erasures. It is run in the transaction that stores the
// deletion events. Its arguments are arrays of their seqs, tenants and environments.
const RequestSQL = `
	with requested as (
		insert into hub.erasures (seq, tenant_id, environment)
		select * from unnest($1::uuid[], $2::uuid[], $3::text[]) returning 1)
	select pg_notify('` + delivery.DueChannel + `', '` + delivery.ErasureNotice + `') from requested limit 1`

// Recorder counts what is erased.
type Recorder interface {
	// CountErasedPayloads counts payloads.
	CountErasedPayloads(n int)
	// CountErasedPerson counts an erasure that has only its deletion event left.
	CountErasedPerson()
	// CountFailedUnsent counts deliveries of a product that failed without an attempt.
	CountFailedUnsent(product string, deliveries int)
}

// Queue is this process's queue of deliveries.
type Queue interface {
	// SetErasingTenants sets the tenants that have erasures under way: their events in this
	// process's memory may be outdated.
	SetErasingTenants(tenants []uuid.UUID)
	// FailErased fails what waits in this process of events that were erased.
	FailErased(seqs []uuid.UUID)
}

// Eraser carries out erasures. Every process runs one; a row lock lets one process at a
// time do a step of an erasure.
type Eraser struct {
	pool   *pgxpool.Pool
	log    *slog.Logger
	record Recorder
	box    *seal.Box
	queue  Queue
	wake   chan struct{} // has an element if deletion events may be held
	last   scope         // whose waiting deliveries were erased last
}

// New returns an eraser. box decrypts what [TraceStore] stores.
func New(pool *pgxpool.Pool, log *slog.Logger, record Recorder, box *seal.Box, queue Queue) *Eraser {
	return &Eraser{pool: pool, log: log, record: record, box: box, queue: queue, wake: make(chan struct{}, 1)}
}

// Wake makes this process look at deletion events at once: one was accepted.
func (e *Eraser) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run carries out erasures until ctx ends.
func (e *Eraser) Run(ctx context.Context) {
	var others sync.WaitGroup
	others.Go(func() { e.runEverySecond(ctx, "hearing of erasures", e.watchErasures) })
	others.Go(func() { e.runHolds(ctx) })
	e.runEverySecond(ctx, "erasing payloads", e.runDueSteps)
	others.Wait()
}

// runEverySecond calls task every second until ctx ends and logs once when it begins to
// fail.
func (e *Eraser) runEverySecond(ctx context.Context, doing string, task func(context.Context) error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	isFailing := false
	for {
		err := task(ctx)
		if err != nil && !isFailing && ctx.Err() == nil {
			e.log.Warn(doing+" failed; trying again", "error", err)
		}
		isFailing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watchErasures keeps this process's queue informed about whose payloads are being erased.
func (e *Eraser) watchErasures(ctx context.Context) error {
	rows, err := e.pool.Query(ctx, `
		select tenant_id, bool_or(hold_ended_at is null and not whole_tenant) from hub.erasures
		where finished_at is null and erased_at is null group by tenant_id`)
	if err != nil {
		return fmt.Errorf("reading erasures: %w", err)
	}
	var tenants []uuid.UUID
	var tenant uuid.UUID
	var hasHeld, anyHeld bool
	if _, err = pgx.ForEachRow(rows, []any{&tenant, &hasHeld}, func() error {
		tenants = append(tenants, tenant)
		anyHeld = anyHeld || hasHeld
		return nil
	}); err != nil {
		return fmt.Errorf("reading erasures: %w", err)
	}
	e.queue.SetErasingTenants(tenants)
	if anyHeld {
		e.Wake()
	}
	return nil
}

// runDueSteps carries out the steps that are due. It pauses after each for as long as it
// took: publishing has priority in the database.
func (e *Eraser) runDueSteps(ctx context.Context) error {
	for ctx.Err() == nil {
		started := time.Now()
		more, err := e.step(ctx)
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Since(started), maxPause)):
		}
	}
	return nil
}

// job is an erasure at the beginning of a step.
type job struct {
	box         *seal.Box
	seq         uuid.UUID // of the deletion event
	tenant      uuid.UUID
	environment string
	startedAt   *time.Time
	upto        *uuid.UUID  // end of the log when the erasure began; nil = reached
	cursor      uuid.UUID   // the last event that was examined; Nil = none
	leased      []uuid.UUID // erased events of which a process had leased deliveries: the column held
	erasedAt    *time.Time  // when only the deletion event was left
	events      int         // erased in earlier steps
	failed      int         // deliveries that failed in earlier steps

	isWholeTenant bool // the tenant was deleted: there is no deletion event and no person
}

// stepResult is what a step did, recorded after its commit.
type stepResult struct {
	events   []uuid.UUID // erased
	failed   []failedDelivery
	isErased bool // only the deletion event is left
	isLost   bool // the deletion event left the log too early: nobody knows whose data it is
}

func (d *stepResult) add(other stepResult) {
	d.events = append(d.events, other.events...)
	d.failed = append(d.failed, other.failed...)
}

// step carries out the next step of the erasure that is due longest, in one transaction.
// It reports whether there was one.
func (e *Eraser) step(ctx context.Context) (more bool, err error) {
	j := job{box: e.box}
	var result stepResult
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			select seq, tenant_id, environment, started_at, upto, coalesce(cursor, '00000000-0000-0000-0000-000000000000'), held, erased_at, events, failed, whole_tenant
			from hub.erasures where finished_at is null and due_at <= now() and (whole_tenant or screened_at is not null) order by due_at limit 1 for update skip locked`).
			Scan(&j.seq, &j.tenant, &j.environment, &j.startedAt, &j.upto, &j.cursor, &j.leased, &j.erasedAt, &j.events, &j.failed, &j.isWholeTenant)
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
			e.postpone(ctx, j.seq)
		}
		return false, err
	}
	e.recordStep(j, result)
	return more, nil
}

// postpone lets other erasures go first after a step failed.
func (e *Eraser) postpone(ctx context.Context, seq uuid.UUID) {
	if _, err := e.pool.Exec(ctx, `update hub.erasures set due_at = now() + $2 where seq = $1`, seq, failureDelay); err != nil {
		e.log.Warn("putting an erasure off failed", "error", err)
	}
}

// recordStep counts and logs what a step committed.
func (e *Eraser) recordStep(j job, d stepResult) {
	e.recordErased(d)
	if d.isLost {
		e.log.Error("a person's payloads were not erased: the deletion event is not in the log any more; publish the deletion again",
			"erasure", j.seq, "tenant_id", j.tenant, "environment", j.environment)
	}
	if d.isErased && j.isWholeTenant {
		e.log.Info("erased the log of a tenant that was deleted", "tenant_id", j.tenant, "environment", j.environment,
			"payloads", j.events+len(d.events), "deliveries_failed", j.failed+len(d.failed))
	} else if d.isErased {
		e.record.CountErasedPerson()
		e.log.Info("erased the payloads about a person that was deleted", "erasure", j.seq, "tenant_id", j.tenant, "environment", j.environment,
			"payloads", j.events+len(d.events), "deliveries_failed", j.failed+len(d.failed))
	}
}

// recordErased counts what was erased.
func (e *Eraser) recordErased(d stepResult) {
	e.record.CountErasedPayloads(len(d.events))
	failed := make(map[string]int)
	for _, delivery := range d.failed {
		failed[delivery.product]++
	}
	for product, n := range failed {
		e.record.CountFailedUnsent(product, n)
	}
}

func (j *job) step(ctx context.Context, tx pgx.Tx) (d stepResult, err error) {
	switch {
	case j.startedAt == nil:
		return stepResult{}, j.start(ctx, tx)
	case j.erasedAt != nil:
		return j.finish(ctx, tx)
	case j.upto != nil:
		d, err = j.walk(ctx, tx)
	default:
		d, err = j.settle(ctx, tx)
	}
	if errors.Is(err, errNoEvent) {
		return stepResult{isLost: true}, j.giveUp(ctx, tx)
	}
	return d, err
}

// errNoEvent says that the deletion event of an erasure is not in the log any more.
var errNoEvent = errors.New("the event of an erasure is gone")

// giveUp ends an erasure of which nobody can tell the person: it is finished and nothing was
// erased, which the audit log says too.
func (j *job) giveUp(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `update hub.erasures set upto = null, cursor = null, held = '{}', finished_at = now() where seq = $1`, j.seq); err != nil {
		return fmt.Errorf("ending an erasure: %w", err)
	}
	return j.audit(ctx, tx, http.StatusGone)
}

// start fixes what the erasure covers: everything accepted by now. Commits under way get
// time to end; their ids may lie a little beyond the last one. Leased deliveries that have
// no row yet get one.
func (j *job) start(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `select hub.unfold_leases(array(select id from hub.leases))`); err != nil {
		return fmt.Errorf("giving waiting deliveries their rows: %w", err)
	}
	if j.isWholeTenant {
		if err := j.replaceOthers(ctx, tx); err != nil {
			return err
		}
	}
	last := j.seq
	err := tx.QueryRow(ctx, `select seq from hub.events order by seq desc limit 1`).Scan(&last)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("reading the end of the log: %w", err)
	}
	_, err = tx.Exec(ctx, `update hub.erasures set started_at = now(), due_at = now() + $2, upto = $3 where seq = $1`,
		j.seq, commitGrace, logid.Floor(logid.Time(last).Add(idSlack)))
	if err != nil {
		return fmt.Errorf("beginning an erasure: %w", err)
	}
	return nil
}

// replaceOthers ends the erasures of persons of a deleted tenant: theirs is part of this one,
// and nobody gets their deletion events any more.
func (j *job) replaceOthers(ctx context.Context, tx pgx.Tx) error {
	if err := j.releaseOthers(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		update hub.erasures set erased_at = coalesce(erased_at, now()), finished_at = now()
		where tenant_id = $1 and environment = $2 and not whole_tenant and finished_at is null`, j.tenant, j.environment)
	if err != nil {
		return fmt.Errorf("ending the erasures of persons: %w", err)
	}
	if _, err = tx.Exec(ctx, `delete from hub.erasure_traces where tenant_id = $1 and environment = $2`, j.tenant, j.environment); err != nil {
		return fmt.Errorf("dropping traces of persons: %w", err)
	}
	return nil
}

// settle erases again the events that had leased deliveries. When none has, only the
// deletion event is left.
func (j *job) settle(ctx context.Context, tx pgx.Tx) (stepResult, error) {
	var deleted *person
	if len(j.leased) > 0 {
		var err error
		if deleted, err = j.loadPerson(ctx, tx); err != nil {
			return stepResult{}, err
		}
	}
	batch, leased := j.leased[:min(len(j.leased), settleBatch)], j.leased[min(len(j.leased), settleBatch):]
	d := stepResult{}
	for len(batch) > 0 {
		n := logid.CountSameDay(batch)
		events, err := readEvents(ctx, tx, batch[:n])
		if err != nil {
			return d, err
		}
		erased, stillLeased, err := erase(ctx, tx, deleted, events)
		if err != nil {
			return d, err
		}
		d.add(erased)
		leased, batch = append(leased, stillLeased...), batch[n:]
	}
	d.isErased = len(leased) == 0
	_, err := tx.Exec(ctx, `
		update hub.erasures set held = $2, events = events + $3, failed = failed + $4, due_at = now() + $5,
			erased_at = case when $6 then now() end
		where seq = $1`, j.seq, leased, len(d.events), len(d.failed), settleInterval, d.isErased)
	if err != nil {
		return d, fmt.Errorf("moving an erasure on: %w", err)
	}
	if d.isErased {
		if err := j.dropTraces(ctx, tx); err != nil {
			return d, err
		}
		return d, j.audit(ctx, tx, http.StatusOK)
	}
	return d, nil
}

// finish erases the deletion event itself once every receiver has it. Failed deliveries of
// it can be retried for as long as the log keeps the event, or until its publisher
// releases it.
func (j *job) finish(ctx context.Context, tx pgx.Tx) (stepResult, error) {
	events, err := readEvents(ctx, tx, []uuid.UUID{j.seq})
	if err != nil {
		return stepResult{}, err
	}
	isOver, err := j.isOver(ctx, tx, events)
	if err != nil {
		return stepResult{}, err
	}
	if !isOver {
		// It may take weeks: the longer, the less often it is checked.
		_, err := tx.Exec(ctx, `
			update hub.erasures set due_at = now() + least(interval '1 minute', interval '1 second' + (now() - requested_at) / 10) where seq = $1`, j.seq)
		if err != nil {
			return stepResult{}, fmt.Errorf("putting an erasure off: %w", err)
		}
		return stepResult{}, nil
	}
	var d stepResult
	if len(events) > 0 { // else retention has deleted it
		deleted, err := j.loadPerson(ctx, tx)
		if err != nil {
			return stepResult{}, err
		}
		if d, _, err = erase(ctx, tx, deleted, events); err != nil {
			return d, err
		}
	}
	if _, err := tx.Exec(ctx, `update hub.erasures set finished_at = now(), events = events + $2 where seq = $1`, j.seq, len(d.events)); err != nil {
		return d, fmt.Errorf("ending an erasure: %w", err)
	}
	return d, j.deleteTraces(ctx, tx, events)
}

// isOver reports whether nobody needs the deletion event any more: all its deliveries are
// delivered, or its publisher released it and the rest failed or is parked for
// integrations. Inbound failures do not count: the hub does not send those.
func (j *job) isOver(ctx context.Context, tx pgx.Tx, events []logEvent) (bool, error) {
	if len(events) == 0 {
		return true, nil
	}
	settled, failed, err := countSettled(ctx, tx, events)
	if err != nil {
		return false, err
	}
	waiting := events[0].deliveries - settled[j.seq]
	if waiting == 0 && failed[j.seq] == 0 {
		return true, nil
	}
	isReleased, err := j.isReleased(ctx, tx, events[0].id)
	if err != nil || !isReleased || waiting == 0 {
		return isReleased, err
	}
	parked, err := countParked(ctx, tx, events[0])
	return parked == waiting, err
}

// loadPerson reads the person that the deletion event is about. Of a deleted tenant it is
// everyone. The error is errNoEvent where the event is gone.
func (j *job) loadPerson(ctx context.Context, tx pgx.Tx) (*person, error) {
	if j.isWholeTenant {
		return &person{isEveryone: true}, nil
	}
	var body []byte
	var id int64
	err := tx.QueryRow(ctx, `select body, id from hub.events where seq = $1`, j.seq).Scan(&body, &id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errNoEvent
	}
	if err != nil {
		return nil, fmt.Errorf("reading the event of an erasure: %w", err)
	}
	traces, err := j.loadTraces(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	deleted := readPerson(body)
	deleted.addTraces(traces)
	return deleted, nil
}

// audit records that the payloads of a person or a tenant were erased, or with another status that
// they were not.
func (j *job) audit(ctx context.Context, tx pgx.Tx, status int) error {
	resource, id := "tenants", j.tenant.String()
	if !j.isWholeTenant {
		var event int64
		err := tx.QueryRow(ctx, `select coalesce((select id from hub.events where seq = $1), 0)`, j.seq).Scan(&event)
		if err != nil {
			return fmt.Errorf("reading the event of an erasure: %w", err)
		}
		if resource, id = "events", hub.FormatEventID(uint64(event)); event == 0 { // it has left the log: the process's log names the erasure too
			resource, id = "erasures", j.seq.String()
		}
	}
	err := dbgen.New(tx).RecordAudit(ctx, dbgen.RecordAuditParams{
		ID: uuid.Must(uuid.NewV7()), ActorType: audit.ActorSystem, Action: "payloads.erase", Resource: resource, ResourceID: &id,
		TenantID: &j.tenant, Status: int32(status),
	})
	if err != nil {
		return fmt.Errorf("recording an erasure in the audit log: %w", err)
	}
	return nil
}
