package throughput

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/service"
	"integrationhub/cmd/bench/internal/stage"
	"integrationhub/cmd/bench/internal/usage"
	"integrationhub/hub"
)

// Sizes of the scenario of a tenant with large batches: the largest that the gateway accepts
// without a changed limit.
const (
	batchEvents    = 500
	batchEndpoints = 20
	batchTextBytes = 1900 // of each event: a batch has nearly 1 MiB
)

// MeasureBatches measures how long publishing takes for 20 tenants, alone and while another
// tenant posts batches of 10,000 deliveries, each as soon as the one before is answered.
func MeasureBatches(ctx context.Context, run *stage.Run) (*report.Result, error) {
	gateway := &service.Gateway{Programs: run.Programs}
	st, err := stage.Open(ctx, run, gateway, 0, "--verify-every", "0")
	if err != nil {
		return nil, err
	}
	defer st.Close()
	batching, neighbours, err := setUpTenants(ctx, st, &gateway.API, batchEndpoints)
	if err != nil {
		return nil, fmt.Errorf("setting up tenants: %w", err)
	}
	result := &report.Result{
		Events: 2 * neighbourEvents, Rate: neighbourRate, Endpoints: 1, Connections: neighbourTenants, PayloadBytes: run.Options.Size,
		Statuses: make(map[string]int), Figures: make(map[string]float64),
	}
	before, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	var batches batchPublisher
	var sent []records.Sent
	var generatorCPU time.Duration
	for phase, figures := range [][2]string{
		{report.FigureQuietPublish, report.FigureQuietTenants}, {report.FigurePublishBesideBatches, report.FigureBesideBatches},
	} {
		if phase == 1 {
			batches.start(ctx, &gateway.API, batching)
		}
		first := uint64(phase * neighbourEvents)
		generated, err := st.Generate(ctx, load.Spec{Keys: neighbours, Connections: neighbourTenants, Events: neighbourEvents, Rate: neighbourRate, Size: run.Options.Size, First: first})
		if batchErr := batches.stop(); err == nil {
			err = batchErr
		}
		if err != nil {
			return nil, err
		}
		sent = append(sent, generated.Sent...)
		generatorCPU += generated.CPU
		balance, arrivals, err := st.AwaitArrivalsFrom(ctx, sent, batchEndpoints)
		if err != nil {
			return nil, err
		}
		result.Ledger = *balance
		for status, n := range generated.Summary.Statuses {
			result.Statuses[status] += n
		}
		result.SetThroughput(generated.Sent, arrivalsFrom(arrivals, first))
		result.Figures[figures[0]], result.Figures[figures[1]] = result.Response.P99, result.EndToEnd.P99
	}
	after, err := st.ReadCPU()
	if err != nil {
		return nil, err
	}
	result.SetCPU(before, after, generatorCPU)
	result.Figures[report.FigureBatches] = batches.rate()
	if memory, ok := usage.ReadMemory(st.Process.PID()); ok {
		result.Figures[report.FigureBatchesMemory] = usage.Megabytes(memory.Peak)
	}
	return result, nil
}

// batchPublisher posts batches in a loop.
type batchPublisher struct {
	cancel  context.CancelFunc
	done    sync.WaitGroup
	began   time.Time
	elapsed time.Duration
	count   int
	err     error
}

func (p *batchPublisher) start(ctx context.Context, api *hubapi.Client, key string) {
	text := strings.Repeat("x", batchTextBytes)
	events := make([]map[string]any, batchEvents)
	for i := range events {
		events[i] = map[string]any{"event_type": "batches.large", "data": map[string]any{"text": text}}
	}
	body := map[string]any{"events": events}
	ctx, p.cancel = context.WithCancel(ctx)
	p.began = time.Now()
	p.done.Go(func() {
		for ctx.Err() == nil && p.err == nil {
			err := api.CallPath(ctx, http.MethodPost, "/api/v1/events/batch", http.Header{hub.HeaderKey: {key}}, body, nil)
			switch {
			case err == nil:
				p.count++
			case ctx.Err() == nil:
				p.err = fmt.Errorf("publishing a batch: %w", err)
			}
		}
	})
}

// stop ends the loop, if it was started.
func (p *batchPublisher) stop() error {
	if p.cancel == nil {
		return nil
	}
	p.cancel()
	p.done.Wait()
	p.elapsed = time.Since(p.began)
	return p.err
}

// rate returns the batches accepted a second.
func (p *batchPublisher) rate() float64 { return float64(p.count) / p.elapsed.Seconds() }
