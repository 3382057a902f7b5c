// Package limit counts requests against rates such as 100 a minute: in Redis, so
// that all replicas count together, and in this process where there is no Redis or
// it does not answer. It never keeps a request waiting for a Redis that is down.
package limit

import (
	"strconv"
	"strings"
	"time"

	"integrationhub/hub"
)

// maxLimit is the highest number of requests a rate may name.
const maxLimit = 1_000_000

// Rate is a number of requests in a period. The zero Rate limits nothing.
type Rate struct {
	Limit  int64 // requests; 0 = no limit
	Period time.Duration
}

// periods are the letters of the written form.
var periods = map[string]time.Duration{
	"S": time.Second,
	"M": time.Minute,
	"H": time.Hour,
	"D": 24 * time.Hour,
}

// ParseRate reads a rate as it is written everywhere: "100-M" is 100 requests a
// minute, S, H and D stand for second, hour and day, and "0" is no limit. Anything
// else is a [hub.ErrInvalid] that names location ("body.rate").
func ParseRate(location, text string) (Rate, error) {
	if text == "0" {
		return Rate{}, nil
	}
	number, letter, _ := strings.Cut(text, "-")
	n, _ := strconv.ParseUint(number, 10, 31) // 0 for what is no number, the largest for a larger one
	period := periods[letter]
	if n == 0 || n > maxLimit || period == 0 || number[0] == '0' {
		return Rate{}, hub.Invalid(location, `must be a rate such as "100-M" (S, M, H or D), or "0" for no limit`)
	}
	return Rate{Limit: int64(n), Period: period}, nil
}

// String writes the rate as [ParseRate] reads it.
func (r Rate) String() string {
	for letter, period := range periods {
		if r.Limit > 0 && r.Period == period {
			return strconv.FormatInt(r.Limit, 10) + "-" + letter
		}
	}
	return "0"
}
