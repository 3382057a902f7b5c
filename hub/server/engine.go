package server

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/egress"
	"integrationhub/hub/internal/erasure"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/ledger/write"
	"integrationhub/hub/internal/mail"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/tracing"
)

// engine accepts and delivers events: everything that needs no HTTP interface.
type engine struct {
	directory      *directory.Directory
	outbox         *outbox.Outbox
	dispatcher     *delivery.Dispatcher
	retryScheduler *delivery.RetryScheduler
	writer         *write.Writer
	reader         *query.Reader
	replays        *maintain.Replays
	requeuer       *maintain.Requeuer
	discarder      *maintain.Discarder
	tail           *query.Tail
	metrics        *metrics.Metrics
	alerts         *alerts.Publisher
	tracer         *tracing.Tracer // nil = off
	client         *client.Client
	log            *slog.Logger

	cancel     context.CancelFunc
	background sync.WaitGroup
}

// startEngine assembles the path of an event and starts its background work, and that of
// mails.
func startEngine(o Options, s *storage, guard *egress.Guard, connectors directory.Connectors, tracer *tracing.Tracer, mails *mail.Outbox, consoleURL string) *engine {
	cfg, log, now := o.Config, o.Log, time.Now
	e := &engine{
		directory: directory.New(s.engine, s.box, connectors, log, now).WithLinkRate(cfg.LinkRate),
		reader:    query.NewReader(s.api),
		tail:      query.NewTail(s.redis, s.installation, log),
		metrics:   metrics.New(),
		tracer:    tracer,
		log:       log,
	}
	e.client = client.New(client.Config{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, time.Duration, time.Duration, error) {
			conn, timing, err := guard.DialTimed(ctx, network, addr)
			return conn, timing.DNS, timing.Connect, err
		},
		// Many endpoints can be of one host: connections are kept for all that a tenant may have in flight.
		Timeout: cfg.DeliveryTimeout, MaxIdlePerHost: max(1, cfg.DeliveryConcurrency/2), MaxIdle: cfg.DeliveryConcurrency,
		UserAgent: "integrationhub/" + o.Version,
	})
	e.writer = write.NewWriter(s.engine, log, now, e.attemptsStored)
	e.reader.WaitFor(e.writer).PaceFrom(e.directory.Pace)
	var wake func(uuid.UUID)
	if s.miniredis == nil { // else this process is the only one
		wake = func(target uuid.UUID) { e.retryScheduler.WakeOthers(target) }
	}
	e.dispatcher = delivery.NewDispatcher(delivery.Config{
		Pool: s.engine, Directory: e.directory, Client: e.client, Attempts: e.writer, Pacer: delivery.RedisPacer{Client: s.redis},
		Logger: log, Now: now, WakeOthers: wake, Concurrency: cfg.DeliveryConcurrency, EndpointConcurrency: cfg.EndpointConcurrency,
	})
	e.retryScheduler = delivery.NewRetryScheduler(s.redis, s.installation, e.dispatcher, log)
	filterErrors := filter.NewErrors(s.engine, log, now)
	e.outbox = outbox.New(s.engine, e.directory, e.dispatcher, e.metrics, log, now, cfg.MaxDeliveries).SetFilterErrors(filterErrors)
	e.alerts = alerts.NewPublisher(alerts.Config{
		DB: s.api, Outbox: e.outbox, Directory: e.directory, Mail: mails, Log: log, Now: clockOrReal(o.OperationalClock),
		FailingAfter: cfg.EndpointFailingAfter, ConsoleURL: consoleURL, OnPublished: e.metrics.CountOperational,
	})
	e.replays = maintain.NewReplays(s.api, log, now, e.dispatcher.Wake).OnCancelled(e.dispatcher.ParkCancelled)
	e.requeuer = maintain.NewRequeuer(s.api, e.reader)
	e.discarder = maintain.NewDiscarder(s.api, e.reader, e.metrics.CountFailedUnsent)
	mails.CountSettledWith(e.metrics.CountMail)
	e.registerMetrics(s)
	e.startBackground(o, s, filterErrors, mails)
	return e
}

// registerMetrics registers what is measured when metrics are read.
func (e *engine) registerMetrics(s *storage) {
	e.metrics.Gauge("hub_queue_depth", "Leased deliveries waiting in this process.", func() float64 {
		return float64(e.dispatcher.QueuedCount())
	})
	e.metrics.Gauge("hub_attempts_in_flight", "Attempts under way in this process.", func() float64 {
		return float64(e.dispatcher.InFlightCount())
	})
	e.metrics.Gauge("hub_waiting_tenants", "Tenants with work that awaits a worker in this process, for want of workers or because of their share.", func() float64 {
		return float64(e.dispatcher.WaitingTenants())
	})
	e.metrics.Register(query.NewPendingCollector(e.reader, time.Now))
	e.metrics.Register(connect.NewStatusCollector(s.api, time.Now))
	e.metrics.Register(registry.NewCertificateCollector(s.api, time.Now))
}

// startBackground starts the background work: what deliveries need at once, the rest one by one.
func (e *engine) startBackground(o Options, s *storage, filterErrors *filter.Errors, mails *mail.Outbox) {
	cfg, log := o.Config, o.Log
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	drainer := maintain.NewDrainer(s.api, log, e.dispatcher.Wake, e.metrics.CountFailedUnsent)
	eraser := erasure.New(s.api, log, e.metrics, s.box, e.dispatcher)
	maintenance := maintain.NewMaintenance(s.api, log, time.Now, cfg.Retention, e.metrics.CountFailedUnsent).
		OnAbandoned(e.metrics.CountAbandoned).WithAuditRetention(cfg.AuditRetention).BoundedByDatabase()
	for _, work := range []func(context.Context){
		e.directory.Run, filterErrors.Run, e.dispatcher.Sweep, e.tail.Run, maintenance.Run, e.retryScheduler.Run,
		func(ctx context.Context) { e.dispatcher.Listen(ctx, eraser.Wake) },
	} {
		e.background.Go(func() { work(ctx) })
	}
	for i, work := range []func(context.Context){mails.Run, e.replays.Run, drainer.Run, eraser.Run, e.alerts.Run} {
		e.background.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(i+1) * startSpacing):
				work(ctx)
			}
		})
	}
}

// startSpacing is the time between the starts of work that can wait. Each begins with a
// query: together they would open a connection each, which most starts never need again.
const startSpacing = 25 * time.Millisecond

// attemptsStored schedules the retries of stored attempts and reports them to metrics,
// the tail and traces.
func (e *engine) attemptsStored(batch []delivery.AttemptResult) {
	e.retryScheduler.Schedule(batch)
	e.metrics.CountAttempts(batch, time.Now())
	e.tail.Publish(batch)
	e.tracer.RecordAttempts(batch)
}

// stopStarting starts no more attempts. What waits here is due for other processes at once, while
// attempts under way go on.
func (e *engine) stopStarting() {
	e.dispatcher.StopStarting()        // nothing is claimed any more, from Redis' tasks either
	go e.retryScheduler.StopClaiming() // waits for Redis, which may hang
	e.releaseUnattempted()
}

// stopTimeout bounds what a stopping engine does in the database, beside the time that requests
// and attempts have.
const stopTimeout = 5 * time.Second

// releaseUnattempted releases the leases of deliveries that wait here.
func (e *engine) releaseUnattempted() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	unattempted := e.dispatcher.TakeUnattempted()
	if err := e.dispatcher.ReleaseLeases(ctx, unattempted); err != nil {
		e.log.Warn("giving leases back failed; they end by themselves", "error", err, "deliveries", len(unattempted))
	}
}

// storeRecorded closes the log's writer, which stores the attempts recorded.
func (e *engine) storeRecorded() {
	stored := make(chan struct{})
	go func() {
		e.writer.Close()
		close(stored)
	}()
	select {
	case <-stored:
	case <-time.After(stopTimeout):
		e.log.Warn("stopping before all attempts are stored; those deliveries will be attempted again")
	}
}

// stop stops the engine. Nothing new is accepted, attempts in flight have until ctx ends,
// and leases without an attempt are released for other processes.
func (e *engine) stop(ctx context.Context) {
	e.outbox.Close()
	haveEnded := e.dispatcher.Stop(ctx)
	e.releaseUnattempted()
	if haveEnded {
		e.storeRecorded()
	} else { // an attempt may still want to record
		e.writer.Sync(context.WithoutCancel(ctx))
		e.log.Warn("stopping with attempts under way; those deliveries will be attempted again")
	}
	e.cancel()
	e.background.Wait()
	e.client.Close()
	e.tracer.Close()
}
