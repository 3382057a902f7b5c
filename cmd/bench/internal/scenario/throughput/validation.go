package throughput

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
)

// Patterns of the text that the generator sends, nearly all of its data. The hub matches a
// pattern that is a sequence of runs of characters without the regular expression; one that
// repeats a group needs it.
const (
	runsPattern   = `^[0-9A-Za-z]*$`
	groupsPattern = `^[0-9A-Za-z]+(?: [0-9A-Za-z]+)*$`
)

// eventSchema describes the data that the generator sends.
func eventSchema(pattern string) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","required":["n","t","text"],"additionalProperties":false,"properties":{
		"n":{"type":"integer","minimum":0},"t":{"type":"integer"},"text":{"type":"string","pattern":%q}}}`, pattern)
}

// MeasureValidation measures how many events a second one endpoint gets with a product's
// validation off, and with reject: each event is checked against the schema of its type, with
// a pattern of each kind.
func MeasureValidation(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return measureValidation(ctx, st, &gateway.API, fullSlices)
}

func measureValidation(ctx context.Context, st *stage.Stage, api *hubapi.Client, sizes sliceSizes) (*report.Result, error) {
	tenant, err := createTenant(ctx, api, "Validation", st.HookURL(0), st.Secret(0), false)
	if err != nil {
		return nil, fmt.Errorf("setting up a tenant: %w", err)
	}
	var eventType struct {
		ID string `json:"id"`
	}
	described := map[string]any{"product": "bench", "name": payload.EventType, "schema": eventSchema(runsPattern)}
	if err := api.Call(ctx, http.MethodPost, "/event-types", described, &eventType); err != nil {
		return nil, fmt.Errorf("describing the events: %w", err)
	}
	validating := func(mode, pattern string) *loadKind {
		return &loadKind{tenant: tenant, deliveries: 1, prepare: func(ctx context.Context) error {
			schema := map[string]any{"schema": eventSchema(pattern)}
			if err := api.Call(ctx, http.MethodPut, "/event-types/"+eventType.ID, schema, nil); err != nil {
				return err
			}
			return api.Call(ctx, http.MethodPut, "/products/bench", map[string]any{"validation": mode}, nil)
		}}
	}
	off, reject, groups := validating("off", runsPattern), validating("reject", runsPattern), validating("reject", groupsPattern)
	result, err := compareLoads(ctx, st, sizes, []*loadKind{off, reject, groups})
	if err != nil {
		return nil, err
	}
	result.Figures = map[string]float64{
		report.FigureUnchecked: off.rate(), report.FigureUncheckedCPU: off.cpuMilliseconds(),
		report.FigureChecked: reject.rate(), report.FigureCheckedCPU: reject.cpuMilliseconds(), report.FigureCheckedRatio: reject.rate() / off.rate(),
		report.FigureCheckedGroups: groups.rate(), report.FigureCheckedGroupsCPU: groups.cpuMilliseconds(), report.FigureCheckedGroupsPart: groups.rate() / off.rate(),
	}
	return result, nil
}
