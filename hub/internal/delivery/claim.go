package delivery

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/logid"
)

// leaseAndReturnSQL is the part of a claiming statement that takes the lease and returns
// what a Job needs. A leased row has no next_attempt_at.
const leaseAndReturnSQL = `
	set due_at = now() + interval '30 seconds', next_attempt_at = null
	from picked p where d.id = p.id
	returning d.id, d.target_id, d.integration, d.attempts, d.spent, d.round_at, now() - p.due_at`

// claimTargetSQL takes up to limit due rows of one target, oldest first.
const claimTargetSQL = `
	with picked as (
		select id, due_at from hub.deliveries
		where status = 0 and target_id = $1 and due_at <= now()
		order by due_at, id limit $2 for update skip locked)
	update hub.deliveries d` + leaseAndReturnSQL

// "status + 0" keeps the planner from reading all pending rows by their index
// where the rows are found by id.

// claimRetriesSQL takes rows whose retry is due. One that another process has, that
// was settled, or whose time by the database's clock has not come is left alone.
const claimRetriesSQL = `
	with picked as (
		select d.id, d.next_attempt_at as due_at from hub.deliveries d
		join unnest($1::uuid[], $2::integer[]) r(id, attempts) on d.id = r.id and d.attempts = r.attempts
		where d.status + 0 = 0 and d.next_attempt_at <= now()
		for update of d skip locked)
	update hub.deliveries d` + leaseAndReturnSQL

// claim runs a claiming statement and reads the events of what it took.
func (d *Dispatcher) claim(ctx context.Context, statement string, args ...any) ([]LeasedDelivery, error) {
	leasedAt := d.Now()
	rows, err := d.Pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (LeasedDelivery, error) {
		job := LeasedDelivery{LeasedAt: leasedAt}
		var overdue time.Duration
		err := row.Scan(&job.ID, &job.Target, &job.IsIntegration, &job.PriorAttempts, &job.Spent, &job.RoundAt, &overdue)
		job.ReadyAt = leasedAt.Add(-max(0, overdue))
		return job, err
	})
	if err != nil {
		return nil, fmt.Errorf("claiming deliveries: %w", err)
	}
	slices.SortFunc(jobs, func(a, b LeasedDelivery) int { // returning has no order
		return cmp.Or(a.ReadyAt.Compare(b.ReadyAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return jobs, d.readEvents(ctx, jobs)
}

// readEvents gives jobs their events; the events of one fan-out are read once.
func (d *Dispatcher) readEvents(ctx context.Context, jobs []LeasedDelivery) error {
	events := make(map[uuid.UUID]*Event, len(jobs))
	seqs := make([]uuid.UUID, 0, len(jobs))
	for _, job := range jobs {
		seq := logid.Seq(job.ID)
		if events[seq] == nil {
			events[seq] = &Event{Seq: seq}
			seqs = append(seqs, seq)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	rows, err := d.Pool.Query(ctx, `
		select e.seq, e.id, e.tenant_id, e.environment, e.product, e.event_type, coalesce(e.correlation_id, ''), e.body
		from hub.events e where e.seq = any($1::uuid[])`, seqs)
	if err != nil {
		return fmt.Errorf("reading events: %w", err)
	}
	var read Event
	_, err = pgx.ForEachRow(rows, []any{&read.Seq, &read.IDBits, &read.TenantID, &read.Environment, &read.Product, &read.Type, &read.CorrelationID, &read.Body}, func() error {
		event := events[read.Seq]
		*event = read
		event.ID, event.Body = hub.FormatEventID(uint64(read.IDBits)), append([]byte(nil), read.Body...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading events: %w", err)
	}
	for i := range jobs {
		jobs[i].Event = events[logid.Seq(jobs[i].ID)]
	}
	return nil
}

// materializeExpired inserts the rows of deliveries whose leases have ended: the process
// that took them on died, or they were not attempted in time.
func (d *Dispatcher) materializeExpired(ctx context.Context) error {
	_, err := d.Pool.Exec(ctx, `
		select hub.unfold_leases(array(
			select id from hub.leases where due_at <= now() order by id limit 100 for update skip locked))`)
	if err != nil {
		return fmt.Errorf("taking over leases that have ended: %w", err)
	}
	return nil
}

// makeDue makes deliveries due again at once: they were leased but not attempted.
func (d *Dispatcher) makeDue(ctx context.Context, jobs []LeasedDelivery) error {
	ids := make([]uuid.UUID, len(jobs))
	var leases []uuid.UUID
	for i, job := range jobs {
		ids[i] = job.ID
		if job.CommitLease != nil && !slices.Contains(leases, job.CommitLease.ID) {
			leases = append(leases, job.CommitLease.ID)
		}
	}
	statements := &pgx.Batch{}
	statements.Queue(`select hub.unfold_leases($1)`, leases)
	statements.Queue(`
		update hub.deliveries d set due_at = now()
		from unnest($1::uuid[]) u(id) where d.id = u.id and d.status + 0 = 0 and d.next_attempt_at is null`, ids)
	if err := d.Pool.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("giving leases back: %w", err)
	}
	return nil
}
