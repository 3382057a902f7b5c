package throughput

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
)

// sliceSizes are the sizes of a scenario that compares loads.
type sliceSizes struct {
	slices     int           // of each load, in turn
	time       time.Duration // of a slice
	deliveries int           // of each load, to warm up
}

// fullSlices are those of a measurement.
var fullSlices = sliceSizes{slices: 3, time: 4 * time.Second, deliveries: stage.WarmUpEvents}

const sliceEvents = 1 << 18 // more than a slice can send

// loadKind is one of the loads that alternate: it publishes to one tenant's endpoints with a
// number of ordering keys; 0: none.
type loadKind struct {
	tenant     publishingTenant
	keys       int
	deliveries int                             // that each event makes
	prepare    func(ctx context.Context) error // before each slice; may be nil
	events     int
	seconds    float64 // until all were settled
	cpu        cpuTimes
}

func (k *loadKind) rate() float64 { return float64(k.events) / k.seconds }

// cpuMilliseconds is CPU per 1,000 events.
func (k *loadKind) cpuMilliseconds() float64 {
	return 1000 * k.cpu.per1000(k.events)[report.PartCompared]
}

// run publishes a slice of the load, and waits until all is settled.
func (k *loadKind) run(ctx context.Context, st *stage.Stage, spec load.Spec) ([]records.Sent, error) {
	if k.prepare != nil {
		if err := k.prepare(ctx); err != nil {
			return nil, fmt.Errorf("preparing a load: %w", err)
		}
	}
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	spec.Keys, spec.OrderingKeys = []string{k.tenant.key}, k.keys
	began := time.Now()
	generated, err := st.Generate(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := st.Process.WaitUntil(ctx, stage.StallTimeout, func() error { return st.Service.CheckLogComplete(ctx, 0) }); err != nil {
		return nil, err
	}
	elapsed := time.Since(began)
	after, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	for _, event := range generated.Sent {
		if event.Accepted() && int(event.Deliveries) != k.deliveries {
			return nil, errors.Join(reconcile.ErrUnsound, fmt.Errorf("an event made %d deliveries, not %d", event.Deliveries, k.deliveries))
		}
	}
	k.events += generated.Summary.Accepted
	k.seconds += elapsed.Seconds()
	k.cpu.add(before, after, generated.CPU)
	return generated.Sent, nil
}

// compareLoads runs slices of loads in turn, so that what else the machine does meets all of
// them. It checks that everything accepted arrived.
func compareLoads(ctx context.Context, st *stage.Stage, sizes sliceSizes, kinds []*loadKind) (*report.Result, error) {
	spec := load.Spec{Connections: st.Run.Options.Connections, Size: st.Run.Options.Size, First: stage.WarmUpFirst}
	var sent []records.Sent
	endpoints := 0
	for _, kind := range kinds {
		spec.Events = max(1, sizes.deliveries/kind.deliveries)
		warmedUp, err := kind.run(ctx, st, spec)
		if err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		sent = append(sent, warmedUp...)
		kind.events, kind.seconds, kind.cpu = 0, 0, cpuTimes{}
		spec.First += uint64(spec.Events)
		endpoints = max(endpoints, kind.deliveries)
	}
	warmUp := len(sent)
	spec.First, spec.Events, spec.Duration = 0, sliceEvents, sizes.time
	for range sizes.slices {
		for _, kind := range kinds {
			generated, err := kind.run(ctx, st, spec)
			if err != nil {
				return nil, err
			}
			sent = append(sent, generated...)
			spec.First += uint64(spec.Events)
		}
	}
	return measuredResult(ctx, st, sent, warmUp, endpoints)
}

// measuredResult checks that everything accepted arrived, and returns the result without the
// first warmUp events.
func measuredResult(ctx context.Context, st *stage.Stage, sent []records.Sent, warmUp, endpoints int) (*report.Result, error) {
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
	options := st.Run.Options
	result := &report.Result{Events: len(sent), Endpoints: endpoints, Connections: options.Connections, PayloadBytes: options.Size, Statuses: load.Summarize(sent).Statuses, Ledger: *balance}
	result.SetThroughput(sent[warmUp:], arrived)
	return result, nil
}
