package query

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/ledger"
)

// Bounds of the statistics of receivers.
const (
	ReceiverHours = 24
	MaxReceivers  = 1000
)

// Backlog is what waits in the database, of both environments.
type Backlog struct {
	Pending         int64      `json:"pending" minimum:"0" maximum:"100000" doc:"Deliveries that have waited for two seconds or for a retry, counted up to 100000"`
	Parked          int64      `json:"parked" minimum:"0" maximum:"100000" doc:"Parked deliveries, counted up to 100000"`
	OldestPendingAt *time.Time `json:"oldest_pending_at" doc:"When the oldest pending delivery was accepted; null: none is pending"`
}

// Backlog counts what waits. Its cost is bounded by what it counts.
func (r *Reader) Backlog(ctx context.Context) (Backlog, error) {
	var b Backlog
	err := r.pool.QueryRow(ctx, `
		select count(*), min(created_at), (select count(*) from (select from hub.deliveries where status = 2 limit $1) p)
		from (select created_at from hub.deliveries where status = 0 order by id limit $1) d`, maxPendingCounted).
		Scan(&b.Pending, &b.OldestPendingAt, &b.Parked)
	if err != nil {
		return b, fmt.Errorf("counting what waits: %w", err)
	}
	return b, nil
}

// ReceiverStats are a receiver's attempts in the last 24 hours.
type ReceiverStats struct {
	ID       uuid.UUID `json:"receiver_id" format:"uuid" doc:"An endpoint's id, or an integration's"`
	TenantID uuid.UUID `json:"tenant_id" format:"uuid" doc:"Whose receiver it is"`
	Attempts int64     `json:"attempts" minimum:"0" doc:"Attempts made"`
	Errors   int64     `json:"errors" minimum:"0" doc:"Attempts that did not deliver"`
	Failed   int64     `json:"failed" minimum:"0" doc:"Deliveries that failed or were parked"`
	Hours    []int64   `json:"attempts_by_hour" nullable:"false" minItems:"24" maxItems:"24" doc:"Attempts in each hour, oldest first; the last hour ends at to"`
	Faults   []int64   `json:"errors_by_hour" nullable:"false" minItems:"24" maxItems:"24" doc:"Of these, the ones that did not deliver"`
}

// Receivers returns the attempts of each receiver that had any in the 24 hours before to,
// which is rounded up to an hour. Receivers with the most attempts come first, at most
// [MaxReceivers]. Deltas are added to what is rolled up, in one snapshot.
func (r *Reader) Receivers(ctx context.Context, to time.Time) ([]ReceiverStats, error) {
	end := to.Truncate(time.Hour).Add(time.Hour)
	first := end.Add(-ReceiverHours * time.Hour)
	rows, err := r.pool.Query(ctx, `
		with counted as (
			select scope_id as id, tenant_id, bucket, attempts, errors, failed + parked as failed from hub.statistics
			where width = 30 and scope = $1 and bucket >= $2 and bucket < $3 and tenant_id <> '`+noTenant+`'
			union all
			select target_id, tenant_id, bucket, attempts, errors, failed + parked from hub.rollup_deltas where bucket >= $2 and bucket < $3 and tenant_id <> '`+noTenant+`'),
		busiest as (select id from counted group by id order by sum(attempts) desc, id limit $4)
		select id, tenant_id, extract(epoch from bucket - $2)::bigint / 3600 as hour, sum(attempts)::bigint, sum(errors)::bigint, sum(failed)::bigint
		from counted join busiest using (id) group by id, tenant_id, hour order by id`, ledger.ScopeTarget, first, end, MaxReceivers)
	if err != nil {
		return nil, fmt.Errorf("reading statistics of receivers: %w", err)
	}
	list := []ReceiverStats{}
	var row ReceiverStats
	var hour, attempts, faults, failed int64
	_, err = pgx.ForEachRow(rows, []any{&row.ID, &row.TenantID, &hour, &attempts, &faults, &failed}, func() error {
		if len(list) == 0 || list[len(list)-1].ID != row.ID {
			list = append(list, ReceiverStats{ID: row.ID, TenantID: row.TenantID, Hours: make([]int64, ReceiverHours), Faults: make([]int64, ReceiverHours)})
		}
		receiver := &list[len(list)-1]
		receiver.Attempts += attempts
		receiver.Errors += faults
		receiver.Failed += failed
		receiver.Hours[hour] += attempts
		receiver.Faults[hour] += faults
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading statistics of receivers: %w", err)
	}
	return list, nil
}
