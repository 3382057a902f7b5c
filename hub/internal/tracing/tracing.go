// Package tracing sends spans of events to an OpenTelemetry collector: a span
// for each publication, for the commit it waited for, and for each attempt.
//
// It is off by default. A nil *Tracer and a nil *Span are what "off" is: their
// methods do nothing, allocate nothing and read no clock.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
)

// Tracer makes spans. Safe for concurrent use; nil makes none.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
}

// New returns a tracer that sends its spans to <endpoint>/v1/traces, in the
// background and in batches. A collector that does not answer costs spans and
// nothing else. For an empty endpoint it returns nil: tracing is off.
func New(ctx context.Context, endpoint, version string, log *slog.Logger) (*Tracer, error) {
	if endpoint == "" {
		return nil, nil
	}
	client, err := newClient(endpoint, os.Getenv(headersVariable))
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("preparing traces: %w", err)
	}
	service, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "integrationhub"), attribute.String("service.version", version)),
		resource.WithFromEnv()) // what operators say in OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES wins
	if err != nil {
		return nil, fmt.Errorf("preparing traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(&exporting{SpanExporter: exporter, log: log}), sdktrace.WithResource(service))
	return &Tracer{tracer: provider.Tracer("integrationhub"), provider: provider}, nil
}

// closeTimeout is how long a stopping hub waits for the collector.
const closeTimeout = 2 * time.Second

// Close sends what is left and ends the tracer.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has logged it
}

// exporting logs failures once a minute instead of leaving them to OpenTelemetry's
// global handler, which writes to standard error by itself.
type exporting struct {
	sdktrace.SpanExporter
	log        *slog.Logger
	complained atomic.Int64 // unix seconds
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e *exporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	now, last := time.Now().Unix(), e.complained.Load()
	if err != nil && now-last >= 60 && e.complained.CompareAndSwap(last, now) {
		e.log.Warn("the collector of traces does not take spans; they are dropped", "error", err, "spans", len(spans))
	}
	return nil
}

// Span is the span of a publication, or of the commit it waits for. Nil is none.
type Span struct {
	span trace.Span
	ctx  context.Context
}

// spanKey finds the span of a publication in its context.
type spanKey struct{}

// StartPublication begins the span of a publication. traceparent and tracestate are the
// publisher's headers (W3C Trace Context): where they are valid, the span is part
// of the publisher's trace, and its sampling is followed.
func (t *Tracer) StartPublication(traceparent, tracestate []byte) *Span {
	if t == nil {
		return nil
	}
	carrier := propagation.MapCarrier{"traceparent": string(traceparent), "tracestate": string(tracestate)}
	ctx := propagation.TraceContext{}.Extract(context.Background(), carrier)
	ctx, span := t.tracer.Start(ctx, "publish", trace.WithSpanKind(trace.SpanKindServer))
	return &Span{span: span, ctx: ctx}
}

// InContext is ctx with the span in it, for [Tracer.StartCommit].
func (s *Span) InContext(ctx context.Context) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, spanKey{}, s)
}

// SetEvents sets what a publication holds; eventType is "" for a batch.
func (s *Span) SetEvents(product, eventType string, count int) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("hub.product", product), attribute.Int("hub.events", count))
	if eventType != "" {
		s.span.SetAttributes(attribute.String("hub.event_type", eventType))
	}
}

// SetAccepted sets the id of an accepted event.
func (s *Span) SetAccepted(id string, deliveries int) {
	if s != nil {
		s.span.SetAttributes(attribute.String("hub.event_id", id), attribute.Int("hub.deliveries", deliveries))
	}
}

// Parent is what the attempts of the published events hang on; nil for none.
func (s *Span) Parent() *trace.SpanContext {
	if s == nil {
		return nil
	}
	parent := s.span.SpanContext()
	return &parent
}

// End ends the span. An error is recorded by its code, for its text may quote what
// was sent.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		code := "internal"
		if hubErr := (*hub.Error)(nil); errors.As(err, &hubErr) {
			code = hubErr.Code
		}
		s.span.SetStatus(codes.Error, code)
	}
	s.span.End()
}

// StartCommit begins the span of the commit that a publication waits for; the span of
// the publication is in ctx.
func (t *Tracer) StartCommit(ctx context.Context) *Span {
	if t == nil {
		return nil
	}
	publication, ok := ctx.Value(spanKey{}).(*Span)
	if !ok {
		return nil
	}
	inner, span := t.tracer.Start(publication.ctx, "commit")
	return &Span{span: span, ctx: inner}
}

// RecordAttempts records spans of stored attempts. First attempts made by the process
// that accepted the event belong to the publication's trace. Others, retries and
// those another process made, begin traces of their own; hub.event_id and
// hub.delivery_id are the same in all.
func (t *Tracer) RecordAttempts(batch []delivery.AttemptResult) {
	if t == nil {
		return
	}
	for i := range batch {
		if batch[i].Sent {
			t.attempt(&batch[i])
		}
	}
}

func (t *Tracer) attempt(a *delivery.AttemptResult) {
	ctx := context.Background()
	if parent := a.Event.Trace; parent != nil {
		ctx = trace.ContextWithSpanContext(ctx, *parent)
	}
	_, span := t.tracer.Start(ctx, "attempt", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(a.StartedAt))
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("hub.product", a.Event.Product),
			attribute.String("hub.event_type", a.Event.Type),
			attribute.String("hub.event_id", a.Event.ID),
			attribute.String("hub.delivery_id", a.ID.String()),
			attribute.String("hub.target_id", a.TargetID.String()),
			attribute.String("hub.delivery_status", a.Decision.Status.String()),
			attribute.Int("hub.attempt", a.PriorAttempts+1),
			attribute.Int64("hub.queue_us", a.QueueTime.Microseconds()),
			attribute.Int64("hub.dns_us", a.Phases.DNS.Microseconds()),
			attribute.Int64("hub.connect_us", a.Phases.Connect.Microseconds()),
			attribute.Int64("hub.tls_us", a.Phases.TLS.Microseconds()),
			attribute.Int64("hub.first_byte_us", a.Phases.FirstByte.Microseconds()),
		)
		if a.StatusCode != 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", a.StatusCode))
		}
		if a.Decision.Status != delivery.Delivered {
			span.SetStatus(codes.Error, a.Error)
		}
	}
	span.End(trace.WithTimestamp(a.StartedAt.Add(a.Phases.Total)))
}
