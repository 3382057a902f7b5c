package throughput

import (
	"context"
	"fmt"
	"time"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
)

// Sizes of scenarios that compare loads.
const (
	loadSlices      = 3 // of each kind, in turn
	loadSliceTime   = 4 * time.Second
	loadSliceEvents = 1 << 18 // more than a slice can send
)

// loadKind is one of the loads that alternate: it publishes to one tenant's endpoint with a
// number of ordering keys; 0: none.
type loadKind struct {
	tenant  publishingTenant
	keys    int
	prepare func(ctx context.Context) error // before each slice; may be nil
	events  int
	seconds float64 // until all were settled
}

func (k *loadKind) rate() float64 { return float64(k.events) / k.seconds }

// compareLoads runs slices of loads, each of events to a number of endpoints, in turn, so that
// what else the machine does meets all of them. It checks that everything accepted arrived.
func compareLoads(ctx context.Context, st *stage.Stage, endpoints int, kinds []*loadKind) (*report.Result, error) {
	options := st.Run.Options
	spec := load.Spec{Connections: options.Connections, Size: options.Size}
	var sent []records.Sent
	slice := func(kind *loadKind) error {
		if kind.prepare != nil {
			if err := kind.prepare(ctx); err != nil {
				return fmt.Errorf("preparing a load: %w", err)
			}
		}
		spec.Keys, spec.OrderingKeys = []string{kind.tenant.key}, kind.keys
		began := time.Now()
		generated, err := st.Generate(ctx, spec)
		if err != nil {
			return err
		}
		if err := st.Process.WaitUntil(ctx, stage.StallTimeout, func() error { return st.Service.CheckLogComplete(ctx, 0) }); err != nil {
			return err
		}
		kind.events += generated.Summary.Accepted
		kind.seconds += time.Since(began).Seconds()
		sent = append(sent, generated.Sent...)
		return nil
	}
	spec.First, spec.Events = stage.WarmUpFirst, max(1, stage.WarmUpEvents/endpoints)
	for _, kind := range kinds {
		if err := slice(kind); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		kind.events, kind.seconds = 0, 0
		spec.First += uint64(spec.Events)
	}
	warmUp := len(sent)
	spec.First, spec.Events, spec.Duration = 0, loadSliceEvents, loadSliceTime
	for range loadSlices {
		for _, kind := range kinds {
			if err := slice(kind); err != nil {
				return nil, err
			}
			spec.First += uint64(spec.Events)
		}
	}
	balance, arrivals, err := st.AwaitArrivals(ctx, sent)
	if err != nil {
		return nil, err
	}
	arrived := arrivals[:0]
	for _, arrival := range arrivals {
		if arrival.Number < stage.WarmUpFirst {
			arrived = append(arrived, arrival)
		}
	}
	result := &report.Result{Events: len(sent), Endpoints: endpoints, Connections: options.Connections, PayloadBytes: options.Size, Statuses: load.Summarize(sent).Statuses, Ledger: *balance}
	result.SetThroughput(sent[warmUp:], arrived)
	return result, nil
}
