package outbox

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/metrics"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// One request whose data PostgreSQL refuses must not cost its neighbours in the
// same commit their idempotency keys.
func TestKeysSurviveARefusedNeighbour(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	log := slog.New(slog.DiscardHandler)
	dir := directory.New(pool, nil, nil, log, time.Now) // no endpoints, no secrets
	o := New(pool, dir, delivery.NewDispatcher(delivery.Config{Now: time.Now}), metrics.New(), log, time.Now)
	t.Cleanup(o.Close)
	keyed := &lane{Outbox: o}
	tenant := uuid.New()
	publish := func(key, correlation string) *request {
		return &request{done: make(chan error, 1), publications: []*Publication{{
			TenantID: tenant, Environment: hub.Live, Product: "test", Type: "a.b", CorrelationID: correlation,
			Data: []byte(`{}`), Idempotency: key, To: []*directory.Target{},
		}}}
	}
	good, bad := publish("key:good", ""), publish("key:bad", "no text has a \x00 in it")
	keyed.commitKeyed(context.Background(), []*request{good, bad})
	require.NoError(t, <-good.done)
	require.Error(t, <-bad.done)

	again := publish("key:good", "")
	keyed.commitKeyed(context.Background(), []*request{again})
	require.NoError(t, <-again.done)
	require.True(t, again.results[0].Duplicate)
	require.Equal(t, good.results[0].ID, again.results[0].ID)
}
