package connect_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
)

// After an upgrade peers are registered with once more, for the events that the product
// receives now. They keep their key and secret, and an integration stays in use meanwhile.
func TestRegistrationsAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b, p := setup(t), newPeer(t)
	id := b.connected(p).ID
	first := p.seen("/webhook/register")[0].fields
	start := func() {
		t.Helper()
		require.NoError(t, b.ScheduleOutdated(ctx))
		require.NoError(t, b.RunDue(ctx))
	}
	start()
	require.Len(t, p.seen("/webhook/register"), 1, "the peer knows the list")

	receives := []string{"message.received", "patient.created", "patient.updated"}
	upgraded := func(cfg *connect.Config) {
		products := cfg.Products
		cfg.Products = func(name string) (connect.Product, bool) {
			product, hosted := products(name)
			product.Spec.Receives = receives
			return product, hosted
		}
	}
	b.Service = b.service(upgraded)
	p.set(func(p *plainPeer) { p.register = answering(503, `{}`) })
	start()
	require.Len(t, p.seen("/webhook/register"), 2)
	require.Equal(t, statusActive, b.get(id).Status, "a peer that does not answer now stays connected")
	p.set(func(p *plainPeer) { p.register = answering(200, `{}`) })
	b.later(59 * time.Second)
	require.Len(t, p.seen("/webhook/register"), 2)
	b.later(time.Second)
	calls := p.seen("/webhook/register")
	require.Len(t, calls, 3)
	require.Equal(t, []any{"message.received", "patient.created", "patient.updated"}, calls[2].fields["events"])
	require.Equal(t, first["webhook_secret"], calls[2].fields["webhook_secret"])
	require.Empty(t, calls[2].fields["api_key"], "the peer has its key")
	start()
	b.later(time.Hour)
	require.Len(t, p.seen("/webhook/register"), 3, "once")

	// What an earlier version registered is not known.
	_, err := b.db.Exec(ctx, `update hub.integrations set registered_events = null`)
	require.NoError(t, err)
	start()
	require.Len(t, p.seen("/webhook/register"), 4)
	start()
	require.Len(t, p.seen("/webhook/register"), 4)

	// Integrations that are not in use are left alone.
	_, err = b.Disable(ctx, id, integration.Filter{})
	require.NoError(t, err)
	_, err = b.db.Exec(ctx, `update hub.integrations set registered_events = null`)
	require.NoError(t, err)
	start()
	require.Len(t, p.seen("/webhook/register"), 4)
}

// The look at all integrations that a process begins with is costly. One that fails is made again
// later and later, until it has succeeded once.
func TestLookThatFailsWaitsLongerAndLonger(t *testing.T) {
	t.Parallel()
	b, p := setup(t), newPeer(t)
	b.connected(p)
	looks, receives := 0, "not\x00valid"
	service := b.service(func(cfg *connect.Config) {
		products := cfg.Products
		cfg.Products = func(name string) (connect.Product, bool) {
			looks++
			product, hosted := products(name)
			product.Spec.Receives = []string{receives}
			return product, hosted
		}
	})
	var outdated connect.Outdated
	for i, wait := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		require.Error(t, outdated.Look(t.Context(), service))
		require.Equal(t, i+1, looks)
		b.clock.Advance(time.Duration(wait)*time.Second - time.Millisecond)
		require.NoError(t, outdated.Look(t.Context(), service))
		require.Equal(t, i+1, looks, "it waits")
		b.clock.Advance(time.Millisecond)
	}
	receives = "message.received"
	for range 3 {
		require.NoError(t, outdated.Look(t.Context(), service))
		require.Equal(t, 9, looks)
		b.clock.Advance(time.Hour)
	}
}
