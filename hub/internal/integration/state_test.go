package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/events"
)

var (
	now   = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	later = now.Add(time.Minute)
)

// inState returns an integration in a state whose peer can be called.
func inState(t *testing.T, state State) *Integration {
	t.Helper()
	i := &Integration{Status: StatusInactive, APIURL: "https://peer.example/api/v1", RemoteKey: []byte("sealed"), Secret: []byte("sealed")}
	switch state {
	case StateConnecting:
		i.BeginHandshake(later)
	case StateActive:
		i.CompleteRegistration(now, later)
	case StateFailing:
		i.FailRegistration("reason")
	case StatePaused:
		i.CompleteRegistration(now, later)
		require.NoError(t, i.Disable())
	case StateRevoked:
		i.Revoke(now)
	}
	require.Equal(t, state, i.State())
	return i
}

var states = []State{StateConnecting, StateActive, StateFailing, StatePaused, StateDisconnected, StateRevoked}

// The table of transitions in the documentation of the states.
func TestTransitions(t *testing.T) {
	t.Parallel()
	always := func(state State) map[State]State {
		to := make(map[State]State, len(states))
		for _, from := range states {
			to[from] = state
		}
		return to
	}
	except := func(to map[State]State, from, state State) map[State]State {
		to[from] = state
		return to
	}
	keyRefused := hub.Errorf(hub.ErrInvalid, hub.CodeKeyRejected, "The key was refused.")
	for name, transition := range map[string]struct {
		apply func(*Integration)
		to    map[State]State
	}{
		"begin handshake":       {func(i *Integration) { i.BeginHandshake(later) }, except(except(always(StateConnecting), StateActive, StateActive), StatePaused, StatePaused)},
		"complete registration": {func(i *Integration) { i.CompleteRegistration(now, later) }, except(always(StateActive), StateRevoked, StateRevoked)},
		"fail registration":     {func(i *Integration) { i.FailRegistration("reason") }, except(always(StateFailing), StateRevoked, StateRevoked)},
		"accept registration":   {func(i *Integration) { i.AcceptRegistration(now, later) }, except(always(StateActive), StatePaused, StatePaused)},
		"disconnect":            {func(i *Integration) { i.Disconnect("reason") }, except(always(StateDisconnected), StateRevoked, StateRevoked)},
		"revoke":                {func(i *Integration) { i.Revoke(now) }, always(StateRevoked)},
		"disable": {func(i *Integration) { _ = i.Disable() }, map[State]State{
			StateConnecting: StateDisconnected, StateActive: StatePaused, StateFailing: StateDisconnected,
			StatePaused: StatePaused, StateDisconnected: StateDisconnected, StateRevoked: StateRevoked,
		}},
		"refused key": {func(i *Integration) { i.RecordProbe(now, nil, keyRefused) }, map[State]State{
			StateConnecting: StateConnecting, StateActive: StateFailing, StateFailing: StateFailing,
			StatePaused: StatePaused, StateDisconnected: StateDisconnected, StateRevoked: StateRevoked,
		}},
	} {
		for from, to := range transition.to {
			i := inState(t, from)
			transition.apply(i)
			require.Equal(t, to, i.State(), "%s from %s", name, from)
		}
	}
}

func TestEnable(t *testing.T) {
	t.Parallel()
	for _, state := range []State{StateConnecting, StateFailing, StatePaused, StateDisconnected} {
		i := inState(t, state)
		mustRegister, err := i.Enable(later)
		require.NoError(t, err)
		require.True(t, mustRegister, state)
		require.True(t, i.CanRegister(), state)

		i = inState(t, state)
		i.APIURL = ""
		mustRegister, err = i.Enable(later)
		require.NoError(t, err)
		require.False(t, mustRegister, "a peer that cannot be called")
		require.Equal(t, StateActive, i.State())
	}
	mustRegister, err := inState(t, StateActive).Enable(later)
	require.NoError(t, err)
	require.False(t, mustRegister)
	revoked := inState(t, StateRevoked)
	_, err = revoked.Enable(later)
	require.ErrorIs(t, err, hub.ErrConflict)
	require.ErrorIs(t, revoked.Disable(), hub.ErrConflict)
	require.ErrorIs(t, revoked.CanRotate(), hub.ErrConflict)
	require.Nil(t, revoked.Secret)
	require.Nil(t, revoked.RemoteKey)
}

// Three failures in a row fail an active integration, two successes in a row bring it
// back, and a busy peer counts as neither. A key that is refused for a day pauses it.
func TestRecordProbe(t *testing.T) {
	t.Parallel()
	failure := hub.Errorf(hub.ErrPeer, hub.CodePeerFailed, "It failed.")
	limited := hub.Errorf(hub.ErrPeer, hub.CodePeerRateLimited, "It is busy.")
	refused := hub.Errorf(hub.ErrInvalid, hub.CodeKeyRejected, "The key was refused.")
	i := inState(t, StateActive)
	for _, step := range []struct {
		err   error
		state State
	}{
		{failure, StateActive}, {failure, StateActive}, {nil, StateActive}, {failure, StateActive}, {limited, StateActive}, {failure, StateActive},
		{failure, StateFailing}, {nil, StateFailing}, {failure, StateFailing}, {nil, StateFailing}, {limited, StateFailing}, {nil, StateActive},
	} {
		i.RecordProbe(now, []string{"feature"}, step.err)
		require.Equal(t, step.state, i.State())
	}
	require.Equal(t, []string{"feature"}, i.Features)
	require.Empty(t, i.LastError)
	i.RecordProbe(now, nil, refused)
	require.Equal(t, []string{"feature"}, i.Features, "a peer that did not answer offers what it offered")
	i.RecordProbe(now.Add(24*time.Hour-time.Second), nil, refused)
	require.Equal(t, StateFailing, i.State())
	i.RecordProbe(now.Add(24*time.Hour), nil, refused)
	require.Equal(t, StatePaused, i.State())
	require.Nil(t, i.NextProbeAt)
}

// A registration that is due for an integration in use hides no failure of its peer. One that
// failed waits for its registration.
func TestRecordProbeBeforeARegistration(t *testing.T) {
	t.Parallel()
	i := inState(t, StateActive)
	i.ScheduleRegistration(now.Add(time.Hour))
	for range 3 {
		i.RecordProbe(now, nil, hub.Errorf(hub.ErrPeer, hub.CodePeerFailed, "It failed."))
	}
	require.Equal(t, StatusError, i.Status)
	i.RecordProbe(now, nil, nil)
	i.RecordProbe(now, nil, nil)
	require.Equal(t, StatusError, i.Status)
}

// Active, failing and paused integrations get every event that the peer's product accepts;
// abandoned ones only the deletion of a patient.
func TestAcceptedEvents(t *testing.T) {
	t.Parallel()
	for state, accepted := range map[State][]string{
		StateConnecting: nil, StateActive: {"patient.updated", events.TypePatientDeleted}, StateFailing: {"patient.updated", events.TypePatientDeleted},
		StatePaused: {"patient.updated", events.TypePatientDeleted}, StateDisconnected: nil, StateRevoked: nil,
	} {
		i := inState(t, state)
		peer := &Peer{Integration: *i, sends: []string{"patient.*"}}
		var got []string
		for _, eventType := range []string{"patient.updated", events.TypePatientDeleted, "message.sent"} {
			if i.HasSubscriptions() && peer.Accepts(eventType) {
				got = append(got, eventType)
			}
		}
		require.Equal(t, accepted, got, state)
		peer.AbandonedAt = new(time.Now())
		require.False(t, peer.Accepts("patient.updated"))
		require.True(t, peer.Accepts(events.TypePatientDeleted))
	}
}
