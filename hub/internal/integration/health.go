package integration

import (
	"errors"
	"time"

	"integrationhub/hub"
)

const (
	maxProbeFailures  = 3              // in a row: then an active integration is failing
	minProbeSuccesses = 2              // in a row: then a failing one is active
	maxKeyRefusal     = 24 * time.Hour // then the integration is paused
)

// RecordProbe applies the result of a health probe: features are what the peer offers,
// nil if it did not respond, and err says what is wrong with it. Integrations that are not in use,
// or wait for a registration to be in use, keep their status.
func (i *Integration) RecordProbe(now time.Time, features []string, err error) {
	i.LastHealthCheck = &now
	if i.Status == StatusInactive || i.Status == StatusError && i.NextRegistrationAt != nil {
		return
	}
	switch {
	case err == nil:
		i.recordSuccess(features)
	case hub.HasCode(err, hub.CodePeerRateLimited): // a busy peer is a healthy one
	default:
		i.recordFailure(now, err)
	}
}

func (i *Integration) recordSuccess(features []string) {
	i.ProbeFailures, i.KeyRefusedSince = 0, nil
	if features != nil {
		i.Features = features
	}
	if i.Status == StatusActive {
		i.LastError = ""
		return
	}
	if i.ProbeSuccesses++; i.ProbeSuccesses >= minProbeSuccesses {
		i.Status, i.ProbeSuccesses, i.LastError = StatusActive, 0, ""
	}
}

func (i *Integration) recordFailure(now time.Time, err error) {
	i.ProbeFailures++
	i.ProbeSuccesses = 0
	i.LastError = FailureText(err)
	if !hub.HasCode(err, hub.CodeKeyRejected) {
		if i.Status == StatusActive && i.ProbeFailures >= maxProbeFailures {
			i.Status = StatusError
		}
		return
	}
	if i.KeyRefusedSince == nil {
		i.KeyRefusedSince = &now
	}
	i.Status = StatusError
	if now.Sub(*i.KeyRefusedSince) >= maxKeyRefusal {
		i.Status, i.NextProbeAt = StatusInactive, nil
	}
}

// FailureText returns a peer's failure in a sentence for people.
func FailureText(err error) string {
	var hubErr *hub.Error
	if errors.As(err, &hubErr) {
		return hubErr.Detail
	}
	return "The other product did not respond as documented."
}
