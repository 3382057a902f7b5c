package throughput

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// backlogSizes are the sizes of the scenario of events that wait in order.
type backlogSizes struct {
	keys, eventsPerKey int
	warmUp             int           // events
	idle               time.Duration // without requests, before memory is read
}

// MeasureOrderBacklog publishes two events of each of 100,000 ordering keys to an ordered
// endpoint that is disabled, so that all of them wait. Then it starts the hub again, and enables
// the endpoint. It measures how much memory the hub needs for that, above what it has with
// nothing to do, and checks that the events of each key arrive in their order.
func MeasureOrderBacklog(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return measureOrderBacklog(ctx, st, gateway, backlogSizes{keys: orderManyKeys, eventsPerKey: 2, warmUp: stage.WarmUpEvents, idle: 5 * time.Second})
}

func measureOrderBacklog(ctx context.Context, st *stage.Stage, gateway *service.Gateway, sizes backlogSizes) (*report.Result, error) {
	api, options := &gateway.API, st.Run.Options
	tenant, err := createTenant(ctx, api, "Order", st.HookURL(0), st.Secret(0), true)
	if err != nil {
		return nil, fmt.Errorf("setting up a tenant: %w", err)
	}
	enable := func(enabled bool) error {
		endpoint := map[string]any{"url": st.HookURL(0), "event_types": []string{"*"}, "enabled": enabled}
		return api.Call(ctx, http.MethodPut, "/endpoints/"+tenant.endpoint, endpoint, nil)
	}
	if err := enable(false); err != nil {
		return nil, err
	}
	if err := idle(ctx, st, sizes.idle); err != nil {
		return nil, err
	}
	before, _ := usage.ReadMemory(st.Process.PID())
	if err := st.WarmUp(ctx, sizes.warmUp); err != nil {
		return nil, err
	}
	result := &report.Result{Endpoints: 1, Connections: options.Connections, PayloadBytes: options.Size, Figures: map[string]float64{
		report.FigureBacklogIdle: usage.Megabytes(before.Resident),
	}}
	// grow sets a figure to the growth of the peak since the last call, or since the hub started.
	grow := func(figure string) error {
		memory, _ := usage.ReadMemory(st.Process.PID())
		result.Figures[figure] = usage.Megabytes(memory.Peak - before.Resident)
		result.Figures[report.FigureBacklogGrowth] = max(result.Figures[report.FigureBacklogGrowth], result.Figures[figure])
		return usage.ResetPeak(st.Process.PID())
	}
	if err := usage.ResetPeak(st.Process.PID()); err != nil {
		return nil, err
	}

	generated, err := st.GenerateAccepted(ctx, load.Spec{
		Keys: []string{tenant.key}, OrderingKeys: sizes.keys, Events: sizes.keys * sizes.eventsPerKey, Connections: options.Connections, Size: options.Size,
	})
	if err != nil {
		return nil, err
	}
	if err := grow(report.FigureBacklogPublishing); err != nil {
		return nil, err
	}
	if err := requireWaiting(ctx, st.Cluster.DatabaseURL, sizes); err != nil {
		return nil, err
	}
	if st.Process, err = gateway.Restart(ctx, st.Process); err != nil {
		return nil, fmt.Errorf("starting the hub again: %w", err)
	}
	if err := idle(ctx, st, sizes.idle); err != nil {
		return nil, err
	}
	if err := grow(report.FigureBacklogRestarted); err != nil {
		return nil, err
	}
	enabledAt := time.Now()
	if err := enable(true); err != nil {
		return nil, err
	}
	balance, arrivals, err := st.AwaitArrivals(ctx, generated.Sent)
	if err != nil {
		return nil, err
	}
	if err := grow(report.FigureBacklogDraining); err != nil {
		return nil, err
	}
	result.Events, result.Statuses, result.Ledger = len(generated.Sent), generated.Summary.Statuses, *balance
	result.Accepted = float64(generated.Summary.Accepted) / generated.Summary.Seconds
	result.Delivered = float64(balance.Delivered) / lastArrival(arrivals).Sub(enabledAt).Seconds()
	result.Figures[report.FigureBacklogDrained] = result.Delivered
	result.Figures[report.FigureBacklogOutOfOrder] = float64(reconcile.CountOutOfOrder(generated.Sent, arrivals, sizes.keys))
	return result, nil
}

// requireWaiting returns an error unless all events wait, each in the order of its key.
func requireWaiting(ctx context.Context, databaseURL string, sizes backlogSizes) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connecting to the gateway's database: %w", err)
	}
	defer conn.Close(ctx)
	var keys, waiting int
	if err := conn.QueryRow(ctx, `select count(*), coalesce(sum(waiting), 0) from hub.ordering_keys where waiting > 0`).Scan(&keys, &waiting); err != nil {
		return fmt.Errorf("counting what waits: %w", err)
	}
	if keys != sizes.keys || waiting != sizes.keys*sizes.eventsPerKey {
		return fmt.Errorf("%d events of %d keys wait, not %d of %d", waiting, keys, sizes.keys*sizes.eventsPerKey, sizes.keys)
	}
	return nil
}

// lastArrival returns when the last request arrived.
func lastArrival(arrivals []records.Arrival) time.Time {
	var last int64
	for _, arrival := range arrivals {
		last = max(last, arrival.ArrivedAt)
	}
	return time.Unix(0, last)
}
