package throughput

import (
	"context"
	"fmt"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// Numbers of ordering keys in the scenario of order by key.
const (
	orderKeys     = 1000
	orderManyKeys = 100_000
)

// MeasureOrder measures how many events a second one endpoint gets without order, in the
// order of 1,000 keys, and in the order of 100,000.
func MeasureOrder(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return measureOrder(ctx, st, &gateway.API, fullSlices)
}

func measureOrder(ctx context.Context, st *stage.Stage, api *hubapi.Client, sizes sliceSizes) (result *report.Result, err error) {
	kinds := []*loadKind{{}, {keys: orderKeys}, {keys: orderManyKeys}}
	for _, kind := range kinds {
		kind.deliveries = 1
		if kind.tenant, err = createTenant(ctx, api, "Order", st.HookURL(0), st.Secret(0), kind.keys > 0); err != nil {
			return nil, fmt.Errorf("setting up a tenant: %w", err)
		}
	}
	if result, err = compareLoads(ctx, st, sizes, kinds); err != nil {
		return nil, err
	}
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
