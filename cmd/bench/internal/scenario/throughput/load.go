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

func Floor(b *stage.Run) service.Service { return &service.Floor{Programs: b.Programs} }

func Gateway(b *stage.Run) service.Service { return &service.Gateway{Programs: b.Programs} }

// Shape is the load of a scenario.
type Shape struct {
	events    int
	rate      float64 // events per second; 0 = closed loop
	endpoints int
	failFirst float64
}

func ClosedLoop(o stage.Options) Shape { return Shape{events: o.Events, endpoints: 1} }

func FailingTenth(o stage.Options) Shape {
	return Shape{events: o.Events, endpoints: 1, failFirst: 0.1}
}

func FixedRate(o stage.Options) Shape {
	return Shape{events: o.RateEvents, rate: o.Rate, endpoints: 1}
}

func FanOut(o stage.Options) Shape { return Shape{events: max(1, o.Events/50), endpoints: 100} }

// MeasureLoad makes the scenario that puts a load on a service.
func MeasureLoad(newService func(*stage.Run) service.Service, of func(stage.Options) Shape) func(context.Context, *stage.Run) (*report.Result, error) {
	return func(ctx context.Context, b *stage.Run) (*report.Result, error) {
		sh := of(b.Options)
		st, err := stage.Open(ctx, b, newService(b), sh.endpoints,
			"--fail-first", strconv.FormatFloat(sh.failFirst, 'f', -1, 64))
		if err != nil {
			return nil, err
		}
		defer st.Close()
		if err := st.WarmUp(ctx, stage.WarmUpEvents/sh.endpoints); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		result, err := measure(ctx, st, sh)
		if err != nil {
			return nil, fmt.Errorf("measuring: %w", err)
		}
		return result, nil
	}
}

// measure sends the load and counts what it took.
func measure(ctx context.Context, st *stage.Stage, sh Shape) (*report.Result, error) {
	o := st.Run.Options
	syscall.Sync() // nor are the warm-up's dirty pages
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	watch := usage.MonitorMemory(st.ProcessTrees())
	g, err := st.Generate(ctx, load.Spec{Connections: o.Connections, Events: sh.events, Rate: sh.rate, Size: o.Size})
	if err != nil {
		watch.Stop()
		return nil, err
	}
	balance, arrivals, err := st.AwaitArrivals(ctx, g.Sent)
	if err == nil {
		err = st.AwaitLog(ctx)
	}
	peaks := watch.Stop()
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
		Events: len(g.Sent), Rate: sh.rate, Endpoints: sh.endpoints, Connections: o.Connections, PayloadBytes: o.Size,
		Statuses: g.Summary.Statuses, Ledger: *balance,
	}
	result.SetThroughput(g.Sent, arrivals)
	result.SetCPU(before, after, g.CPU)
	peaks[report.PartGenerator] = g.Peak
	result.SetMemory(peaks)
	return result, nil
}

// idleTime is how long the gateway is left alone before its memory is read.
const idleTime = 10 * time.Second

// MeasureIdle reads the hub's memory after the start, and again after some work.
func MeasureIdle(ctx context.Context, b *stage.Run) (*report.Result, error) {
	st, err := stage.Open(ctx, b, Gateway(b), 1)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	result := &report.Result{Endpoints: 1, Figures: make(map[string]float64)}
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	if err := rest(ctx, st); err != nil {
		return nil, err
	}
	after, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	fresh, _ := usage.ReadMemory(st.Process.PID())
	result.Figures[report.FigureIdleMemory] = usage.Megabytes(fresh.Resident)
	used := after.Parts[report.PartService] - before.Parts[report.PartService]
	result.Figures["idle_cpu_percent"] = 100 * used.Seconds() / after.At.Sub(before.At).Seconds()
	if err := st.WarmUp(ctx, stage.WarmUpEvents); err != nil {
		return nil, err
	}
	if err := rest(ctx, st); err != nil {
		return nil, err
	}
	worked, _ := usage.ReadMemory(st.Process.PID())
	result.Figures["idle_after_work_mb"] = usage.Megabytes(worked.Resident)
	return result, nil
}

// rest leaves the service alone for a while.
func rest(ctx context.Context, st *stage.Stage) error {
	select {
	case <-time.After(idleTime):
		return nil
	case <-st.Process.Exited():
		return st.Process.WithLog(fmt.Errorf("it ended while it had nothing to do"))
	case <-ctx.Done():
		return ctx.Err()
	}
}
