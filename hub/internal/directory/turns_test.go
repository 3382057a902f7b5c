package directory

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/module/turns"
)

// A tenant whose large data is being checked waits itself, and not the other tenants of its product.
func TestLargeDataOfATenant(t *testing.T) {
	t.Parallel()
	v := &Validation{
		texts: map[string]string{"a.b": `{"type":"string"}`}, share: eventtype.NewShare(), tenants: turns.New(largeLimits),
		compiled: make(map[string]*eventtype.Schema),
	}
	busy, other := uuid.New(), uuid.New()
	large := []byte(`"` + strings.Repeat("x", eventtype.LargeDataBytes) + `"`)
	leave, err := v.tenants.Enter(t.Context(), busy.String())
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check := func(tenant uuid.UUID, data []byte) error {
		_, err := v.Check(ended, tenant, "a.b", data, &eventtype.Allowance{})
		return err
	}
	require.ErrorIs(t, check(busy, large), hub.ErrUnavailable)
	require.NoError(t, check(busy, []byte(`"small"`)))
	require.NoError(t, check(other, large))
	leave()
	require.NoError(t, check(busy, large))
}
