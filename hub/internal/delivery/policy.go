package delivery

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/logid"
)

// LastAttemptCount is the CountedAttempts of a delivery that gets a single attempt.
const LastAttemptCount = len(retryDelays)

// retryDelays are the pauses before the second, third and fourth attempt
// (docs/interfaces/clinic.md, "Retries").
var retryDelays = [...]time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

const (
	maxRetryAfter = time.Hour      // the longest Retry-After that is honoured
	maxDeferral   = 24 * time.Hour // how long a receiver may defer a delivery in total
)

// Reasons of parked and failed deliveries.
const (
	ReasonRetriesExhausted    = "retries_exhausted"
	ReasonGone                = "gone"              // the receiver responded 410, or it did before and the endpoint is disabled since
	ReasonDeferredTooLong     = "deferred_too_long" // Retry-After for 24 h
	ReasonDisabled            = "disabled"          // by a person; drained when it is enabled
	ReasonEndpointDeleted     = "endpoint_deleted"
	ReasonPeerUnavailable     = "peer_unavailable"     // the integration is in error: drained when the peer is well
	ReasonIntegrationInactive = "integration_inactive" // not by a person; drained when it is active again
	ReasonEventNotSent        = "event_not_sent"       // the connector has no such event
	ReasonExpired             = "expired"              // parked for 15 days
	ReasonReplayCancelled     = "replay_cancelled"     // its replay was cancelled before an attempt; not drained, unless others of its ordering key wait for it
	ReasonPayloadMissing      = "payload_missing"      // the log has no event for it
	ReasonOtherAccount        = "other_account"        // the integration is connected to another account by now
	ReasonDiscarded           = "discarded"            // by an administrator, so that others pass
	ReasonErased              = "erased"               // its payload was erased
)

// Response is the part of an HTTP response that the policy reads.
type Response struct {
	Status     int    // 0 = no response
	Complete   bool   // false: the response did not end in time, or was broken
	RetryAfter string // the header
}

// Decision is the delivery's next state.
type Decision struct {
	Status          Status
	Wait            time.Duration // pending: time until the next attempt
	CountedAttempts int           // attempts of this round that count
	Reason          string        // parked, failed
	DisableEndpoint bool          // the endpoint is to be disabled
	Healthy         bool          // the receiver answered as agreed, or asked to wait: closes its breaker
}

// Decide returns the decision about a delivery after an attempt. roundAt is when this round
// of attempts began, countedAttempts how many attempts of it counted before this one.
func Decide(response Response, countedAttempts int, roundAt, now time.Time) Decision {
	switch {
	case response.Complete && response.Status >= 200 && response.Status <= 299:
		return Decision{Status: Delivered, CountedAttempts: countedAttempts + 1, Healthy: true}
	case response.Status == http.StatusGone: // whatever became of the body: a 410 says all there is to know
		return Decision{Status: Parked, CountedAttempts: countedAttempts + 1, Reason: ReasonGone, DisableEndpoint: true, Healthy: true}
	case response.Complete && (response.Status == http.StatusTooManyRequests || response.Status == http.StatusServiceUnavailable):
		if wait, ok := parseRetryAfter(response.RetryAfter, now); ok {
			wait = lengthen(wait, now.Sub(roundAt))
			if now.Add(wait).Sub(roundAt) > maxDeferral {
				return Decision{Status: Parked, CountedAttempts: countedAttempts, Reason: ReasonDeferredTooLong, Healthy: true}
			}
			return Decision{Status: Pending, Wait: wait, CountedAttempts: countedAttempts, Healthy: true}
		}
	}
	if countedAttempts < len(retryDelays) {
		return Decision{Status: Pending, Wait: retryDelays[countedAttempts], CountedAttempts: countedAttempts + 1}
	}
	return Decision{Status: Parked, CountedAttempts: countedAttempts + 1, Reason: ReasonRetriesExhausted}
}

// deferralGrowth is the part of the time since a round began that a receiver is left alone
// for, whatever it asks for.
const deferralGrowth = 8

// lengthen returns how long to wait for a receiver that asks for wait, elapsed after the round
// began. A receiver that always asks for a second gets about 90 attempts in a day, not
// 86,400, each of which is in the log.
func lengthen(wait, elapsed time.Duration) time.Duration {
	longer := min(elapsed/deferralGrowth, maxRetryAfter, maxDeferral-elapsed)
	return max(wait, longer.Truncate(time.Second))
}

// parseRetryAfter reads seconds or an HTTP date, at least 1 s and at most 1 h.
func parseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	wait := maxRetryAfter
	if seconds, err := strconv.ParseUint(value, 10, 63); err == nil {
		if seconds < uint64(maxRetryAfter/time.Second) {
			wait = time.Duration(seconds) * time.Second
		}
	} else if date, err := http.ParseTime(value); err == nil {
		wait = date.Sub(now)
	} else if !isDigits(value) {
		return 0, false
	}
	return max(time.Second, min(wait, maxRetryAfter)), true
}

func isDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// decideUnsent returns the decision about a delivery whose target accepts none.
func decideUnsent(target *directory.Target, delivery LeasedDelivery) (Decision, bool) {
	countedAttempts := delivery.CountedAttempts
	switch {
	case target == nil:
		return Decision{Status: Failed, CountedAttempts: countedAttempts, Reason: ReasonEndpointDeleted}, true
	case target.Peer != nil && target.Peer.PredatesAccount(logid.Time(delivery.Event.Seq)):
		return Decision{Status: Failed, CountedAttempts: countedAttempts, Reason: ReasonOtherAccount}, true
	case target.Enabled:
		return Decision{}, false
	case target.IsGone:
		return Decision{Status: Parked, CountedAttempts: countedAttempts, Reason: ReasonGone}, true
	case target.Peer == nil || target.Peer.Disabled:
		return Decision{Status: Parked, CountedAttempts: countedAttempts, Reason: ReasonDisabled}, true
	case target.Peer.Status == integration.StatusInactive:
		return Decision{Status: Parked, CountedAttempts: countedAttempts, Reason: ReasonIntegrationInactive}, true
	default:
		return Decision{Status: Parked, CountedAttempts: countedAttempts, Reason: ReasonPeerUnavailable}, true
	}
}
