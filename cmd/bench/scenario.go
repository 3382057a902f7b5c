package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// The parts of a run whose CPU time and memory are told apart. The service is
// the floor or the hub process.
const (
	partService   = "service"
	partPostgres  = "postgres"
	partRedis     = "redis"
	partGenerator = "generator"
	partReceiver  = "receiver"
	partCompared  = "compared" // service + postgres + redis: what an operator pays for
)

// scenario is one measurement.
type scenario struct {
	name        string
	description string
	once        bool // not repeated in later rounds
	run         func(ctx context.Context, b *bench) (*Result, error)
}

// scenarios are run in this order, floor and gateway side by side.
var scenarios = []scenario{
	{"floor-closed", "the floor, as fast as it answers", false, measureLoad(newFloor, closedLoop)},
	{"gateway-closed", "the gateway, as fast as it answers", false, measureLoad(newGateway, closedLoop)},
	{"floor-fail10", "the same, 10 % of first attempts answered 500", false, measureLoad(newFloor, failingTenth)},
	{"gateway-fail10", "the same, 10 % of first attempts answered 500", false, measureLoad(newGateway, failingTenth)},
	{"floor-rate", "the floor at a fixed rate", true, measureLoad(newFloor, fixedRate)},
	{"gateway-rate", "the gateway at a fixed rate", true, measureLoad(newGateway, fixedRate)},
	{"gateway-fanout100", "100 endpoints subscribed to one event", false, measureLoad(newGateway, fanOut)},
	{"gateway-inbound", "webhooks of a peer to a hosted product, and publishing in turn with them", false, measureInbound},
	{"gateway-log", "queries of a delivery log of 2,000,000", true, measureLog},
	{"scheduling", "free times, figures and contended bookings of the scheduling service", true, measureScheduling},
	{"clinic-search", "searches among a clinic's 100,000 patients", true, measureClinic},
	{"clinic-import", "a clinic imports 10,000 patients", true, measureImport},
	{"gateway-idle", "the gateway with nothing to do", true, measureIdle},
}

func newFloor(b *bench) service   { return &floorService{bench: b} }
func newGateway(b *bench) service { return &gatewayService{bench: b} }

// shape is the load of a scenario.
type shape struct {
	events    int
	rate      float64 // events per second; 0 = closed loop
	endpoints int
	failFirst float64
}

func closedLoop(o runOptions) shape { return shape{events: o.events, endpoints: 1} }

func failingTenth(o runOptions) shape {
	return shape{events: o.events, endpoints: 1, failFirst: 0.1}
}

func fixedRate(o runOptions) shape {
	return shape{events: o.rateEvents, rate: o.rate, endpoints: 1}
}

func fanOut(o runOptions) shape { return shape{events: max(1, o.events/50), endpoints: 100} }

// warmUpEvents are sent and delivered before anything is counted: connections
// are open and the programs' heaps have their size afterwards. Their numbers
// start at warmUpFirst, which keeps late ones apart from the counted ones.
const (
	warmUpEvents = 2000
	warmUpFirst  = 1 << 40
)

// measureLoad makes the scenario that puts a load on a service.
func measureLoad(newService func(*bench) service, of func(runOptions) shape) func(context.Context, *bench) (*Result, error) {
	return func(ctx context.Context, b *bench) (*Result, error) {
		sh := of(b.options)
		st, err := openStage(ctx, b, newService(b), sh.endpoints,
			"--fail-first", strconv.FormatFloat(sh.failFirst, 'f', -1, 64))
		if err != nil {
			return nil, err
		}
		defer st.close()
		if err := st.warmUp(ctx, warmUpEvents/sh.endpoints); err != nil {
			return nil, fmt.Errorf("warming up: %w", err)
		}
		result, err := st.measure(ctx, sh)
		if err != nil {
			return nil, fmt.Errorf("measuring: %w", err)
		}
		return result, nil
	}
}

// warmUp sends events, waits until all have arrived and makes the receiver
// forget them.
func (st *stage) warmUp(ctx context.Context, events int) error {
	o := st.bench.options
	g, err := st.generate(ctx, load{connections: o.connections, events: events, size: o.size, first: warmUpFirst})
	if err != nil {
		return err
	}
	if g.summary.Accepted == 0 {
		return fmt.Errorf("no event was accepted; statuses: %v", g.summary.Statuses)
	}
	balance, _, err := st.arriveAll(ctx, g.sent)
	if err != nil {
		return err
	}
	if balance.Delivered == 0 || !balance.Sound() {
		return fmt.Errorf("the ledger does not hold: %d lost, %d unknown, %d altered, %d forged, %d of %d delivered",
			balance.Lost, balance.Unknown, balance.Altered, balance.Forged, balance.Delivered, balance.Expected)
	}
	if err := st.settle(ctx); err != nil {
		return err
	}
	_, err = st.control(ctx, "/control/reset", nil)
	return err
}

// measure sends the load and counts what it took.
func (st *stage) measure(ctx context.Context, sh shape) (*Result, error) {
	o := st.bench.options
	syscall.Sync() // nor are the warm-up's dirty pages
	before, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	watch := watchMemory(st.roots())
	g, err := st.generate(ctx, load{connections: o.connections, events: sh.events, rate: sh.rate, size: o.size})
	if err != nil {
		watch.end()
		return nil, err
	}
	balance, arrivals, err := st.arriveAll(ctx, g.sent)
	if err == nil {
		err = st.settle(ctx)
	}
	peaks := watch.end()
	if err != nil {
		return nil, err
	}
	after, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	if err := balance.Explain(func(id string) (int, error) { return st.service.standing(ctx, id) }); err != nil {
		return nil, err
	}
	arrivals = slices.DeleteFunc(arrivals, func(a Arrival) bool { return a.N >= warmUpFirst })
	result := &Result{
		Events: len(g.sent), Rate: sh.rate, Endpoints: sh.endpoints, Connections: o.connections, PayloadBytes: o.size,
		Statuses: g.summary.Statuses, Ledger: *balance,
	}
	result.setSpeed(g.sent, arrivals)
	result.setCost(before, after, g.cpu)
	peaks[partGenerator] = g.peak
	result.setMemory(peaks)
	return result, nil
}

// cpuReading is one look at the clocks.
type cpuReading struct {
	at      time.Time
	parts   map[string]time.Duration
	machine time.Duration // all processes of the machine
	own     time.Duration // this process and the generators it has waited for
}

func (st *stage) readCPU() (cpuReading, error) {
	parts, err := cpuOf(st.roots())
	if err != nil {
		return cpuReading{}, err
	}
	machine, err := machineBusy()
	if err != nil {
		return cpuReading{}, err
	}
	return cpuReading{at: time.Now(), parts: parts, machine: machine, own: ownCPU()}, nil
}

// ownCPU is what this process and its ended children have used.
func ownCPU() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err == nil {
			total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return total
}

// idleTime is how long the gateway is left alone before its memory is read.
const idleTime = 10 * time.Second

// measureIdle reads the hub's memory after the start, and again after some work.
func measureIdle(ctx context.Context, b *bench) (*Result, error) {
	st, err := openStage(ctx, b, newGateway(b), 1)
	if err != nil {
		return nil, err
	}
	defer st.close()
	result := &Result{Endpoints: 1, Figures: make(map[string]float64)}
	before, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	if err := st.rest(ctx); err != nil {
		return nil, err
	}
	after, err := st.readCPU()
	if err != nil {
		return nil, err
	}
	fresh, _ := readMemory(st.program.pid())
	result.Figures[figureIdleMemory] = megabytes(fresh.resident)
	used := after.parts[partService] - before.parts[partService]
	result.Figures["idle_cpu_percent"] = 100 * used.Seconds() / after.at.Sub(before.at).Seconds()
	if err := st.warmUp(ctx, warmUpEvents); err != nil {
		return nil, err
	}
	if err := st.rest(ctx); err != nil {
		return nil, err
	}
	worked, _ := readMemory(st.program.pid())
	result.Figures["idle_after_work_mb"] = megabytes(worked.resident)
	return result, nil
}

// rest leaves the service alone for a while.
func (st *stage) rest(ctx context.Context) error {
	select {
	case <-time.After(idleTime):
		return nil
	case <-st.program.ended:
		return st.program.failure(fmt.Errorf("it ended while it had nothing to do"))
	case <-ctx.Done():
		return ctx.Err()
	}
}
