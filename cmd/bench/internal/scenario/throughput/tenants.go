package throughput

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/hub"
)

// Sizes of the scenario of a hanging tenant.
const (
	hangingEndpoints = 1400
	neighbourTenants = 20
	neighbourRate    = 200 // events per second, of all neighbours together
	neighbourEvents  = 2400
)

// MeasureTenants measures how long the events of 20 tenants take while 1,400 endpoints of
// another tenant hang: without an event of that tenant, beside one, and beside ten more.
func MeasureTenants(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 0, "--hang", strconv.Itoa(hangingEndpoints), "--verify-every", "0")
	if err != nil {
		return nil, err
	}
	defer st.Close()
	hanging, neighbours, err := setUpTenants(ctx, st, &gateway.API, hangingEndpoints)
	if err != nil {
		return nil, fmt.Errorf("setting up tenants: %w", err)
	}
	result := &report.Result{
		Events: 3 * neighbourEvents, Rate: neighbourRate, Endpoints: 1, Connections: neighbourTenants, PayloadBytes: run.Options.Size,
		Statuses: make(map[string]int), Figures: make(map[string]float64),
	}
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	var sent []records.Sent
	var generatorCPU time.Duration
	for phase, part := range []struct {
		figure  string
		hanging int // events to the endpoints that hang
	}{{report.FigureQuietTenants, 0}, {report.FigureTenantsBesideOne, 1}, {report.FigureTenantsBesideTen, 10}} {
		for range part.hanging {
			header := http.Header{hub.HeaderKey: {hanging}}
			event := map[string]any{"event_type": "tenants.hanging", "data": map[string]any{}}
			if err := gateway.API.CallPath(ctx, http.MethodPost, "/api/v1/events", header, event, nil); err != nil {
				return nil, err
			}
		}
		generated, err := st.Generate(ctx, load.Spec{
			Keys: neighbours, Connections: neighbourTenants, Events: neighbourEvents, Rate: neighbourRate,
			Size: run.Options.Size, First: uint64(phase * neighbourEvents),
		})
		if err != nil {
			return nil, err
		}
		sent = append(sent, generated.Sent...)
		generatorCPU += generated.CPU
		balance, arrivals, err := st.AwaitArrivalsFrom(ctx, sent, hangingEndpoints)
		if err != nil {
			return nil, err
		}
		result.Ledger = *balance
		for status, n := range generated.Summary.Statuses {
			result.Statuses[status] += n
		}
		result.SetThroughput(generated.Sent, arrivalsFrom(arrivals, uint64(phase*neighbourEvents)))
		result.Figures[part.figure] = result.EndToEnd.P99
	}
	after, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	result.SetCPU(before, after, generatorCPU)
	return result, nil
}

// arrivalsFrom returns the arrivals of events from a number on.
func arrivalsFrom(arrivals []records.Arrival, first uint64) []records.Arrival {
	return slices.DeleteFunc(arrivals, func(a records.Arrival) bool { return a.Number < first })
}

// setUpTenants makes a tenant with the first endpoints, and its neighbours with one endpoint
// each. It returns their keys.
func setUpTenants(ctx context.Context, st *stage.Stage, api *hubapi.Client, endpoints int) (large string, neighbours []string, err error) {
	large, err = setUpTenant(ctx, st, api, 0, endpoints)
	for n := range neighbourTenants {
		if err != nil {
			return "", nil, err
		}
		var key string
		key, err = setUpTenant(ctx, st, api, endpoints+n, 1)
		neighbours = append(neighbours, key)
	}
	return large, neighbours, err
}

// setUpTenant makes a tenant with a number of endpoints, and returns its key. first is the
// number of the first hook.
func setUpTenant(ctx context.Context, st *stage.Stage, api *hubapi.Client, first, endpoints int) (key string, err error) {
	var tenant struct {
		ID string `json:"id"`
	}
	name := fmt.Sprintf("From %d", first)
	if err := api.Call(ctx, http.MethodPost, "/tenants", map[string]any{"product": "bench", "name": name}, &tenant); err != nil {
		return "", err
	}
	limits := map[string]any{"name": name, "limits": map[string]any{"endpoints": hangingEndpoints}}
	if err := api.Call(ctx, http.MethodPut, "/tenants/"+tenant.ID, limits, nil); err != nil {
		return "", err
	}
	for n := range endpoints {
		body := map[string]any{"tenant_id": tenant.ID, "url": st.HookURL(first + n), "event_types": []string{"*"}}
		if err := api.Call(ctx, http.MethodPost, "/endpoints", body, nil); err != nil {
			return "", err
		}
	}
	return api.CreateKey(ctx, tenant.ID)
}

// publishingTenant is a tenant with a key and an endpoint that is subscribed to every event.
type publishingTenant struct{ id, key, endpoint string }

// createTenant makes a tenant that publishes. ordered is that of its endpoint.
func createTenant(ctx context.Context, api *hubapi.Client, name, hook, secret string, ordered bool) (tenant publishingTenant, err error) {
	if tenant.id, err = api.CreateTenant(ctx, name); err != nil {
		return tenant, err
	}
	if tenant.key, err = api.CreateKey(ctx, tenant.id); err != nil {
		return tenant, err
	}
	var endpoint struct {
		ID string `json:"id"`
	}
	body := map[string]any{"tenant_id": tenant.id, "url": hook, "event_types": []string{"*"}, "secret": secret}
	if ordered {
		body["ordered"] = true // hubs before it refuse the member
	}
	err = api.Call(ctx, http.MethodPost, "/endpoints", body, &endpoint)
	tenant.endpoint = endpoint.ID
	return tenant, err
}
