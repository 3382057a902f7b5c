package alerts_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/alerts"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/seal"
)

type anyURL struct{}

func (anyURL) CheckURL(_, raw string) (*url.URL, error) { return url.Parse(raw) }

// A tenant whose many endpoints all want operational events and all fail gets few deliveries for
// each, and these bit by bit; another tenant's signal does not wait for them.
func TestManyFailingEndpointsThatWantOperationalEvents(t *testing.T) {
	t.Parallel()
	const failing = 120
	p, log := newPlace(t), slog.New(slog.DiscardHandler)
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(t, err)
	known := directory.New(p.db, box, nil, log, p.clock.Now)
	events := outbox.New(p.db, known, delivery.NewDispatcher(delivery.Config{Now: p.clock.Now}), metrics.New(), log, p.clock.Now, 10_000)
	t.Cleanup(events.Close)
	published := 0
	publisher := alerts.NewPublisher(alerts.Config{
		DB: p.db, Outbox: events, Directory: known, Log: log, Now: p.clock.Now, FailingAfter: failingAfter, OnPublished: func(string) { published++ },
	})

	endpoints := registry.NewEndpoints(p.db, box, anyURL{}, p.clock.Now)
	create := func(tenant uuid.UUID, types ...string) error {
		_, _, err := endpoints.Create(t.Context(), tenant, hub.Live, registry.EndpointState{URL: "https://example.com", EventTypes: types, Enabled: true}, "")
		return err
	}
	for created := 0; created < failing; created++ {
		if err := create(p.tenant, "*", "hub.*"); err != nil {
			require.ErrorIs(t, err, hub.ErrInvalid)
			require.NoError(t, create(p.tenant, "*"))
		}
	}
	other := p.newTenant()
	require.NoError(t, create(other, "hub.*"))
	fail := func(tenant uuid.UUID) {
		p.exec(`insert into hub.endpoint_failures (endpoint_id, since, attempts) select id, $2, 9 from hub.endpoints where tenant_id = $1`, tenant, p.clock.Now().Add(-failingAfter))
		p.detect()
	}
	fail(p.tenant)
	fail(other)
	require.Equal(t, failing+1, p.count(`hub.signals`))

	deliveries := func(tenant uuid.UUID) int {
		return p.count(fmt.Sprintf(`hub.deliveries where tenant_id = '%s'`, tenant))
	}
	require.NoError(t, publisher.Tick(t.Context()))
	require.Equal(t, 1, deliveries(other), "behind all the others")
	require.Equal(t, alerts.SignalsPerTenant*registry.MaxOperationalEndpoints, deliveries(p.tenant))
	for range failing / alerts.SignalsPerTenant {
		require.NoError(t, publisher.Tick(t.Context()))
	}
	require.Zero(t, p.count(`hub.signals`))
	require.Equal(t, failing+1, published, "each is published")
	require.Equal(t, failing*registry.MaxOperationalEndpoints, deliveries(p.tenant))
}
