// Package metrics counts what operators watch, for Prometheus. Labels are
// products and states only: never tenants, addresses or keys.
package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"integrationhub/hub/events"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/mail"
)

// Metrics is one process' set of metrics.
type Metrics struct {
	registry        *prometheus.Registry
	events          *prometheus.CounterVec
	accepted        *prometheus.CounterVec
	invalid         *prometheus.CounterVec
	settled         *prometheus.CounterVec
	attempts        *prometheus.CounterVec
	duration        *prometheus.HistogramVec
	deliveryLatency *prometheus.HistogramVec
	received        *prometheus.CounterVec
	handshakes      *prometheus.CounterVec
	publishing      prometheus.Histogram
	limited         prometheus.Counter
	localLimits     prometheus.Counter
	erasures        prometheus.Counter
	erased          prometheus.Counter
	abandoned       prometheus.Counter
	operational     *prometheus.CounterVec
	filtered        *prometheus.CounterVec
	filterErrors    *prometheus.CounterVec
	mails           *prometheus.CounterVec
	overLimit       *prometheus.CounterVec
	proxyFailures   prometheus.Counter
	initialized     sync.Map // products whose counters are exported
}

// seconds are histogram bounds from 1 ms to 60 s.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// New returns the metrics and registers them, with the Go runtime's and the process'.
func New() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, []string{"product"})
	}
	m := &Metrics{
		registry:        prometheus.NewRegistry(),
		events:          counter("hub_events_accepted_total", "Events accepted: durable, with response 202.", "product"),
		accepted:        counter("hub_deliveries_accepted_total", "Deliveries accepted, one for each receiver of an event.", "product"),
		invalid:         counter("hub_events_invalid_total", "Events whose data does not agree with the schema of their type, by what became of them (warned, refused; accepted: a hosted product's).", "product", "outcome"),
		settled:         counter("hub_deliveries_settled_total", "Deliveries that were delivered, parked or failed.", "product", "status"),
		attempts:        counter("hub_attempts_total", "Attempts made, by the class of the response (2xx, 4xx, …, none).", "product", "answer"),
		filtered:        counter("hub_deliveries_filtered_total", "Deliveries that were not made because the event does not match the endpoint's filter.", "product"),
		filterErrors:    counter("hub_filter_errors_total", "Deliveries that were not made because the endpoint's filter could not be evaluated for the event; hub_deliveries_filtered_total has them too.", "product"),
		operational:     counter("hub_operational_events_total", "Operational events published, by type: what happened to endpoints, integrations and keys.", "type"),
		overLimit:       counter("hub_publications_over_limit_total", "Publications refused because they would make too many deliveries (deliveries), or their filters cost too much (filters).", "product", "limit"),
		mails:           counter("hub_mails_settled_total", "Emails that were sent, or given up (failed): alerts, invitations and those of hosted products.", "status"),
		duration:        histogram("hub_attempt_duration_seconds", "Time of one attempt, from dialling to the end of the response."),
		deliveryLatency: histogram("hub_delivery_latency_seconds", "Time to deliver, from an event's acceptance or from sending it again."),
		received:        counter("hub_events_received_total", "Events that peers sent to a hosted product, by what became of them (accepted, duplicate, ignored, refused, failed).", "product", "outcome"),
		handshakes:      counter("hub_handshake_failures_total", "Handshakes of a hosted product that failed because of the peer, by step (status: nothing was stored; register: it is tried again).", "product", "step"),
		publishing: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hub_publish_duration_seconds", Help: "Time to make a publication durable.", Buckets: seconds}),
		limited: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hub_rate_limited_total", Help: "Requests with response 429."}),
		proxyFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hub_egress_proxy_failures_total", Help: "Attempts that failed because of the egress proxy."}),
		localLimits: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hub_rate_limit_local_total", Help: "Limits counted in this process alone because Redis did not respond."}),
		erasures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hub_erasures_total", Help: "Persons whose payloads were erased, except the events that asked for it."}),
		erased: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hub_payloads_erased_total", Help: "Payloads erased because they were about a person that was deleted."}),
		abandoned: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hub_targets_abandoned_total", Help: "Endpoints and integrations whose events make no deliveries any more, since they were not in use for 15 days."}),
	}
	m.registry.MustRegister(m.events, m.accepted, m.invalid, m.settled, m.attempts, m.duration, m.deliveryLatency, m.received, m.handshakes, m.publishing, m.limited, m.localLimits, m.erasures, m.erased, m.abandoned, m.operational, m.filtered, m.filterErrors, m.mails, m.proxyFailures, m.overLimit,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, eventType := range events.FromHub() {
		m.operational.WithLabelValues(eventType)
	}
	for _, status := range []string{mail.StatusSent, mail.StatusFailed} {
		m.mails.WithLabelValues(status)
	}
	return m
}

// CountAccepted counts a stored event and its deliveries.
func (m *Metrics) CountAccepted(product string, events, deliveries int) {
	if _, isInitialized := m.initialized.Load(product); !isInitialized {
		m.initialize(product)
	}
	m.events.WithLabelValues(product).Add(float64(events))
	m.accepted.WithLabelValues(product).Add(float64(deliveries))
}

// CountInvalid counts events whose data does not agree with the schema of their type. The
// outcomes are eventtype's.
func (m *Metrics) CountInvalid(product, outcome string, events int) {
	m.invalid.WithLabelValues(product, outcome).Add(float64(events))
}

// CountFiltered counts deliveries that were not made because of filters, and how many of them
// because of errors.
func (m *Metrics) CountFiltered(product string, unmatched, errors int) {
	m.filtered.WithLabelValues(product).Add(float64(unmatched))
	m.filterErrors.WithLabelValues(product).Add(float64(errors))
}

// Limits of one publishing request.
const (
	limitDeliveries = "deliveries"
	limitFilters    = "filters"
)

// CountTooManyDeliveries counts a request that was refused because it would make more
// deliveries than its tenant may make at once.
func (m *Metrics) CountTooManyDeliveries(product string) {
	m.overLimit.WithLabelValues(product, limitDeliveries).Inc()
}

// CountTooExpensiveFilters counts a request that was refused because of what its filters cost.
func (m *Metrics) CountTooExpensiveFilters(product string) {
	m.overLimit.WithLabelValues(product, limitFilters).Inc()
}

// initialize exports a product's counters at 0: to Prometheus a counter that appears at 1 is no
// increase, and no alert about a first failure would come.
func (m *Metrics) initialize(product string) {
	for _, status := range []delivery.Status{delivery.Delivered, delivery.Parked, delivery.Failed} {
		m.settled.WithLabelValues(product, status.String())
	}
	for _, outcome := range []string{eventtype.OutcomeWarned, eventtype.OutcomeRefused, eventtype.OutcomeAccepted} {
		m.invalid.WithLabelValues(product, outcome)
	}
	m.overLimit.WithLabelValues(product, limitDeliveries)
	m.overLimit.WithLabelValues(product, limitFilters)
	m.CountFiltered(product, 0, 0)
	m.initialized.Store(product, true)
}

// Outcomes of events that were not taken in; the others are inbox's.
const (
	OutcomeRefused = "refused" // by a rule: the peer's fault
	OutcomeFailed  = "failed"  // an error of ours: the peer sends again
)

// RegisterProduct shows a hosted product's counters at 0, for the same reason; outcomes are
// those of events that are taken in, steps those of handshakes.
func (m *Metrics) RegisterProduct(product string, outcomes, steps []string) {
	for _, outcome := range append([]string{OutcomeRefused, OutcomeFailed}, outcomes...) {
		m.received.WithLabelValues(product, outcome)
	}
	for _, step := range steps {
		m.handshakes.WithLabelValues(product, step)
	}
}

// CountReceived counts an event that a peer sent to a product.
func (m *Metrics) CountReceived(product, outcome string) {
	m.received.WithLabelValues(product, outcome).Inc()
}

// CountHandshakeFailure counts a handshake of a product that failed because of the peer.
func (m *Metrics) CountHandshakeFailure(product, step string) {
	m.handshakes.WithLabelValues(product, step).Inc()
}

// ObservePublish observes how long a publisher waited for the commit.
func (m *Metrics) ObservePublish(duration time.Duration) { m.publishing.Observe(duration.Seconds()) }

// CountLocalLimit counts a limit that was decided without Redis.
func (m *Metrics) CountLocalLimit() { m.localLimits.Inc() }

// CountAbandoned counts endpoints and integrations that stopped collecting.
func (m *Metrics) CountAbandoned(targets int) { m.abandoned.Add(float64(targets)) }

// CountOperational counts an operational event.
func (m *Metrics) CountOperational(eventType string) { m.operational.WithLabelValues(eventType).Inc() }

// CountMail counts an email that was sent or given up.
func (m *Metrics) CountMail(status string) { m.mails.WithLabelValues(status).Inc() }

// CountLimited counts a request answered 429.
func (m *Metrics) CountLimited() { m.limited.Inc() }

var answers = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// CountAttempts counts attempts that were stored.
func (m *Metrics) CountAttempts(batch []delivery.AttemptResult, now time.Time) {
	for i := range batch {
		a := &batch[i]
		product := a.Event.Product
		if a.Sent {
			m.attempts.WithLabelValues(product, answerClass(a.StatusCode)).Inc()
			m.duration.WithLabelValues(product).Observe(a.Phases.Total.Seconds())
		}
		if client.IsProxyFailure(a.Error) {
			m.proxyFailures.Inc()
		}
		if a.Decision.Status == delivery.Pending {
			continue
		}
		m.settled.WithLabelValues(product, a.Decision.Status.String()).Inc()
		if a.Decision.Status == delivery.Delivered {
			m.deliveryLatency.WithLabelValues(product).Observe(now.Sub(a.RoundAt).Seconds())
		}
	}
}

// CountErasedPayloads counts payloads that were erased.
func (m *Metrics) CountErasedPayloads(n int) { m.erased.Add(float64(n)) }

// CountErasedPerson counts an erasure of which nothing is left to do but to send its event.
func (m *Metrics) CountErasedPerson() { m.erasures.Inc() }

// CountFailedUnsent counts deliveries that failed without an attempt: because they were parked for
// too long, or erased.
func (m *Metrics) CountFailedUnsent(product string, deliveries int) {
	m.settled.WithLabelValues(product, delivery.Failed.String()).Add(float64(deliveries))
}

func answerClass(code int) string {
	if class := code / 100; class > 0 && class < len(answers) {
		return answers[class]
	}
	return answers[0]
}

// Gauge registers a value that is read when asked for.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Register adds a collector of its own.
func (m *Metrics) Register(c prometheus.Collector) { m.registry.MustRegister(c) }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
