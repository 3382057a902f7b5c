package throughput

import (
	"context"
	"fmt"
	"net/http"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// filteredEndpoints is how many endpoints a tenant has in the scenario of filters.
const filteredEndpoints = 300

// MeasureFilters measures how many events a second a tenant with 300 endpoints publishes,
// without filters, with a filter each that is true for every event, and with a filter each of
// which one is true. Without filters and with true ones the deliveries are the same.
func MeasureFilters(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, filteredEndpoints)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return measureFilters(ctx, st, &gateway.API, filteredEndpoints, fullSlices)
}

func measureFilters(ctx context.Context, st *stage.Stage, api *hubapi.Client, endpoints int, sizes sliceSizes) (result *report.Result, err error) {
	// Each filter is an expression of its own: one that is shared would be compiled once.
	matching := func(n int) string {
		return fmt.Sprintf(`event.type == %q && event.data.n >= 0 && event.data.text != "endpoint %d"`, payload.EventType, n)
	}
	unfiltered, filtered, oneMatches := &loadKind{deliveries: endpoints}, &loadKind{deliveries: endpoints}, &loadKind{deliveries: 1}
	for kind, filterOf := range map[*loadKind]func(n int) string{
		unfiltered: func(int) string { return "" },
		filtered:   matching,
		oneMatches: func(n int) string {
			if n == 0 {
				return matching(n)
			}
			return fmt.Sprintf(`event.type == %q && event.data.n >= 0 && event.data.text == "endpoint %d"`, payload.EventType, n)
		},
	} {
		if kind.tenant, err = createFilteredTenant(ctx, st, api, endpoints, filterOf); err != nil {
			return nil, err
		}
	}
	if result, err = compareLoads(ctx, st, sizes, []*loadKind{unfiltered, filtered, oneMatches}); err != nil {
		return nil, err
	}
	result.Figures = map[string]float64{
		report.FigureUnfiltered: unfiltered.rate(), report.FigureUnfilteredCPU: unfiltered.cpuMilliseconds(),
		report.FigureFiltered: filtered.rate(), report.FigureFilteredCPU: filtered.cpuMilliseconds(),
		report.FigureFilteredRatio: filtered.rate() / unfiltered.rate(),
		report.FigureOneMatches:    oneMatches.rate(), report.FigureOneMatchesCPU: oneMatches.cpuMilliseconds(),
	}
	return result, nil
}

// createFilteredTenant makes a tenant with a number of endpoints, each with the filter of its
// number; "": none.
func createFilteredTenant(ctx context.Context, st *stage.Stage, api *hubapi.Client, endpoints int, filterOf func(n int) string) (publishingTenant, error) {
	tenant, err := createTenant(ctx, api, "Filters", st.HookURL(0), st.Secret(0), false)
	if err != nil {
		return tenant, fmt.Errorf("setting up a tenant: %w", err)
	}
	for n := range endpoints {
		endpoint := map[string]any{"url": st.HookURL(n), "event_types": []string{"*"}}
		if filter := filterOf(n); filter != "" {
			endpoint["filter"] = filter
		}
		method, path := http.MethodPut, "/endpoints/"+tenant.endpoint
		if n > 0 {
			method, path = http.MethodPost, "/endpoints"
			endpoint["tenant_id"], endpoint["secret"] = tenant.id, st.Secret(n)
		}
		if err := api.Call(ctx, method, path, endpoint, nil); err != nil {
			return tenant, fmt.Errorf("setting up an endpoint: %w", err)
		}
	}
	return tenant, nil
}
