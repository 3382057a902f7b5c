package write

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/store/bulk"
)

// rows turns attempts into the columns of their statements. Its buffers are reused
// from batch to batch.
type rows struct {
	days  map[string]*dayRows
	delta bulk.Columns
	gone  bulk.Columns
	park  bulk.Columns
	late  bulk.Columns
	over  bulk.Columns
}

// dayRows are the rows of one day's tables: addressed by name, because going
// through the parent tables costs locks on every partition.
type dayRows struct {
	used                          bool
	inserts, firsts               bulk.Columns // delivered by the first attempt: without a row yet, with one
	pending, states, attempts     bulk.Columns // everything else
	inserted, delivered           int          // rows of each
	materialized, settled, logged int
}

// queue adds the statements of a batch of attempts: the deliveries' new states,
// the attempts, what they add to the statistics, endpoints that are gone, and leases
// that stand for nothing more.
func (r *rows) queue(statements *bulk.Batch, batch []delivery.AttemptResult, now time.Time) {
	if r.days == nil {
		r.days = make(map[string]*dayRows)
	}
	for day, rows := range r.days {
		if !rows.used {
			delete(r.days, day)
		}
		rows.used = false
	}
	for i := range batch {
		a := &batch[i]
		day := r.day(logid.Partition(a.ID))
		switch atOnce := a.Sent && a.PriorAttempts == 0 && a.Decision.Status == delivery.Delivered && a.Error == ""; {
		case atOnce && hasNoRow(a):
			day.insert(a)
		case atOnce:
			day.first(a)
		default:
			if hasNoRow(a) {
				day.materialize(a)
			}
			day.state(a)
			if a.Sent {
				day.attempt(a)
			}
		}
	}
	// Leases before deliveries, as hub.unfold_leases has it: the other way round two
	// transactions would wait for each other.
	if leases := settledLeases(batch); len(leases) > 0 {
		r.over.Reset(bulk.UUIDs)
		for _, id := range leases {
			r.over[0].UUID(id)
		}
		statements.Add(`
			with locked as (select id from hub.leases where id = any($1::uuid[]) order by id for update)
			delete from hub.leases l using locked k where l.id = k.id`, r.over)
	}
	for day, rows := range r.days {
		rows.queue(statements, day)
	}
	r.queueDeltas(statements, batch, now)
	r.queueGone(statements, batch)
	r.queueTrials(statements, batch)
}

func (r *rows) day(name string) *dayRows {
	d := r.days[name]
	if d == nil {
		d = &dayRows{}
		r.days[name] = d
	}
	if !d.used {
		d.used, d.inserted, d.delivered, d.materialized, d.settled, d.logged = true, 0, 0, 0, 0, 0
		d.inserts.Reset(insertTypes...)
		d.firsts.Reset(attemptTypes...)
		d.pending.Reset(pendingTypes...)
		d.states.Reset(stateTypes...)
		d.attempts.Reset(attemptRowTypes...)
	}
	return d
}

// insert adds the row of a delivery that has none and that its first attempt
// delivered: nearly all are of this kind.
func (d *dayRows) insert(a *delivery.AttemptResult) {
	d.inserted++
	addAttempt(d.inserts, a)
	c := d.inserts
	c[colInsertEventID].Int8(a.Event.IDBits)
	c[colInsertTenantID].UUID(a.Event.TenantID)
	c[colInsertTargetID].UUID(a.Target)
	c[colInsertEnvironment].Text(string(a.Event.Environment))
	c[colInsertProduct].Text(a.Event.Product)
	c[colInsertEventType].Text(a.Event.Type)
	c[colInsertCorrelationID].OptionalText(a.Event.CorrelationID)
	c[colInsertCreatedAt].Time(logid.Time(a.ID))
	c[colInsertIntegration].Bool(a.IsIntegration)
}

// first adds a delivery that has a row and that its first attempt delivered.
func (d *dayRows) first(a *delivery.AttemptResult) {
	d.delivered++
	addAttempt(d.firsts, a)
}

// materialize adds a row for a delivery that has none and was not delivered; state then
// changes it.
func (d *dayRows) materialize(a *delivery.AttemptResult) {
	d.materialized++
	d.pending[colPendingID].UUID(a.ID)
	d.pending[colPendingTargetID].UUID(a.Target)
	d.pending[colPendingIntegration].Bool(a.IsIntegration)
}

func (d *dayRows) state(a *delivery.AttemptResult) {
	d.settled++
	c := d.states
	c[colStateID].UUID(a.ID)
	c[colStateStatus].Int2(int16(a.Decision.Status))
	c[colStateSpent].Int2(int16(a.Decision.Spent))
	appendStatusCode(&c[colStateStatusCode], a.StatusCode)
	if a.Sent {
		c[colStateSent].Int2(1)
		c[colStateDurationMS].Int4(int32(a.Phases.Total / time.Millisecond))
	} else {
		c[colStateSent].Int2(0)
		c[colStateDurationMS].Null()
	}
	c[colStateReason].OptionalText(a.Decision.Reason)
	c[colStateWaitMS].Int4(int32(a.Decision.Wait / time.Millisecond))
}

func (d *dayRows) attempt(a *delivery.AttemptResult) {
	d.logged++
	addAttempt(d.attempts, a)
	c := d.attempts
	c[colAttemptNumber].Int4(int32(a.PriorAttempts + 1))
	c[colAttemptError].OptionalText(a.Error)
}

// queue adds the day's statements. A delivery that was settled in the meantime (a
// lease ended, another process was faster) stays as it is.
//
// "status + 0" keeps the planner from reading all pending rows by their index: the
// rows are found by id.
func (d *dayRows) queue(statements *bulk.Batch, day string) {
	if !d.used {
		return
	}
	if d.inserted > 0 {
		statements.Add(`
			insert into hub.deliveries_`+day+` (id, `+ledger.AttemptColumns+`, event_id, tenant_id, target_id, environment, product, event_type,
				correlation_id, created_at, integration, status, attempts, spent, round_at, due_at, finished_at)
			select r.*, 1, 1, 1, null, null, now()
			from unnest(`+attemptParams+`, $13::bigint[], $14::uuid[], $15::uuid[], $16::text[], $17::text[], $18::text[], $19::text[], $20::timestamptz[], $21::boolean[]) r`, d.inserts)
	}
	if d.delivered > 0 {
		statements.Add(`
			update hub.deliveries_`+day+` d set
				status = 1, attempts = d.attempts + 1, spent = 1, reason = null, next_attempt_at = null, finished_at = now(),
				(`+ledger.AttemptColumns+`) = (`+attemptValues+`)
			from unnest(`+attemptParams+`) r(id, `+ledger.AttemptColumns+`)
			where d.id = r.id and d.status + 0 = 0`, d.firsts)
	}
	if d.materialized > 0 {
		statements.Add(`
			insert into hub.deliveries_`+day+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, created_at, integration)
			select r.id, e.id, e.tenant_id, r.target_id, e.environment, e.product, e.event_type, e.correlation_id, e.created_at, r.integration
			from unnest($1::uuid[], $2::uuid[], $3::boolean[]) r(id, target_id, integration)
			join hub.events_`+day+` e on e.seq = (overlay(r.id::text placing '0000' from 33))::uuid`, d.pending)
	}
	if d.settled > 0 {
		d.queueStates(statements, day)
	}
	if d.logged > 0 {
		d.queueAttempts(statements, day)
	}
}

// attemptParams are the parameters of attemptTypes.
const attemptParams = `$1::uuid[], $2::timestamptz[], $3::bigint[], $4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::integer[],
	$9::smallint[], $10::bytea[], $11::bytea[], $12::bytea[]`

var attemptValues = "r." + strings.ReplaceAll(ledger.AttemptColumns, ", ", ", r.")

func (d *dayRows) queueStates(statements *bulk.Batch, day string) {
	statements.Add(`
		update hub.deliveries_`+day+` d set
			status = r.status, attempts = d.attempts + r.made, spent = r.spent,
			status_code = case when r.made = 1 then r.code else d.status_code end,
			duration_ms = coalesce(r.duration, d.duration_ms), reason = r.reason,
			due_at = case when r.status = 0 then now() + (r.wait + `+graceMillis+`) * interval '1 millisecond' else d.due_at end,
			next_attempt_at = case when r.status = 0 then now() + r.wait * interval '1 millisecond' end,
			finished_at = case when r.status <> 0 then now() end
		from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::smallint[], $5::smallint[], $6::integer[], $7::text[], $8::integer[])
			r(id, status, made, spent, code, duration, reason, wait)
		where d.id = r.id and d.status + 0 = 0`, d.states)
}

// queueAttempts adds the attempts. An attempt that is there already breaks the
// primary key: it tells that this batch was committed before.
func (d *dayRows) queueAttempts(statements *bulk.Batch, day string) {
	statements.Add(`
		insert into hub.attempts_`+day+` (delivery_id, `+ledger.AttemptColumns+`, number, error)
		select * from unnest(`+attemptParams+`, $13::integer[], $14::text[])`, d.attempts)
}

var graceMillis = strconv.Itoa(int(retryGrace / time.Millisecond))

// appendStatusCode appends an HTTP status, null where there was no answer.
func appendStatusCode(column *bulk.Column, status int) {
	if status == 0 {
		column.Null()
		return
	}
	column.Int2(int16(status))
}

// micros is a duration in whole microseconds, at least 1 where there was any.
func micros(d time.Duration) int32 {
	if d <= 0 {
		return 0
	}
	return int32(min(max(1, d.Microseconds()), 1<<31-1))
}

// queueGone switches off endpoints that answered 410.
func (r *rows) queueGone(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.gone.Reset(bulk.UUIDs)
	found := false
	for i := range batch {
		if batch[i].Decision.DisableEndpoint {
			r.gone[0].UUID(batch[i].Target)
			found = true
		}
	}
	if found {
		statements.Add(`
			update hub.endpoints set enabled = false, disabled_reason = 'gone', updated_at = now()
			where id = any($1::uuid[]) and enabled`, r.gone)
	}
}

// queueTrials has a parked delivery tried later of integrations that are well all the
// same; those that are not are drained when they are.
func (r *rows) queueTrials(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.park.Reset(bulk.UUIDs)
	r.late.Reset(bulk.UUIDs)
	tried, untried := false, false
	for i := range batch {
		a := &batch[i]
		switch {
		case !a.IsIntegration || a.Decision.Status != delivery.Parked:
		case a.Sent:
			r.park[0].UUID(a.Target)
			tried = true
		default:
			r.late[0].UUID(a.Target)
			untried = true
		}
	}
	if tried {
		statements.Add(`
			update hub.integrations set trial_at = now() + `+ledger.TrialWait+`
			where id = any($1::uuid[]) and status = 'active' and trial_at is null`, r.park)
	}
	if untried { // it became active a moment ago, and this process did not know yet
		statements.Add(`
			update hub.integrations set draining_since = now() + interval '1 second', trial_at = null, trial_id = null
			where id = any($1::uuid[]) and status = 'active'`, r.late)
	}
}

// tally is what a batch of attempts adds to one minute of one target.
type tally struct {
	product                                     string
	delivered, failed, parked, attempts, errors int32
	latency                                     []byte // classes as a PostgreSQL array's text, open at the end
}

type tallyKey struct {
	tenant, target uuid.UUID
	product        string
}

func (r *rows) queueDeltas(statements *bulk.Batch, batch []delivery.AttemptResult, now time.Time) {
	tallies := make(map[tallyKey]*tally)
	for i := range batch {
		a := &batch[i]
		key := tallyKey{a.Event.TenantID, a.Target, a.Event.Product}
		t := tallies[key]
		if t == nil {
			t = &tally{product: a.Event.Product, latency: []byte{'{'}}
			tallies[key] = t
		}
		t.add(a)
	}
	r.delta.Reset(deltaTypes...)
	c := r.delta
	for key, t := range tallies {
		c[colDeltaBucket].Time(now.Truncate(time.Minute))
		c[colDeltaTenantID].UUID(key.tenant)
		c[colDeltaTargetID].UUID(key.target)
		c[colDeltaProduct].Text(t.product)
		c[colDeltaDelivered].Int4(t.delivered)
		c[colDeltaFailed].Int4(t.failed)
		c[colDeltaParked].Int4(t.parked)
		c[colDeltaAttempts].Int4(t.attempts)
		c[colDeltaErrors].Int4(t.errors)
		c[colDeltaLatency].Text(string(append(t.latency, '}')))
	}
	// unnest flattens arrays of arrays, so each row's array travels as text.
	statements.Add(`
		insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency)
		select bucket, tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency::integer[]
		from unnest($1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::text[])
			u(bucket, tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency)`, c)
}

func (t *tally) add(a *delivery.AttemptResult) {
	switch a.Decision.Status {
	case delivery.Delivered:
		t.delivered++
		if len(t.latency) > 1 {
			t.latency = append(t.latency, ',')
		}
		t.latency = strconv.AppendInt(t.latency, int64(ledger.LatencyClass(a.Phases.Total)), 10)
	case delivery.Parked:
		t.parked++
	case delivery.Failed:
		t.failed++
	}
	if a.Sent {
		t.attempts++
		if a.Decision.Status != delivery.Delivered {
			t.errors++
		}
	}
}
