package throughput

import (
	"context"
	"fmt"
	"time"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// Sizes of the scenario of order by key.
const (
	orderSlices      = 3 // of each kind, in turn
	orderSliceTime   = 4 * time.Second
	orderSliceEvents = 1 << 18 // more than a slice can send
	orderKeys        = 1000
	orderManyKeys    = 100_000
)

// orderKind is one of the loads that alternate: it publishes to one tenant's endpoint with a
// number of ordering keys; 0: none.
type orderKind struct {
	tenant  publishingTenant
	keys    int
	events  int
	seconds float64 // until all were settled
}

func (k *orderKind) rate() float64 { return float64(k.events) / k.seconds }

// MeasureOrder measures how many events a second one endpoint gets without order, in the
// order of 1,000 keys, and in the order of 100,000.
func MeasureOrder(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	kinds := []*orderKind{{}, {keys: orderKeys}, {keys: orderManyKeys}}
	for _, kind := range kinds {
		if kind.tenant, err = createTenant(ctx, &gateway.API, "Order", st.HookURL(0), st.Secret(0), kind.keys > 0); err != nil {
			return nil, fmt.Errorf("setting up a tenant: %w", err)
		}
	}
	spec := load.Spec{Connections: run.Options.Connections, Size: run.Options.Size}
	var sent []records.Sent
	slice := func(kind *orderKind) error {
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
	spec.First, spec.Events = stage.WarmUpFirst, stage.WarmUpEvents
	for _, kind := range kinds {
		if err := slice(kind); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		kind.events, kind.seconds = 0, 0
		spec.First += uint64(spec.Events)
	}
	warmUp := len(sent)
	spec.First, spec.Events, spec.Duration = 0, orderSliceEvents, orderSliceTime
	for range orderSlices {
		for _, kind := range kinds {
			if err := slice(kind); err != nil {
				return nil, err
			}
			spec.First += uint64(spec.Events)
		}
	}
	return orderResult(ctx, st, sent, warmUp, kinds)
}

// orderResult checks that everything accepted arrived, and returns the rates. The first
// warmUp events are not measured.
func orderResult(ctx context.Context, st *stage.Stage, sent []records.Sent, warmUp int, kinds []*orderKind) (*report.Result, error) {
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
	result := &report.Result{Events: len(sent), Endpoints: 1, Connections: options.Connections, PayloadBytes: options.Size, Statuses: load.Summarize(sent).Statuses, Ledger: *balance}
	result.SetThroughput(sent[warmUp:], arrived)
	unordered, ordered, manyKeys := kinds[0].rate(), kinds[1].rate(), kinds[2].rate()
	result.Figures = map[string]float64{
		report.FigureUnordered: unordered, report.FigureOrdered: ordered, report.FigureOrderedManyKeys: manyKeys,
		report.FigureOrderedRatio: ordered / unordered, report.FigureManyKeysRatio: manyKeys / unordered,
	}
	if memory, ok := usage.ReadMemory(st.Process.PID()); ok {
		result.Figures[report.FigureOrderMemory] = usage.Megabytes(memory.Peak)
	}
	return result, nil
}
