package throughput

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// eventSchema describes the data that the generator sends.
const eventSchema = `{"type":"object","required":["n","t","text"],"additionalProperties":false,"properties":{
	"n":{"type":"integer","minimum":0},"t":{"type":"integer"},"text":{"type":"string","pattern":"^[0-9A-Za-z]*$"}}}`

// MeasureValidation measures how many events a second one endpoint gets with a product's
// validation off, and with reject: each event is checked against the schema of its type.
func MeasureValidation(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	tenant, err := createTenant(ctx, &gateway.API, "Validation", st.HookURL(0), st.Secret(0), false)
	if err != nil {
		return nil, fmt.Errorf("setting up a tenant: %w", err)
	}
	eventType := map[string]any{"product": "bench", "name": payload.EventType, "schema": json.RawMessage(eventSchema)}
	if err := gateway.API.Call(ctx, http.MethodPost, "/event-types", eventType, nil); err != nil {
		return nil, fmt.Errorf("describing the events: %w", err)
	}
	validate := func(mode string) func(context.Context) error {
		return func(ctx context.Context) error {
			return gateway.API.Call(ctx, http.MethodPut, "/products/bench", map[string]any{"validation": mode}, nil)
		}
	}
	off, reject := &loadKind{tenant: tenant, prepare: validate("off")}, &loadKind{tenant: tenant, prepare: validate("reject")}
	result, err := compareLoads(ctx, st, 1, []*loadKind{off, reject})
	if err != nil {
		return nil, err
	}
	result.Figures = map[string]float64{
		report.FigureUnchecked: off.rate(), report.FigureChecked: reject.rate(), report.FigureCheckedRatio: reject.rate() / off.rate(),
	}
	return result, nil
}
