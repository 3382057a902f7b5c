package throughput

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/hub"
)

// Sizes of the churn scenario.
const (
	churnTenants     = 500
	churnRate        = 17 // changes of configuration a second
	churnSlices      = 3  // of each kind, in turn
	churnSliceTime   = 4 * time.Second
	churnSliceEvents = 1 << 18 // more than a slice can send
)

// churnKind is one of the three loads that alternate: 500 tenants publish while disturb
// runs beside them.
type churnKind struct {
	disturb func(ctx context.Context) (done int, err error)
	events  int
	seconds float64
	changes int
}

func (k *churnKind) rate() float64 { return float64(k.events) / k.seconds }

// MeasureChurn measures how many events 500 tenants publish while nobody changes anything,
// while 17 changes of configuration are made a second, and while one tenant repeats an
// update that changes nothing.
func MeasureChurn(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	tenants, err := createTenants(ctx, &gateway.API, st.HookURL(0), st.Secret(0))
	if err != nil {
		return nil, err
	}
	spec := load.Spec{Connections: run.Options.Connections, Size: run.Options.Size, First: stage.WarmUpFirst, Events: 4 * churnTenants}
	for _, tenant := range tenants {
		spec.Keys = append(spec.Keys, tenant.key)
	}
	warmUp, err := st.GenerateAccepted(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("warming up: %w", err)
	}
	quiet := &churnKind{disturb: func(context.Context) (int, error) { return 0, nil }}
	churn := &churnKind{disturb: func(ctx context.Context) (int, error) {
		return changeConfiguration(ctx, &gateway.API, tenants, st.HookURL(0))
	}}
	noOps := &churnKind{disturb: func(ctx context.Context) (int, error) {
		return repeatUpdate(ctx, &gateway.API, tenants[0], st.HookURL(0))
	}}
	spec.First, spec.Events, spec.Duration = 0, churnSliceEvents, churnSliceTime
	sent := warmUp.Sent
	for range churnSlices {
		for _, kind := range []*churnKind{quiet, churn, noOps} {
			generated, err := runChurnSlice(ctx, st, spec, kind)
			if err != nil {
				return nil, err
			}
			sent = append(sent, generated...)
			spec.First += uint64(spec.Events)
		}
	}
	return churnResult(ctx, st, sent, len(warmUp.Sent), quiet, churn, noOps)
}

// createTenants makes tenants that publish.
func createTenants(ctx context.Context, api *hubapi.Client, hook, secret string) ([]publishingTenant, error) {
	tenants := make([]publishingTenant, churnTenants)
	for i := range tenants {
		var err error
		if tenants[i], err = createTenant(ctx, api, "Tenant "+strconv.Itoa(i), hook, secret, false); err != nil {
			return nil, err
		}
	}
	return tenants, nil
}

// changeConfiguration makes changes of several kinds, [churnRate] a second, until ctx ends.
func changeConfiguration(ctx context.Context, api *hubapi.Client, tenants []publishingTenant, hook string) (int, error) {
	tick := time.NewTicker(time.Second / churnRate)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return n, nil
		}
		if err := changeTenant(ctx, api, tenants[n*7%len(tenants)], hook, n); err != nil && ctx.Err() == nil {
			return n, fmt.Errorf("changing the configuration: %w", err)
		}
	}
}

func changeTenant(ctx context.Context, api *hubapi.Client, tenant publishingTenant, hook string, n int) error {
	switch n % 4 {
	case 0:
		_, err := api.CreateKey(ctx, tenant.id)
		return err
	case 1:
		return api.Call(ctx, http.MethodPut, "/tenants/"+tenant.id, map[string]any{"name": "Changed " + strconv.Itoa(n)}, nil)
	}
	body := map[string]any{"url": hook, "event_types": []string{"*", "change." + strconv.Itoa(n)}}
	return api.Call(ctx, http.MethodPut, "/endpoints/"+tenant.endpoint, body, nil)
}

// repeatUpdate updates a tenant's endpoint to what it is, again and again, until ctx ends.
func repeatUpdate(ctx context.Context, api *hubapi.Client, tenant publishingTenant, hook string) (int, error) {
	header := http.Header{hub.HeaderKey: {tenant.key}}
	body := map[string]any{"url": hook, "event_types": []string{"*"}}
	for n := 0; ; n++ {
		if err := api.CallPath(ctx, http.MethodPut, "/api/v1/endpoints/"+tenant.endpoint, header, body, nil); err != nil {
			if ctx.Err() != nil {
				return n, nil
			}
			return n, fmt.Errorf("repeating an update: %w", err)
		}
	}
}

// runChurnSlice runs one slice of a load and waits until everything it sent is settled.
func runChurnSlice(ctx context.Context, st *stage.Stage, spec load.Spec, kind *churnKind) ([]records.Sent, error) {
	disturbing, stop := context.WithCancel(ctx)
	defer stop()
	disturbed := make(chan error, 1)
	var changes atomic.Int64
	go func() {
		n, err := kind.disturb(disturbing)
		changes.Store(int64(n))
		disturbed <- err
	}()
	generated, err := st.Generate(ctx, spec)
	stop()
	if disturbErr := <-disturbed; err == nil {
		err = disturbErr
	}
	if err != nil {
		return nil, err
	}
	kind.events += generated.Summary.Accepted
	kind.seconds += generated.Summary.Seconds
	kind.changes += int(changes.Load())
	return generated.Sent, st.Process.WaitUntil(ctx, stage.StallTimeout, func() error { return st.Service.CheckLogComplete(ctx, 0) })
}

// churnResult checks that everything accepted arrived, and returns the rates. The first
// warmUp events are not measured.
func churnResult(ctx context.Context, st *stage.Stage, sent []records.Sent, warmUp int, quiet, churn, noOps *churnKind) (*report.Result, error) {
	result, err := measuredResult(ctx, st, sent, warmUp, 1)
	if err != nil {
		return nil, err
	}
	result.Figures = map[string]float64{
		report.FigureQuiet: quiet.rate(), report.FigureChurn: churn.rate(), report.FigureNoOps: noOps.rate(),
		report.FigureChurnRatio: churn.rate() / quiet.rate(), report.FigureNoOpsRatio: noOps.rate() / quiet.rate(),
		report.FigureNoOpUpdates: float64(noOps.changes) / noOps.seconds, report.FigureChanges: float64(churn.changes) / churn.seconds,
	}
	return result, nil
}
