// Package ledger is the delivery log: it stores what came of every attempt and
// answers what support staff ask: which deliveries, which attempts, how many.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/failpoint"
)

const (
	writerLanes  = 2
	writerQueue  = 8192                 // attempts waiting to be stored; beyond it senders wait
	maxAttempts  = 1024                 // attempts in one commit
	linger       = 2 * time.Millisecond // nobody waits for the log: let a batch form
	flushTimeout = 15 * time.Second
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	retryGrace   = 2 * time.Second // how long a retry's clock may be late before the sweep takes the row
)

// Committed is told about attempts once they and their deliveries' new states are durable.
type Committed func([]delivery.Attempt)

// Writer stores attempts in batches. An attempt that was recorded is kept until
// the database has it.
type Writer struct {
	pool      *pgxpool.Pool
	log       *slog.Logger
	now       func() time.Time
	committed Committed
	queue     chan delivery.Attempt
	done      sync.WaitGroup
}

// NewWriter starts the writer; [Writer.Close] ends it.
func NewWriter(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time, committed Committed) *Writer {
	w := &Writer{pool: pool, log: log, now: now, committed: committed, queue: make(chan delivery.Attempt, writerQueue)}
	for range writerLanes {
		w.done.Go(w.run)
	}
	return w
}

// Record hands an attempt over; it waits while the database cannot keep up.
func (w *Writer) Record(a delivery.Attempt) { w.queue <- a }

// Close stores what was recorded and returns; Record must not be called any more.
func (w *Writer) Close() {
	close(w.queue)
	w.done.Wait()
}

func (w *Writer) run() {
	batch := make([]delivery.Attempt, 0, maxAttempts)
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for first := range w.queue {
		batch = append(batch[:0], first)
		timer.Reset(linger)
	fill:
		for len(batch) < maxAttempts {
			select {
			case a, ok := <-w.queue:
				if !ok {
					break fill
				}
				batch = append(batch, a)
			case <-timer.C:
				break fill
			}
		}
		w.store(batch)
		clear(batch)
	}
}

// store commits a batch, however long the database is away.
func (w *Writer) store(batch []delivery.Attempt) {
	failpoint.Here("before_attempt_row")
	for _, a := range batch {
		if a.Verdict.Status == delivery.Parked {
			failpoint.Here("on_parking")
		}
	}
	for pause, tries := firstPause, 0; ; pause, tries = min(2*pause, longestPause), tries+1 {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		err := w.flush(ctx, batch)
		cancel()
		if err == nil {
			break
		}
		if refused(err) {
			w.storeApart(batch, err)
			return
		}
		if tries == 0 {
			w.log.Warn("storing attempts failed; trying until it works", "error", err, "attempts", len(batch))
		}
		time.Sleep(pause)
	}
	if w.committed != nil {
		w.committed(batch)
	}
}

// storeApart stores the halves of a batch that PostgreSQL refused, down to the one
// attempt it refuses: that must not hold up all the others for ever. Its delivery
// is attempted again when the lease ends.
func (w *Writer) storeApart(batch []delivery.Attempt, err error) {
	if len(batch) == 1 {
		w.log.Error("an attempt cannot be stored; its delivery will be attempted again", "delivery", batch[0].ID, "error", err)
		return
	}
	half := len(batch) / 2
	w.store(batch[:half])
	w.store(batch[half:])
}

// refused tells whether PostgreSQL will never take these rows: data exceptions
// (class 22) and broken constraints (23), a partition that is not there among them.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23"))
}

func (w *Writer) flush(ctx context.Context, batch []delivery.Attempt) error {
	statements := &pgx.Batch{}
	queueStates(statements, batch)
	queueAttempts(statements, batch)
	queueDeltas(statements, batch, w.now())
	queueDisables(statements, batch)
	if err := w.pool.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("storing %d attempts: %w", len(batch), err)
	}
	return nil
}

// queueStates moves deliveries to their new state. A row that was settled in the
// meantime (a lease ended, another process was faster) stays as it is.
func queueStates(statements *pgx.Batch, batch []delivery.Attempt) {
	n := len(batch)
	ids, states, made, spent := make([]uuid.UUID, n), make([]int16, n), make([]int16, n), make([]int16, n)
	codes, durations, reasons, waits := make([]*int16, n), make([]*int32, n), make([]*string, n), make([]int32, n)
	for i := range batch {
		a := &batch[i]
		ids[i], states[i], spent[i] = a.ID, int16(a.Verdict.Status), int16(a.Verdict.Spent)
		waits[i] = int32(a.Verdict.Wait / time.Millisecond)
		if a.Verdict.Reason != "" {
			reasons[i] = &a.Verdict.Reason
		}
		if a.Made {
			made[i] = 1
			duration := int32(a.Phases.Total / time.Millisecond)
			durations[i] = &duration
		}
		if a.Code > 0 {
			code := int16(a.Code)
			codes[i] = &code
		}
	}
	statements.Queue(`
		update hub.deliveries d set
			status = r.status, attempts = d.attempts + r.made, spent = r.spent, status_code = case when r.made = 1 then r.code else d.status_code end,
			duration_ms = coalesce(r.duration, d.duration_ms), reason = r.reason,
			due_at = case when r.status = 0 then now() + r.wait * interval '1 millisecond' + $9 * interval '1 millisecond' else d.due_at end,
			next_attempt_at = case when r.status = 0 then now() + r.wait * interval '1 millisecond' end,
			finished_at = case when r.status <> 0 then now() end
		from unnest($1::uuid[], $2::smallint[], $3::smallint[], $4::smallint[], $5::smallint[], $6::integer[], $7::text[], $8::integer[])
			r(id, status, made, spent, code, duration, reason, wait)
		where d.id = r.id and d.status = 0`,
		ids, states, made, spent, codes, durations, reasons, waits, int32(retryGrace/time.Millisecond))
}

func queueAttempts(statements *pgx.Batch, batch []delivery.Attempt) {
	n := len(batch)
	ids, started, numbers, queued := make([]uuid.UUID, 0, n), make([]time.Time, 0, n), make([]int32, 0, n), make([]int64, 0, n)
	dns, connect, tls := make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n)
	first, total := make([]int32, 0, n), make([]int32, 0, n)
	codes, errors := make([]*int16, 0, n), make([]*string, 0, n)
	signatures, headers, bodies := make([][]byte, 0, n), make([][]byte, 0, n), make([][]byte, 0, n)
	for i := range batch {
		a := &batch[i]
		if !a.Made {
			continue
		}
		ids, started, numbers = append(ids, a.ID), append(started, a.StartedAt), append(numbers, int32(a.Attempts+1))
		queued = append(queued, max(0, a.Queued.Microseconds()))
		dns, connect, tls = append(dns, micros(a.Phases.DNS)), append(connect, micros(a.Phases.Connect)), append(tls, micros(a.Phases.TLS))
		first, total = append(first, micros(a.Phases.FirstByte)), append(total, micros(a.Phases.Total))
		var code *int16
		if a.Code > 0 {
			c := int16(a.Code)
			code = &c
		}
		var text *string
		if a.Error != "" {
			text = &a.Error
		}
		codes, errors = append(codes, code), append(errors, text)
		signatures, headers, bodies = append(signatures, a.Signature[:]), append(headers, a.Header), append(bodies, a.Body)
	}
	if len(ids) == 0 {
		return
	}
	statements.Queue(`
		insert into hub.attempts (delivery_id, started_at, number, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us,
			status_code, error, signature, response_headers, response_body)
		select * from unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::bigint[], $5::integer[], $6::integer[], $7::integer[],
			$8::integer[], $9::integer[], $10::smallint[], $11::text[], $12::bytea[], $13::bytea[], $14::bytea[])
		on conflict do nothing`,
		ids, started, numbers, queued, dns, connect, tls, first, total, codes, errors, signatures, headers, bodies)
}

// micros is a duration in whole microseconds, at least 1 where there was any.
func micros(d time.Duration) int32 {
	if d <= 0 {
		return 0
	}
	return int32(min(max(1, d.Microseconds()), 1<<31-1))
}

// queueDisables switches off endpoints that answered 410.
func queueDisables(statements *pgx.Batch, batch []delivery.Attempt) {
	var gone []uuid.UUID
	for i := range batch {
		if batch[i].Verdict.Disable {
			gone = append(gone, batch[i].Target)
		}
	}
	if len(gone) == 0 {
		return
	}
	statements.Queue(`
		update hub.endpoints set enabled = false, disabled_reason = 'gone', updated_at = now()
		where id = any($1::uuid[]) and enabled`, gone)
}

// tally is what a batch of attempts adds to one minute of one target.
type tally struct {
	product                             string
	delivered, failed, parked, attempts int32
	errors                              int32
	latency                             []int
}

type tallyKey struct{ tenant, target uuid.UUID }

func queueDeltas(statements *pgx.Batch, batch []delivery.Attempt, now time.Time) {
	tallies := make(map[tallyKey]*tally)
	for i := range batch {
		a := &batch[i]
		key := tallyKey{a.Event.TenantID, a.Target}
		t := tallies[key]
		if t == nil {
			t = &tally{product: a.Event.Product}
			tallies[key] = t
		}
		t.add(a)
	}
	n := len(tallies)
	tenants, targets, products, latencies := make([]uuid.UUID, 0, n), make([]uuid.UUID, 0, n), make([]string, 0, n), make([]string, 0, n)
	delivered, failed, parked := make([]int32, 0, n), make([]int32, 0, n), make([]int32, 0, n)
	attempts, errors := make([]int32, 0, n), make([]int32, 0, n)
	for key, t := range tallies {
		tenants, targets, products = append(tenants, key.tenant), append(targets, key.target), append(products, t.product)
		delivered, failed, parked = append(delivered, t.delivered), append(failed, t.failed), append(parked, t.parked)
		attempts, errors = append(attempts, t.attempts), append(errors, t.errors)
		latencies = append(latencies, arrayText(t.latency))
	}
	statements.Queue(`
		insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency)
		select $1, u.tenant_id, u.target_id, u.product, u.delivered, u.failed, u.parked, u.attempts, u.errors, u.latency::integer[]
		from unnest($2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::integer[], $7::integer[], $8::integer[], $9::integer[], $10::text[])
			u(tenant_id, target_id, product, delivered, failed, parked, attempts, errors, latency)`,
		now.Truncate(time.Minute), tenants, targets, products, delivered, failed, parked, attempts, errors, latencies)
}

func (t *tally) add(a *delivery.Attempt) {
	switch a.Verdict.Status {
	case delivery.Delivered:
		t.delivered++
		t.latency = append(t.latency, latencyClass(a.Phases.Total))
	case delivery.Parked:
		t.parked++
	case delivery.Failed:
		t.failed++
	}
	if a.Made {
		t.attempts++
		if a.Verdict.Status != delivery.Delivered {
			t.errors++
		}
	}
}

// arrayText writes a PostgreSQL integer array: unnest cannot pass one per row.
func arrayText(values []int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, v)
	}
	b.WriteByte('}')
	return b.String()
}
