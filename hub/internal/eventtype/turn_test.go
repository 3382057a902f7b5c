package eventtype

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// A product checks large data of one event at a time and leaves the other place to others; what
// gets no turn holds nothing.
func TestLargeChecksTakeTurns(t *testing.T) { //nolint:paralleltest // it takes the process's places
	schema, err := Compile([]byte(`{"type":"string"}`))
	require.NoError(t, err)
	large := []byte(`"` + strings.Repeat("x", LargeDataBytes) + `"`)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	share, other := NewShare(), NewShare()
	refused := func(ctx context.Context, share *Share) {
		t.Helper()
		held := len(largeChecks)
		instances := len(schema.instances)
		_, err := schema.CheckWithin(ctx, large, &Allowance{}, share)
		var busy *hub.Error
		require.ErrorAs(t, err, &busy)
		require.ErrorIs(t, err, hub.ErrUnavailable)
		require.Equal(t, "busy", busy.Code)
		require.Equal(t, time.Second, busy.RetryAfter)
		require.Len(t, largeChecks, held)
		require.Len(t, schema.instances, instances)
	}
	checked := func(share *Share, data []byte) {
		t.Helper()
		violations, err := schema.CheckWithin(ended, data, &Allowance{}, share)
		require.NoError(t, err)
		require.Empty(t, violations)
	}

	checked(share, large)
	share.large <- struct{}{}
	refused(ended, share)
	checked(share, []byte(`"small"`))
	checked(other, large)
	<-share.large

	for range cap(largeChecks) {
		largeChecks <- struct{}{}
	}
	refused(ended, share)
	refused(t.Context(), share) // after some seconds
	checked(share, []byte(`"small"`))
	for range cap(largeChecks) {
		<-largeChecks
	}
	checked(share, large)
}

// No place is held by data that waits for its own product's schema.
func TestPlacesAreTakenLast(t *testing.T) { //nolint:paralleltest // it counts the process's places
	schema, err := Compile([]byte(`{"type":"string"}`))
	require.NoError(t, err)
	instances := make([]*instance, cap(schema.instances))
	for i := range instances {
		instances[i] = <-schema.instances
	}
	for range cap(largeChecks) { // whoever takes a place first waits for it
		largeChecks <- struct{}{}
	}
	done := make(chan error, 1)
	share := NewShare()
	go func() {
		_, err := schema.CheckWithin(context.Background(), []byte(`"`+strings.Repeat("x", LargeDataBytes)+`"`), &Allowance{}, share)
		done <- err
	}()
	require.Eventually(t, func() bool { return len(share.large) == 1 }, time.Minute, time.Millisecond)
	for _, own := range instances {
		schema.instances <- own
	}
	require.Eventually(t, func() bool { return len(schema.instances) == cap(schema.instances)-1 }, time.Minute, time.Millisecond, "it has an instance, and no place yet")
	for range cap(largeChecks) {
		<-largeChecks
	}
	require.NoError(t, <-done)
	require.Empty(t, largeChecks)
}
