package server

import (
	"context"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/internal/api"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/internal/tracing"
)

// pings publishes to one endpoint, regardless of its subscriptions.
type pings struct {
	directory *directory.Directory
	outbox    *outbox.Outbox
}

// PublishTo implements api.Publisher.
func (p pings) PublishTo(ctx context.Context, ping api.Ping) (string, error) {
	if err := p.directory.Refresh(ctx); err != nil {
		return "", err
	}
	endpoint, err := p.directory.Endpoint(ctx, ping.EndpointID)
	if err != nil {
		return "", err
	}
	if endpoint == nil {
		return "", hub.Errorf(hub.ErrNotFound, "not_found", "There is no such endpoint.")
	}
	result, err := p.outbox.Publish(ctx, &outbox.Publication{
		TenantID: ping.TenantID, Environment: ping.Environment, Product: hub.ProductHub, ExampleOf: ping.ExampleOf, Type: ping.EventType, Data: ping.Data,
		Targets: []*directory.Target{endpoint},
	})
	return result.ID, err
}

// timedPublisher measures how long publishers wait.
type timedPublisher struct {
	*outbox.Outbox
	metrics *metrics.Metrics
	tracer  *tracing.Tracer
}

// PublishAll implements gateway.Publisher.
func (t timedPublisher) PublishAll(ctx context.Context, publications []*outbox.Publication) ([]outbox.Result, error) {
	began := time.Now()
	span := t.tracer.StartCommit(ctx)
	results, err := t.Outbox.PublishAll(ctx, publications)
	span.End(err)
	t.metrics.ObservePublish(time.Since(began))
	return results, err
}
