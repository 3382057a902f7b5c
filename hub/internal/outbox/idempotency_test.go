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
	o := New(pool, dir, delivery.NewDispatcher(delivery.Config{Now: time.Now}), metrics.New(), log, time.Now, 10_000)
	t.Cleanup(o.Close)
	keyed := &committer{outbox: o}
	tenant := uuid.New()
	publish := func(key, correlation string) *request {
		return &request{done: make(chan error, 1), publications: []*Publication{{
			TenantID: tenant, Environment: hub.Live, Product: "test", Type: "a.b", CorrelationID: correlation,
			Data: []byte(`{}`), IdempotencyKey: key, Targets: []*directory.Target{},
		}}}
	}
	good, bad := publish("key:good", ""), publish("key:bad", "no text has a \x00 in it")
	keyed.commitIdempotent(context.Background(), []*request{good, bad}, divertTenants)
	require.NoError(t, <-good.done)
	require.Error(t, <-bad.done)

	again := publish("key:good", "")
	keyed.commitIdempotent(context.Background(), []*request{again}, divertTenants)
	require.NoError(t, <-again.done)
	require.True(t, again.results[0].Duplicate)
	require.Equal(t, good.results[0].ID, again.results[0].ID)
}

// Whoever publishes while the hub stops gets a result: the commit's, or that the
// hub is unavailable.
func TestPublishingAfterTheEndIsRefused(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	log := slog.New(slog.DiscardHandler)
	dir := directory.New(pool, nil, nil, log, time.Now)
	o := New(pool, dir, delivery.NewDispatcher(delivery.Config{Now: time.Now}), metrics.New(), log, time.Now, 10_000)
	publish := func(key string) error {
		_, err := o.Publish(context.Background(), &Publication{
			TenantID: uuid.New(), Environment: hub.Live, Product: "test", Type: "a.b", Data: []byte(`{}`), IdempotencyKey: key, Targets: []*directory.Target{},
		})
		return err
	}
	require.NoError(t, publish(""))
	answered := make(chan error, 64)
	for range cap(answered) {
		go func() { answered <- publish("") }()
	}
	o.Close()
	stored := 1
	for range cap(answered) {
		if err := <-answered; err == nil {
			stored++
		} else {
			require.ErrorIs(t, err, hub.ErrUnavailable)
		}
	}
	var events int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from hub.events`).Scan(&events))
	require.Equal(t, stored, events)
	for _, key := range []string{"", "key:k"} {
		require.ErrorIs(t, publish(key), hub.ErrUnavailable)
	}
	// One that passed the first look just before the end, and reached the queue after it.
	late := &request{done: make(chan error, 1), publications: []*Publication{{}}}
	require.True(t, o.plain.push(late))
	require.ErrorIs(t, o.awaitCommit(late), hub.ErrUnavailable)
	late.done <- nil
	require.NoError(t, o.awaitCommit(late), "a result there is counts")
}
