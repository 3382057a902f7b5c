package integration

import (
	"time"

	"integrationhub/hub"
)

// Status is the coarse state that the API, the console and the metrics show.
type Status string

// The statuses.
const (
	StatusActive   Status = "active"
	StatusInactive Status = "inactive" // the states connecting, paused, disconnected and revoked
	StatusError    Status = "error"    // the state failing
)

// State is the exact state of an integration, derived from its stored fields.
type State string

// The states and the transitions that leave them.
//
//	from          method                 to
//	any           BeginHandshake         connecting; active and paused stay
//	not revoked   CompleteRegistration   active
//	not revoked   FailRegistration       failing
//	any           AcceptRegistration     active; paused while disabled
//	active        RecordProbe            failing after 3 failures, at once for a refused key
//	failing       RecordProbe            active after 2 successes; paused when the key is refused for a day
//	not revoked   Disconnect             disconnected
//	not revoked   Disable                paused; disconnected without a registration
//	not revoked   Enable                 active when the peer cannot be called; else a registration is due
//	any           Revoke                 revoked
const (
	// StateConnecting is a first handshake whose registration has no result yet.
	StateConnecting State = "connecting"
	// StateActive integrations exchange events and calls.
	StateActive State = "active"
	// StateFailing integrations have a registration or health checks that fail. Both are
	// retried. Deliveries are parked until the integration is active again.
	StateFailing State = "failing"
	// StatePaused integrations are registered but not in use until an administrator enables or
	// connects them: an administrator disabled them, or the peer refused the key for a day.
	StatePaused State = "paused"
	// StateDisconnected integrations have no registration on either side: the peer ended
	// them, or they were disabled before a registration succeeded.
	StateDisconnected State = "disconnected"
	// StateRevoked integrations were ended by our side: their secrets and keys are gone.
	// A new handshake reuses the id.
	StateRevoked State = "revoked"
)

// State returns the integration's exact state.
func (i *Integration) State() State {
	switch {
	case i.RevokedAt != nil:
		return StateRevoked
	case i.Status == StatusActive:
		return StateActive
	case i.Status == StatusError:
		return StateFailing
	case i.isRegistered():
		return StatePaused
	case i.NextRegistrationAt != nil:
		return StateConnecting
	}
	return StateDisconnected
}

// BeginHandshake puts the integration into use, disabled and revoked ones too. An
// active integration stays active with what is in force until the registration
// succeeds. The registration falls due at retryAt in case this process dies.
func (i *Integration) BeginHandshake(retryAt time.Time) {
	i.Disabled, i.RevokedAt, i.LastError, i.KeyRefusedSince = false, nil, "", nil
	if i.Status != StatusActive {
		i.Status = StatusInactive
	}
	i.RegistrationFailures, i.NextProbeAt, i.NextRegistrationAt = 0, nil, &retryAt
}

// ScheduleRegistration makes our registration with the peer due at a time.
func (i *Integration) ScheduleRegistration(at time.Time) { i.NextRegistrationAt = &at }

// CompleteRegistration makes the integration active: the peer took our registration.
// A registration that was scheduled meanwhile stays due.
func (i *Integration) CompleteRegistration(now, nextProbe time.Time) {
	i.Status, i.LastError, i.RegistrationFailures, i.RegisteredAt = StatusActive, "", 0, &now
	i.ProbeFailures, i.ProbeSuccesses, i.KeyRefusedSince, i.NextProbeAt = 0, 0, nil, &nextProbe
}

// FailRegistration records that the peer did not take our registration. The caller
// schedules the next try.
func (i *Integration) FailRegistration(reason string) {
	i.Status, i.LastError, i.NextProbeAt = StatusError, reason, nil
	i.RegistrationFailures++
}

// OverlapsSecrets reports whether an integration in use accepts two secrets, of which either may
// be the peer's: the one before is still valid, or a rotation has not ended. A registration of
// ours that fails puts neither out of force.
func (i *Integration) OverlapsSecrets(now time.Time) bool {
	if len(i.PendingSecret) > 0 {
		return i.Status == StatusActive && i.RotationOverlap != nil
	}
	return i.Status == StatusActive && i.PreviousSecretExpiresAt != nil && now.Before(*i.PreviousSecretExpiresAt)
}

// PostponeRefresh records that the peer did not take a registration for other events, or of the
// secret in force. The integration stays in use as it is.
func (i *Integration) PostponeRefresh(at time.Time) {
	i.RegistrationFailures++
	i.ScheduleRegistration(at)
}

// AcceptRegistration records that the peer registered with us. That also ends the
// retries of a registration of ours that failed. A disabled integration stays paused.
func (i *Integration) AcceptRegistration(now, nextProbe time.Time) {
	i.PeerRegisteredAt, i.RevokedAt, i.KeyRefusedSince = &now, nil, nil
	if i.RegistrationFailures > 0 {
		i.NextRegistrationAt, i.RegistrationFailures, i.PendingLocalKey, i.PendingLocalKeyID = nil, 0, nil, nil
	}
	if i.Disabled {
		return
	}
	i.Status, i.LastError, i.ProbeFailures, i.ProbeSuccesses = StatusActive, "", 0, 0
	if i.IsReachable() && i.NextRegistrationAt == nil {
		i.NextProbeAt = &nextProbe
	}
}

// Disconnect ends the integration from the peer's side: neither side holds the other's
// registration any more. Secrets and keys stay, so that the peer can register again.
func (i *Integration) Disconnect(reason string) {
	i.deactivate(reason)
	i.RegisteredAt, i.PeerRegisteredAt = nil, nil
}

// Disable stops the integration until it is enabled or connected again. A revoked one
// is a [hub.ErrConflict].
func (i *Integration) Disable() error {
	if i.RevokedAt != nil {
		return errRevoked()
	}
	i.Disabled = true
	i.deactivate("")
	return nil
}

// Enable puts a paused, failing or disconnected integration back into use. It reports
// whether the peer must be registered with first, which falls due at retryAt in case
// this process dies. A peer that cannot be called is active at once. An active
// integration is left alone; a revoked one is a [hub.ErrConflict].
func (i *Integration) Enable(retryAt time.Time) (mustRegister bool, err error) {
	switch i.State() {
	case StateRevoked:
		return false, errRevoked()
	case StateActive:
		return false, nil
	}
	i.Disabled, i.LastError, i.KeyRefusedSince = false, "", nil
	if !i.IsReachable() {
		i.Status = StatusActive
		return false, nil
	}
	i.NextRegistrationAt, i.RegistrationFailures = &retryAt, 0
	return true, nil
}

// SetOrdered sets whether the peer gets the events of one ordering key one at a time, and
// reports whether that changed. A revoked integration is a [hub.ErrConflict].
func (i *Integration) SetOrdered(ordered bool) (changed bool, err error) {
	if i.RevokedAt != nil {
		return false, errRevoked()
	}
	changed = i.Ordered != ordered
	i.Ordered = ordered
	return changed, nil
}

// CanRotate returns nil when the webhook secret may be rotated, else a
// [hub.ErrConflict].
func (i *Integration) CanRotate() error {
	switch {
	case i.RevokedAt != nil:
		return errRevoked()
	case i.Disabled || i.Status == StatusInactive:
		return hub.Errorf(hub.ErrConflict, "integration_inactive", "This integration is inactive; enable it first.")
	}
	return nil
}

// CanCall returns nil when calls may be made to the peer, else a [hub.ErrConflict].
func (i *Integration) CanCall() error {
	if i.Status == StatusInactive {
		return hub.Errorf(hub.ErrConflict, "integration_inactive", "This integration is inactive; an administrator can enable it (hub integrations enable ID, or the console), or connect again if it was revoked.")
	}
	return nil
}

// CanRegister reports whether a due registration of ours may still be carried out.
func (i *Integration) CanRegister() bool {
	return i.NextRegistrationAt != nil && !i.Disabled && i.RevokedAt == nil
}

// Revoke ends the integration from our side and drops its secrets and keys.
func (i *Integration) Revoke(now time.Time) {
	i.deactivate("")
	i.RevokedAt, i.RegisteredAt, i.PeerRegisteredAt = &now, nil, nil
	i.Secret, i.PreviousSecret, i.PreviousSecretExpiresAt, i.PendingSecret = nil, nil, nil, nil
	i.RemoteKey, i.PreviousRemoteKey, i.IsLink = nil, nil, false
	i.PendingLocalKey, i.PendingLocalKeyID = nil, nil
}

// deactivate makes the integration inactive: nothing is probed, retried or sent.
func (i *Integration) deactivate(reason string) {
	i.Status, i.NextRegistrationAt, i.NextProbeAt, i.LastError = StatusInactive, nil, nil, reason
}

func errRevoked() *hub.Error {
	return hub.Errorf(hub.ErrConflict, "integration_revoked", "This integration was revoked; connect again instead.")
}
