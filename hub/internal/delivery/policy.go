package delivery

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryDelays are the pauses before the second, third and fourth attempt
// (docs/interfaces/clinic.md, "Retries").
var retryDelays = [...]time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

const (
	maxRetryAfter = time.Hour      // the longest Retry-After that is honoured
	maxDeferral   = 24 * time.Hour // how long a peer may put a delivery off in all
)

// Why a delivery is parked or failed.
const (
	ReasonRetriesExhausted    = "retries_exhausted"
	ReasonEndpointGone        = "gone"              // the endpoint answered 410
	ReasonDeferredTooLong     = "deferred_too_long" // Retry-After for 24 h
	ReasonEndpointDisabled    = "endpoint_disabled"
	ReasonEndpointDeleted     = "endpoint_deleted"
	ReasonPeerUnavailable     = "peer_unavailable"     // the integration is in error: redelivered when the peer is well
	ReasonIntegrationInactive = "integration_inactive" // redelivered when it is active again
	ReasonEventNotSent        = "event_not_sent"       // the peer's interface has no such event
	ReasonParkedTooLong       = "parked_too_long"      // parked for 15 days
	ReasonOtherAccount        = "other_account"        // the integration is with another account of its product by now
	ReasonErased              = "erased"               // the person it was about was deleted
)

// Response is what came of one attempt, as far as the policy cares.
type Response struct {
	Status     int    // 0 = no answer
	Complete   bool   // false: the answer did not end in time, or was broken
	RetryAfter string // the answer's header
}

// Decision is what an outcome means for the delivery.
type Decision struct {
	Status          Status
	Wait            time.Duration // pending: until the next attempt
	Spent           int           // attempts of this round used up so far
	Reason          string        // parked, failed
	DisableEndpoint bool          // the endpoint is to be disabled
	Healthy         bool          // the endpoint answers: feeds its breaker
}

// Decide decides about a delivery after an attempt. roundAt is when this round of
// attempts began and spent how many were used up before this one.
func Decide(o Response, spent int, roundAt, now time.Time) Decision {
	switch {
	case o.Complete && o.Status >= 200 && o.Status <= 299:
		return Decision{Status: Delivered, Spent: spent + 1, Healthy: true}
	case o.Complete && o.Status == http.StatusGone:
		return Decision{Status: Parked, Spent: spent + 1, Reason: ReasonEndpointGone, DisableEndpoint: true, Healthy: true}
	case o.Complete && (o.Status == http.StatusTooManyRequests || o.Status == http.StatusServiceUnavailable):
		if wait, ok := parseRetryAfter(o.RetryAfter, now); ok {
			if now.Add(wait).Sub(roundAt) > maxDeferral {
				return Decision{Status: Parked, Spent: spent, Reason: ReasonDeferredTooLong, Healthy: true}
			}
			return Decision{Status: Pending, Wait: wait, Spent: spent, Healthy: true}
		}
	}
	if spent < len(retryDelays) {
		return Decision{Status: Pending, Wait: retryDelays[spent], Spent: spent + 1}
	}
	return Decision{Status: Parked, Spent: spent + 1, Reason: ReasonRetriesExhausted}
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
