package write

import (
	"strconv"
	"strings"
	"time"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/bulk"
)

func (r *rows) day(name string) *dayRows {
	d := r.days[name]
	if d == nil {
		d = &dayRows{}
		r.days[name] = d
	}
	if !d.used {
		d.used, d.insertCount, d.deliveredCount, d.insertWithStateCount, d.materializedCount, d.stateCount, d.attemptCount = true, 0, 0, 0, 0, 0, 0
		d.inserts.Reset(insertTypes...)
		d.deliveredUpdates.Reset(deliveredUpdateTypes...)
		d.insertsWithState.Reset(insertWithStateTypes...)
		d.materialized.Reset(pendingTypes...)
		d.states.Reset(stateUpdateTypes...)
		d.attempts.Reset(attemptRowTypes...)
	}
	return d
}

// addInsert adds the row of a delivery that has none and was delivered by its first attempt,
// as nearly all are.
func (d *dayRows) addInsert(a *delivery.AttemptResult) {
	d.insertCount++
	addAttempt(d.inserts, a)
	addDelivery(d.inserts[attemptColumnCount:], a)
	d.inserts[colInsertOrderingKey].OptionalText(a.OrderingKey)
}

// addFirstDelivered adds a delivery that has a row and that its first attempt delivered.
func (d *dayRows) addFirstDelivered(a *delivery.AttemptResult) {
	d.deliveredCount++
	addAttempt(d.deliveredUpdates, a)
}

// addAttempted adds the state in which an attempt left a delivery, and its row where it has none.
func (d *dayRows) addAttempted(a *delivery.AttemptResult) {
	if hasNoRow(a) && a.OrderingKey == "" {
		d.addInsertWithState(a)
		return
	}
	if hasNoRow(a) {
		d.addMaterialized(a) // pending first: the trigger free_place acts when the status changes
	}
	d.addState(a)
}

// addInsertWithState adds the row of a delivery that has none, with the state that an attempt
// left it in: the first, or the second where the first kept the lease.
func (d *dayRows) addInsertWithState(a *delivery.AttemptResult) {
	d.insertWithStateCount++
	addStateValues(d.insertsWithState, a)
	addDelivery(d.insertsWithState[stateColumnCount:], a)
	d.insertsWithState[colInsertPriority].Int2(int16(a.Priority))
	d.insertsWithState[colInsertPriorAttempts].Int4(int32(a.PriorAttempts))
}

// addMaterialized adds a pending row for a delivery that has none; addState then changes it in
// the same transaction.
func (d *dayRows) addMaterialized(a *delivery.AttemptResult) {
	d.materializedCount++
	d.materialized[colPendingID].UUID(a.ID)
	d.materialized[colPendingTargetID].UUID(a.TargetID)
	d.materialized[colPendingIntegration].Bool(a.IsIntegration)
	d.materialized[colPendingOrderingKey].OptionalText(a.OrderingKey)
}

// addState adds the new state of a delivery that has a row.
func (d *dayRows) addState(a *delivery.AttemptResult) {
	d.stateCount++
	addStateValues(d.states, a)
}

// addStateValues appends a delivery's state after an attempt to columns that begin with
// stateTypes.
func addStateValues(c bulk.Columns, a *delivery.AttemptResult) {
	c[colStateID].UUID(a.ID)
	c[colStateStatus].Int2(int16(a.Decision.Status))
	c[colStateSpent].Int2(int16(a.Decision.CountedAttempts))
	switch {
	case a.Sent:
		c[colStateSent].Int2(1)
		appendStatusCode(&c[colStateStatusCode], a.StatusCode)
		c[colStateDurationMS].Int4(int32(a.Phases.Total / time.Millisecond))
	case a.Previous != nil: // no row has these yet
		c[colStateSent].Int2(0)
		appendStatusCode(&c[colStateStatusCode], a.Previous.StatusCode)
		c[colStateDurationMS].Int4(int32(a.Previous.Duration / time.Millisecond))
	default:
		c[colStateSent].Int2(0)
		c[colStateStatusCode].Null()
		c[colStateDurationMS].Null()
	}
	c[colStateReason].OptionalText(a.Decision.Reason)
	c[colStateWaitMS].Int4(int32(a.Decision.Wait / time.Millisecond))
}

func (d *dayRows) addAttemptRow(a *delivery.AttemptResult) {
	d.attemptCount++
	addAttempt(d.attempts, a)
	c := d.attempts
	c[colAttemptNumber].Int4(int32(a.PriorAttempts + 1))
	c[colAttemptError].OptionalText(a.Error)
	if a.IsKept() {
		c[colAttemptCounted].Int2(int16(a.Decision.CountedAttempts))
		c[colAttemptWaitMS].Int4(int32(a.Decision.Wait / time.Millisecond))
	} else {
		c[colAttemptCounted].Null()
		c[colAttemptWaitMS].Null()
	}
}

// addStatements adds the day's statements. A delivery that was settled in the meantime (a
// lease ended, another process was faster) stays as it is, and is not counted again.
//
// "status + 0" keeps the planner from reading all pending rows by their index: the
// rows are found by id.
func (d *dayRows) addStatements(statements *bulk.Batch, day string, minute time.Time) {
	if !d.used {
		return
	}
	if d.insertCount > 0 {
		statements.Add(`
			insert into hub.deliveries_`+day+` (id, `+ledger.AttemptColumns+`, event_id, tenant_id, target_id, environment, product, event_type,
				correlation_id, created_at, integration, ordering_key, status, attempts, spent, round_at, due_at, finished_at)
			select r.*, 1, 1, 1, null, null, now()
			from unnest(`+attemptParams+`, $13::bigint[], $14::uuid[], $15::uuid[], $16::text[], $17::text[], $18::text[], $19::text[], $20::timestamptz[], $21::boolean[], $22::text[]) r`, d.inserts)
	}
	if d.deliveredCount > 0 {
		d.deliveredUpdates[colUpdateMinute].Time(minute)
		statements.Add(`
			with changed as (update hub.deliveries_`+day+` d set
				status = 1, attempts = d.attempts + 1, spent = 1, reason = null, next_attempt_at = null, finished_at = now(),
				(`+ledger.AttemptColumns+`) = (`+attemptValues+`)
			from unnest(`+attemptParams+`) r(id, `+ledger.AttemptColumns+`)
			where d.id = r.id and d.status + 0 = 0
			returning d.id)`+uncountSQL(day, `(select id, 1::smallint, started_at from unnest($1::uuid[], $2::timestamptz[]) u(id, started_at))`, "$13"), d.deliveredUpdates)
	}
	if d.insertWithStateCount > 0 {
		d.addInsertsWithState(statements, day)
	}
	if d.materializedCount > 0 {
		statements.Add(`
			insert into hub.deliveries_`+day+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, created_at, integration, priority, ordering_key)
			select r.id, e.id, e.tenant_id, r.target_id, e.environment, e.product, e.event_type, e.correlation_id, e.created_at, r.integration, e.priority, r.ordering_key
			from unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::text[]) r(id, target_id, integration, ordering_key)
			join hub.events_`+day+` e on e.seq = (overlay(r.id::text placing '0000' from 33))::uuid`, d.materialized)
	}
	if d.stateCount > 0 {
		d.states[colStateMinute].Time(minute)
		d.addStates(statements, day)
	}
	if d.attemptCount > 0 {
		d.addAttempts(statements, day)
	}
}

// attemptParams are the parameters of attemptTypes.
const attemptParams = `$1::uuid[], $2::timestamptz[], $3::bigint[], $4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::integer[],
	$9::smallint[], $10::bytea[], $11::bytea[], $12::bytea[]`

// stateParams are the parameters of stateTypes.
const stateParams = `$1::uuid[], $2::smallint[], $3::smallint[], $4::smallint[], $5::smallint[], $6::integer[], $7::text[], $8::integer[]`

var attemptValues = "r." + strings.ReplaceAll(ledger.AttemptColumns, ", ", ", r.")

func (d *dayRows) addStates(statements *bulk.Batch, day string) {
	statements.Add(`
		with changed as (update hub.deliveries_`+day+` d set
			status = r.status, attempts = d.attempts + r.made, spent = r.spent,
			status_code = case when r.made = 1 then r.code else d.status_code end,
			duration_ms = coalesce(r.duration, d.duration_ms), reason = r.reason,
			due_at = case when r.status = 0 then now() + (r.wait + `+graceMillis+`) * interval '1 millisecond' else d.due_at end,
			next_attempt_at = case when r.status = 0 then now() + r.wait * interval '1 millisecond' end,
			finished_at = case when r.status <> 0 then now() end,
			parked_at = case when r.status = 2 then coalesce(d.parked_at, now()) when r.status = 0 then d.parked_at end
		from unnest(`+stateParams+`)
			r(id, status, made, spent, code, duration, reason, wait)
		where d.id = r.id and d.status + 0 = 0
		returning d.id)`+uncountSQL(day, `(select id, status, null::timestamptz from unnest($1::uuid[], $2::smallint[]) u(id, status))`, "$9"), d.states)
}

// uncountSQL follows an update of deliveries, "with changed as (…)". It takes off the statistics
// what the batch counts of deliveries that another attempt had settled: the update left them as
// they were. If that attempt is the batch's own, an earlier try was committed and its response
// lost. settled has ids, the statuses that the batch counts, and when the attempts that have no
// row of their own started; minute is a parameter.
func uncountSQL(day, settled, minute string) string {
	return `
		insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, delivered, failed, parked, attempts)
		select (` + minute + `::timestamptz[])[1], d.tenant_id, d.target_id, d.product, -(r.status = 1)::integer, -(r.status = 3)::integer, -(r.status = 2)::integer,
			-coalesce(d.started_at = r.started_at, false)::integer
		from ` + settled + ` r(id, status, started_at) join hub.deliveries_` + day + ` d on d.id = r.id
		where r.status <> 0 and r.id not in (select id from changed)` // a hashed list, whatever joins are allowed
}

// addInsertsWithState adds the rows of deliveries that were not delivered at once: one version of
// a row instead of two. Their round began when they were accepted.
func (d *dayRows) addInsertsWithState(statements *bulk.Batch, day string) {
	statements.Add(`
		insert into hub.deliveries_`+day+` (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, created_at, integration, priority,
			status, attempts, spent, status_code, duration_ms, reason, round_at, due_at, next_attempt_at, finished_at, parked_at)
		select r.id, r.event_id, r.tenant_id, r.target_id, r.environment, r.product, r.event_type, r.correlation_id, r.created_at, r.integration, r.priority,
			r.status, r.prior + r.made, r.spent, r.code, r.duration, r.reason, r.created_at,
			case when r.status = 0 then now() + (r.wait + `+graceMillis+`) * interval '1 millisecond' else now() end,
			case when r.status = 0 then now() + r.wait * interval '1 millisecond' end,
			case when r.status <> 0 then now() end,
			case when r.status = 2 then now() end
		from unnest(`+stateParams+`, $9::bigint[], $10::uuid[], $11::uuid[], $12::text[], $13::text[], $14::text[], $15::text[], $16::timestamptz[], $17::boolean[], $18::smallint[], $19::integer[])
			r(id, status, made, spent, code, duration, reason, wait, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, created_at, integration, priority, prior)`, d.insertsWithState)
}

// addAttempts adds the attempts. A violated primary key means that this batch was
// committed before.
func (d *dayRows) addAttempts(statements *bulk.Batch, day string) {
	statements.Add(`
		insert into hub.attempts_`+day+` (delivery_id, `+ledger.AttemptColumns+`, number, error, counted_attempts, next_attempt_at)
		select r.delivery_id, `+attemptValues+`, r.number, r.error, r.counted, now() + r.wait * interval '1 millisecond'
		from unnest(`+attemptParams+`, $13::integer[], $14::text[], $15::smallint[], $16::integer[])
			r(delivery_id, `+ledger.AttemptColumns+`, number, error, counted, wait)`, d.attempts)
}

var graceMillis = strconv.Itoa(int(retryGrace / time.Millisecond))

// appendStatusCode appends an HTTP status, null where there was no response.
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
