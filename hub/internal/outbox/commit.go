package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/logid"
)

// configChanged is the SQLSTATE of hub.assert_config.
const configChanged = "HB001"

// maxConfigTries bounds how often a commit chases a configuration that keeps changing.
const maxConfigTries = 8

// commitPlain stores a batch of requests without idempotency keys and answers each.
func (o *Outbox) commitPlain(ctx context.Context, batch []*request) {
	err := errors.New("configuration kept changing")
	for range maxConfigTries {
		var all []*prepared
		var keep []*request
		version := o.directory.Version()
		all, keep = o.prepareAll(ctx, batch)
		if batch = keep; len(batch) == 0 {
			return
		}
		leasedAt := o.now()
		o.reserve(all)
		failpoint.Here("before_commit")
		if err = o.insert(ctx, version, all); err == nil {
			failpoint.Here("after_commit")
			o.committed(all, leasedAt)
			finish(batch, all)
			return
		}
		o.release(all)
		if !o.recover(ctx, err) {
			break
		}
	}
	o.failed(ctx, batch, err, o.commitPlain)
}

// prepareAll answers the requests that cannot be stored and returns the rest.
func (o *Outbox) prepareAll(ctx context.Context, batch []*request) (all []*prepared, keep []*request) {
	keep = make([]*request, 0, len(batch))
	all = make([]*prepared, 0, len(batch))
	for _, r := range batch {
		mark := len(all)
		var refused error
		for _, publication := range r.publications {
			p, err := o.prepare(ctx, publication)
			if err != nil {
				refused = err
				break
			}
			all = append(all, p)
		}
		if refused != nil {
			all = all[:mark]
			r.answer(refused)
			continue
		}
		keep = append(keep, r)
	}
	return all, keep
}

// finish answers requests whose publications were all stored, in order.
func finish(batch []*request, all []*prepared) {
	for _, r := range batch {
		r.results = make([]Result, len(r.publications))
		for i := range r.publications {
			r.results[i] = Result{ID: all[i].event.ID, Deliveries: len(all[i].targets)}
		}
		all = all[len(r.publications):]
		r.answer(nil)
	}
}

// recover tells whether a failed commit is worth another try now, after mending
// what it failed for.
func (o *Outbox) recover(ctx context.Context, err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case configChanged:
		return o.directory.Refresh(ctx) == nil
	case "23514": // no partition for this day
		_, err := o.pool.Exec(ctx, `select hub.ensure_partitions($1::date - 1, 3)`, o.now().UTC())
		return err == nil
	case "40001", "40P01": // serialization failure, deadlock
		return true
	}
	return false
}

// failed answers a batch that could not be stored. Where PostgreSQL refused the
// data of one request, the others are committed without it, one by one.
func (o *Outbox) failed(ctx context.Context, batch []*request, err error, commit func(context.Context, []*request)) {
	var pg *pgconn.PgError
	refusedData := errors.As(err, &pg) && (pg.Code[:2] == "22" || pg.Code[:2] == "23")
	if refusedData && len(batch) > 1 {
		for _, r := range batch {
			commit(ctx, []*request{r})
		}
		return
	}
	o.log.Warn("storing events failed", "error", err, "requests", len(batch))
	for _, r := range batch {
		r.answer(errBusy(err))
	}
}

// insert stores prepared events in one transaction: the statements travel
// together and end in one commit.
func (o *Outbox) insert(ctx context.Context, version int64, all []*prepared) error {
	batch := &pgx.Batch{}
	batch.Queue(`select hub.assert_config($1)`, version)
	queueInserts(batch, all)
	if err := o.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("committing %d events: %w", len(all), err)
	}
	return nil
}

// queueInserts adds the rows of prepared events to a batch.
func queueInserts(batch *pgx.Batch, all []*prepared) {
	queueEvents(batch, all)
	total := 0
	for _, p := range all {
		total += len(p.targets)
	}
	for from := 0; from < total; from += maxDeliveries {
		queueDeliveries(batch, all, from, min(from+maxDeliveries, total))
	}
	if total > 0 {
		queueDeltas(batch, all)
	}
}

func queueEvents(batch *pgx.Batch, all []*prepared) {
	n := len(all)
	seqs, ids, tenants := make([]uuid.UUID, n), make([]int64, n), make([]uuid.UUID, n)
	environments, products, types := make([]string, n), make([]string, n), make([]string, n)
	correlations, counts, bodies := make([]*string, n), make([]int32, n), make([][]byte, n)
	for i, p := range all {
		seqs[i], ids[i], tenants[i] = p.event.Seq, signed(p.id), p.TenantID
		environments[i], products[i], types[i] = string(p.Environment), p.Product, p.Type
		correlations[i], counts[i], bodies[i] = optional(p.CorrelationID), int32(len(p.targets)), p.event.Body
	}
	batch.Queue(`
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, correlation_id, deliveries, body)
		select * from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[], $9::bytea[])`,
		seqs, ids, tenants, environments, products, types, correlations, counts, bodies)
}

// queueDeliveries adds the rows from the from-th to the to-th delivery of all
// events. A row without a place in this process's queue is due at once.
func queueDeliveries(batch *pgx.Batch, all []*prepared, from, to int) {
	n := to - from
	ids, events, tenants, targets := make([]uuid.UUID, 0, n), make([]int64, 0, n), make([]uuid.UUID, 0, n), make([]uuid.UUID, 0, n)
	environments, products, types := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	correlations, leases := make([]*string, 0, n), make([]int32, 0, n)
	at := 0
	for _, p := range all {
		for i, target := range p.targets {
			if at++; at <= from || at > to {
				continue
			}
			ids, events, tenants, targets = append(ids, logid.Delivery(p.event.Seq, i+1)), append(events, signed(p.id)), append(tenants, p.TenantID), append(targets, target.ID)
			environments, products, types = append(environments, string(p.Environment)), append(products, p.Product), append(types, p.Type)
			lease := int32(0)
			if p.leased[i] {
				lease = int32(delivery.Lease / time.Second)
			}
			correlations, leases = append(correlations, optional(p.CorrelationID)), append(leases, lease)
		}
	}
	batch.Queue(`
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, due_at)
		select id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, now() + lease * interval '1 second'
		from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::text[], $9::integer[])
			u(id, event_id, tenant_id, target_id, environment, product, event_type, correlation_id, lease)`,
		ids, events, tenants, targets, environments, products, types, correlations, leases)
}

func queueDeltas(batch *pgx.Batch, all []*prepared) {
	counts := acceptedDeltas(all)
	n := len(counts)
	buckets, tenants, targets := make([]time.Time, 0, n), make([]uuid.UUID, 0, n), make([]uuid.UUID, 0, n)
	products, accepted := make([]string, 0, n), make([]int32, 0, n)
	for d, count := range counts {
		buckets, tenants, targets = append(buckets, d.bucket), append(tenants, d.tenant), append(targets, d.target)
		products, accepted = append(products, d.product), append(accepted, count)
	}
	batch.Queue(`
		insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted)
		select * from unnest($1::timestamptz[], $2::uuid[], $3::uuid[], $4::text[], $5::integer[])`,
		buckets, tenants, targets, products, accepted)
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
