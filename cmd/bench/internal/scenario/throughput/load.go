// Package throughput has the scenarios of publishing, receiving and idling.
package throughput

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
)

// Floor returns the floor as service.
func Floor(run *stage.Run) service.Service { return &service.Floor{Programs: run.Programs} }

// Gateway returns the hub as service.
func Gateway(run *stage.Run) service.Service { return &service.Gateway{Programs: run.Programs} }

// Shape is the load of a scenario.
type Shape struct {
	events    int
	rate      float64 // events per second; 0 = closed loop
	endpoints int     // subscribed to each event
	failFirst float64 // share of events whose first attempt fails
}

// ClosedLoop is one endpoint; each response is followed by the next event.
func ClosedLoop(o stage.Options) Shape { return Shape{events: o.Events, endpoints: 1} }

// FailingTenth is the closed loop with a tenth of the first attempts failing.
func FailingTenth(o stage.Options) Shape {
	return Shape{events: o.Events, endpoints: 1, failFirst: 0.1}
}

// FixedRate is one endpoint at a fixed rate.
func FixedRate(o stage.Options) Shape {
	return Shape{events: o.RateEvents, rate: o.Rate, endpoints: 1}
}

// FanOut is 100 endpoints subscribed to each event.
func FanOut(o stage.Options) Shape { return Shape{events: max(1, o.Events/50), endpoints: 100} }

// MeasureLoad returns the measurement of a service under a load.
func MeasureLoad(newService func(*stage.Run) service.Service, shapeOf func(stage.Options) Shape) func(context.Context, *stage.Run) (*report.Result, error) {
	return func(ctx context.Context, run *stage.Run) (*report.Result, error) {
		shape := shapeOf(run.Options)
		st, err := stage.Open(ctx, run, newService(run), shape.endpoints,
			"--fail-first", strconv.FormatFloat(shape.failFirst, 'f', -1, 64))
		if err != nil {
			return nil, err
		}
		defer st.Close()
		if err := st.WarmUp(ctx, stage.WarmUpEvents/shape.endpoints); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		result, err := measure(ctx, st, shape)
		if err != nil {
			return nil, fmt.Errorf("measuring: %w", err)
		}
		return result, nil
	}
}

// measure sends the load and measures rates, latencies, CPU and memory.
func measure(ctx context.Context, st *stage.Stage, shape Shape) (*report.Result, error) {
	options := st.Run.Options
	syscall.Sync() // the warm-up's dirty pages do not count
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	monitor := usage.MonitorMemory(st.ProcessTrees())
	generated, err := st.Generate(ctx, load.Spec{Connections: options.Connections, Events: shape.events, Rate: shape.rate, Size: options.Size})
	if err != nil {
		monitor.Stop()
		return nil, err
	}
	balance, arrivals, err := st.AwaitArrivals(ctx, generated.Sent)
	if err == nil {
		err = st.AwaitLog(ctx)
	}
	peaks := monitor.Stop()
	if err != nil {
		return nil, err
	}
	after, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	if err := balance.Explain(func(id string) (int, error) { return st.Service.UnfinishedDeliveries(ctx, id) }); err != nil {
		return nil, err
	}
	arrivals = slices.DeleteFunc(arrivals, func(a records.Arrival) bool { return a.Number >= stage.WarmUpFirst })
	result := &report.Result{
		Events: len(generated.Sent), Rate: shape.rate, Endpoints: shape.endpoints, Connections: options.Connections, PayloadBytes: options.Size,
		Statuses: generated.Summary.Statuses, Ledger: *balance,
	}
	result.SetThroughput(generated.Sent, arrivals)
	result.SetCPU(before, after, generated.CPU)
	peaks[report.PartGenerator] = generated.Peak
	result.SetMemory(peaks)
	return result, nil
}

// idleTime is how long the gateway gets no request before its memory is read.
const idleTime = 10 * time.Second

// MeasureIdle measures the hub's memory after the start, and again after the warm-up.
func MeasureIdle(ctx context.Context, run *stage.Run) (*report.Result, error) {
	st, err := stage.Open(ctx, run, Gateway(run), 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	result := &report.Result{Endpoints: 1, Figures: make(map[string]float64)}
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	if err := idle(ctx, st, idleTime); err != nil {
		return nil, err
	}
	after, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	started, _ := usage.ReadMemory(st.Process.PID())
	result.Figures[report.FigureIdleMemory] = usage.Megabytes(started.Resident)
	used := after.Parts[report.PartService] - before.Parts[report.PartService]
	result.Figures["idle_cpu_percent"] = 100 * used.Seconds() / after.At.Sub(before.At).Seconds()
	if err := st.WarmUp(ctx, stage.WarmUpEvents); err != nil {
		return nil, err
	}
	if err := idle(ctx, st, idleTime); err != nil {
		return nil, err
	}
	worked, _ := usage.ReadMemory(st.Process.PID())
	result.Figures["idle_after_work_mb"] = usage.Megabytes(worked.Resident)
	return result, nil
}

// idle waits.
func idle(ctx context.Context, st *stage.Stage, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-st.Process.Exited():
		return st.Process.WithLog(fmt.Errorf("it ended while it had nothing to do"))
	case <-ctx.Done():
		return ctx.Err()
	}
}
