package connect_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/integration"
)

// statuses reads what the metrics say of the product "clinic".
func (b *bundle) statuses() map[string]float64 {
	b.t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(connect.NewStatusCollector(b.db, b.clock.Now))
	families, err := registry.Gather()
	require.NoError(b.t, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			require.Equal(b.t, "clinic", labels["product"])
			found[labels["status"]] = metric.GetGauge().GetValue()
		}
	}
	return found
}

// Handshakes that a peer fails are counted by their step, and integrations counted by
// their status.
func TestFailuresAndStatusesAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Empty(t, b.statuses())
	p := newPeer(t)
	b.connected(p)
	require.Empty(t, b.failed)
	require.Equal(t, map[string]float64{"active": 1, "inactive": 0, "error": 0}, b.statuses())

	strange := b.request(p)
	strange.Product = "scheduling"
	_, err := b.Connect(context.Background(), strange)
	require.Error(t, err)
	require.Equal(t, []string{"clinic status"}, b.failed)

	own := b.request(p)
	own.LocalProduct = "nobody's"
	_, err = b.Connect(context.Background(), own)
	require.ErrorIs(t, err, hub.ErrInvalid)
	require.Len(t, b.failed, 1, "that was not the peer's fault")

	p.set(func(p *plainPeer) { p.register = answering(500, `{}`) })
	made, err := b.Connect(context.Background(), b.request(p))
	require.NoError(t, err)
	require.Equal(t, statusError, made.Status)
	require.Equal(t, []string{"clinic status", "clinic register"}, b.failed)
	require.Equal(t, map[string]float64{"active": 0, "inactive": 0, "error": 1}, b.statuses())

	_, err = b.Disable(context.Background(), made.ID, integration.Filter{})
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"active": 0, "inactive": 1, "error": 0}, b.statuses())
}
