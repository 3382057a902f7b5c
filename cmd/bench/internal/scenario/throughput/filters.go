package throughput

import (
	"context"
	"fmt"
	"net/http"

	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// filteredEndpoints is how many endpoints get each event in the scenario of filters.
const filteredEndpoints = 300

// MeasureFilters measures how many events a second 300 endpoints get without filters, and with
// a filter each: an expression of its own that is true for every event, so that both make the
// same deliveries.
func MeasureFilters(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, filteredEndpoints)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	plain, filtered := &loadKind{}, &loadKind{}
	for _, kind := range []*loadKind{plain, filtered} {
		if kind.tenant, err = createTenant(ctx, &gateway.API, "Filters", st.HookURL(0), st.Secret(0), false); err != nil {
			return nil, fmt.Errorf("setting up a tenant: %w", err)
		}
		for n := range filteredEndpoints {
			endpoint := map[string]any{"url": st.HookURL(n), "event_types": []string{"*"}}
			if kind == filtered {
				endpoint["filter"] = fmt.Sprintf(`event.type == %q && event.data.n >= 0 && event.data.text != "endpoint %d"`, payload.EventType, n)
			}
			method, path := http.MethodPut, "/endpoints/"+kind.tenant.endpoint
			if n > 0 {
				method, path = http.MethodPost, "/endpoints"
				endpoint["tenant_id"], endpoint["secret"] = kind.tenant.id, st.Secret(n)
			}
			if err := gateway.API.Call(ctx, method, path, endpoint, nil); err != nil {
				return nil, fmt.Errorf("setting up an endpoint: %w", err)
			}
		}
	}
	result, err := compareLoads(ctx, st, filteredEndpoints, []*loadKind{plain, filtered})
	if err != nil {
		return nil, err
	}
	result.Figures = map[string]float64{
		report.FigureUnfiltered: plain.rate(), report.FigureFiltered: filtered.rate(), report.FigureFilteredRatio: filtered.rate() / plain.rate(),
	}
	return result, nil
}
