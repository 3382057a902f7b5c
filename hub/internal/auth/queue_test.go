package auth_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/auth"
)

// waitAtGate starts waiters, one after the other, each for the name it has: names in capitals
// are known. It returns what receives the name of each that has its turn, which frees its slot.
func waitAtGate(t *testing.T, gate *auth.Gate, names ...string) <-chan string {
	t.Helper()
	turns := make(chan string, len(names))
	for _, name := range names {
		waiting := gate.Waiting()
		go func() {
			release, err := gate.Acquire(t.Context(), strings.ToUpper(name) == name, name)
			if err != nil {
				turns <- err.Error()
				return
			}
			turns <- name
			release()
		}()
		require.Eventually(t, func() bool { return gate.Waiting() == waiting+1 }, time.Minute, 100*time.Microsecond)
	}
	return turns
}

func receiveTurns(turns <-chan string) string {
	var order []string
	for range cap(turns) {
		order = append(order, <-turns)
	}
	return strings.Join(order, " ")
}

func TestAddressesTakeTurnsAtTheGate(t *testing.T) {
	t.Parallel()
	gate := auth.NewGate(1, 1)
	release, err := gate.Acquire(t.Context(), false, "a")
	require.NoError(t, err)
	turns := waitAtGate(t, gate, "a", "a", "a", "a", "b", "c", "b")
	release()
	require.Equal(t, "a b c a b a a", receiveTurns(turns))
}

// Known requesters go first, and a stranger after every third of them.
func TestKnownRequestersGoFirst(t *testing.T) {
	t.Parallel()
	gate := auth.NewGate(1, 1)
	release, err := gate.Acquire(t.Context(), false, "a")
	require.NoError(t, err)
	turns := waitAtGate(t, gate, "a", "b", "A", "A", "B", "A", "A")
	release()
	require.Equal(t, "A B A a A A b", receiveTurns(turns))
}

// Strangers never have all slots.
func TestStrangersLeaveASlot(t *testing.T) {
	t.Parallel()
	gate := auth.NewGate(2, 1)
	releaseStranger, err := gate.Acquire(t.Context(), false, "a")
	require.NoError(t, err)
	turns := waitAtGate(t, gate, "b", "c")
	releaseKnown, err := gate.Acquire(t.Context(), true, "A")
	require.NoError(t, err)
	releaseKnown()
	require.Equal(t, 2, gate.Waiting())
	releaseStranger()
	require.Equal(t, "b c", receiveTurns(turns))
}

// Only some of an address may wait. Known requesters are not refused, and a waiter whose
// context ends leaves its place.
func TestStrangersAreRefusedWhenTooManyWait(t *testing.T) {
	t.Parallel()
	gate := auth.NewGate(1, 1)
	release, err := gate.Acquire(t.Context(), false, "a")
	require.NoError(t, err)
	turns := waitAtGate(t, gate, strings.Fields(strings.Repeat("a ", 32))...)
	_, err = gate.Acquire(t.Context(), false, "a")
	require.ErrorIs(t, err, hub.ErrUnavailable)
	known := waitAtGate(t, gate, strings.Fields(strings.Repeat("A ", 40))...)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := gate.Acquire(ctx, false, "b")
		gone <- err
	}()
	require.Eventually(t, func() bool { return gate.Waiting() == 73 }, time.Minute, 100*time.Microsecond)
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.Equal(t, 72, gate.Waiting())
	release()
	require.NotContains(t, receiveTurns(turns), "busy")
	require.NotContains(t, receiveTurns(known), "context")
	require.Zero(t, gate.Waiting())
	release, err = gate.Acquire(t.Context(), false, "c")
	require.NoError(t, err, "every slot was returned")
	release()
}
