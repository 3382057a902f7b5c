package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
)

// bucketWidths are the bucket sizes statistics come in.
var bucketWidths = map[string]time.Duration{"1m": time.Minute, "30m": 30 * time.Minute, "3h": 3 * time.Hour, "12h": 12 * time.Hour}

type statsInput struct {
	From          time.Time `query:"from" doc:"Absent: 24 hours before to"`
	To            time.Time `query:"to" doc:"Absent: now"`
	Bucket        string    `query:"bucket" enum:"1m,30m,3h,12h" default:"30m" doc:"Width of a bucket; single minutes are kept for 35 days, the others for 400"`
	Product       string    `query:"product" maxLength:"40" doc:"Only events of this product"`
	TenantID      uuid.UUID `query:"tenant_id" format:"uuid" doc:"Only events of this tenant"`
	EndpointID    uuid.UUID `query:"endpoint_id" format:"uuid" doc:"Only deliveries to this endpoint"`
	IntegrationID uuid.UUID `query:"integration_id" format:"uuid" doc:"Only deliveries of this integration"`
}

// Stats are counts and latencies by time bucket, from rollups.
type Stats struct {
	From   time.Time            `json:"from" doc:"Beginning of the first bucket"`
	To     time.Time            `json:"to" doc:"End of the period, not included"`
	Bucket string               `json:"bucket" enum:"1m,30m,3h,12h" doc:"Width of each bucket"`
	Items  []query.BucketCounts `json:"items" nullable:"false" doc:"Every bucket, empty ones included"`
}

func (a *API) stats(ctx context.Context, in *statsInput) (*struct{ Body Stats }, error) {
	to := in.To
	if to.IsZero() {
		to = a.deps.Now()
	}
	from := in.From
	if from.IsZero() {
		from = to.Add(-24 * time.Hour)
	}
	for _, bound := range []struct {
		location string
		at       time.Time
	}{{"query.from", from}, {"query.to", to}} {
		if err := query.CheckTime(bound.location, &bound.at); err != nil {
			return nil, err
		}
	}
	target := in.EndpointID
	if in.IntegrationID != uuid.Nil {
		if target != uuid.Nil {
			return nil, hub.Invalid("query.integration_id", "cannot be combined with endpoint_id")
		}
		target = in.IntegrationID
	}
	width := bucketWidths[in.Bucket]
	items, err := a.deps.Ledger.Stats(ctx, query.StatsQuery{
		From: from, To: to, Bucket: width, Product: in.Product, TenantID: nilIfZero(in.TenantID), TargetID: nilIfZero(target),
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body Stats }{Stats{From: from.Truncate(width).UTC(), To: to.UTC(), Bucket: in.Bucket, Items: items}}, nil
}

// Receivers are the attempts of receivers in the last 24 hours.
type Receivers struct {
	To    time.Time             `json:"to" doc:"End of the last hour"`
	Items []query.ReceiverStats `json:"items" nullable:"false" maxItems:"1000" doc:"Receivers with attempts, at most the 1000 busiest"`
}

func (a *API) backlog(ctx context.Context, _ *struct{}) (*struct{ Body query.Backlog }, error) {
	backlog, err := a.deps.Ledger.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	return &struct{ Body query.Backlog }{backlog}, nil
}

func (a *API) receiverStats(ctx context.Context, _ *struct{}) (*struct{ Body Receivers }, error) {
	now := a.deps.Now()
	items, err := a.deps.Ledger.Receivers(ctx, now)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Receivers }{Receivers{To: now.Truncate(time.Hour).Add(time.Hour).UTC(), Items: items}}, nil
}
