package limit

import (
	"strconv"
	"time"

	"integrationhub/hub"
)

// SetHeaders sets the headers that describe the state of a caller's limit:
// RateLimit-Limit, -Remaining, -Reset (seconds) and -Policy, and Retry-After (seconds) on
// a refusal. Without a limit it sets nothing. set is fiber's Ctx.Set or the like.
func SetHeaders(set func(name, value string), r Result) {
	if r.Limit == 0 {
		return
	}
	limit, reset := strconv.FormatInt(r.Limit, 10), seconds(r.ResetAfter)
	set("RateLimit-Limit", limit)
	set("RateLimit-Remaining", strconv.FormatInt(r.Remaining, 10))
	set("RateLimit-Reset", reset)
	set("RateLimit-Policy", limit+";w="+seconds(r.Period))
	if !r.Allowed {
		set("Retry-After", reset)
	}
}

// Err returns nil for an allowed request and else the 429 with the time to wait.
func (r Result) Err() error {
	if r.Allowed {
		return nil
	}
	err := hub.Errorf(hub.ErrRateLimited, "rate_limited",
		"More than %d requests in %s seconds; try again in %s seconds.", r.Limit, seconds(r.Period), seconds(r.ResetAfter))
	err.RetryAfter = r.ResetAfter
	return err
}

// seconds writes a duration that is whole seconds.
func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
