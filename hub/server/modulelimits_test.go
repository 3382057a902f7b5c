package server

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/module"
)

// A product's limit by address holds for a client that uses all addresses of its IPv6 network.
func TestModuleLimitsOfIPv6Clients(t *testing.T) {
	t.Parallel()
	limits, err := newModuleLimits(limit.New(limit.Config{Log: slog.New(slog.DiscardHandler), OnLocalDecision: func() {}}), module.Spec{
		Name: "shop", Limits: []module.RateLimit{{Name: "bookings", Max: 2, Period: time.Hour}},
	}, nil)
	require.NoError(t, err)
	allow := func(subject string) error { return limits.Allow(t.Context(), "bookings", subject) }
	require.NoError(t, allow("2001:db8::1"))
	require.NoError(t, allow("2001:db8::2:3"))
	require.ErrorIs(t, allow("2001:db8:0:0:ffff::4"), hub.ErrRateLimited)
	require.NoError(t, allow("2001:db8:0:1::1"))
	require.NoError(t, allow("192.0.2.1"))
	require.NoError(t, allow("192.0.2.2"))
	require.NoError(t, allow("192.0.2.2"))
	require.ErrorIs(t, allow("192.0.2.2"), hub.ErrRateLimited)
}
