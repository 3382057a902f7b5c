package care

import "time"

// Instant reads a moment with its UTC offset, of the years 1900 to 9998.
func Instant(s string) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04Z07:00", s)
	}
	return at.UTC(), err == nil && at.Year() >= 1900 && at.Year() <= 9998
}

// What can be written as a moment in JSON.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// Moment is a moment in UTC as it can be written: one that lies outside the years of the
// calendar is the nearest that does not, so that what is around it can be seen.
func Moment(at time.Time) time.Time {
	switch at = at.UTC(); {
	case at.Before(earliest):
		return earliest
	case at.After(latest):
		return latest
	}
	return at
}
