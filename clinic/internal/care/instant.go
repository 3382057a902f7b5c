package care

import "time"

// ParseInstant parses an ISO 8601 date-time with its UTC offset; the seconds may be missing.
// ok is false for anything else, and for years before 1900 or after 9998 as written.
func ParseInstant(s string) (instant time.Time, ok bool) {
	instant, err := time.Parse(time.RFC3339, s)
	if err != nil {
		instant, err = time.Parse("2006-01-02T15:04Z07:00", s)
	}
	return instant.UTC(), err == nil && instant.Year() >= 1900 && instant.Year() <= 9998
}

// ParseLocalTime is [ParseInstant] for a date-time without an offset, which counts in a
// zone.
func ParseLocalTime(s string, zone *time.Location) (instant time.Time, ok bool) {
	local, err := time.ParseInLocation("2006-01-02T15:04:05", s, zone)
	if err != nil {
		local, err = time.ParseInLocation("2006-01-02T15:04", s, zone)
	}
	return local.UTC(), err == nil && local.Year() >= 1900 && local.Year() <= 9998
}

// The instants that JSON can represent (RFC 3339).
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// ClampInstant returns an instant in UTC, or the nearest one that JSON can represent, so
// that an answer with an odd time does not fail as a whole.
func ClampInstant(instant time.Time) time.Time {
	switch instant = instant.UTC(); {
	case instant.Before(earliest):
		return earliest
	case instant.After(latest):
		return latest
	}
	return instant
}
