package store

import (
	"time"

	"integrationhub/hub"
)

// Today returns the current date in a clinic's time zone, as midnight UTC. An unknown
// time zone is a [hub.ErrConflict]: the settings accept known ones only.
func Today(timezone string, now time.Time) (time.Time, error) {
	location, err := time.LoadLocation(timezone)
	if err != nil {
		return time.Time{}, hub.Errorf(hub.ErrConflict, "timezone_unknown", "The clinic's time zone is not known: give it another in its settings.")
	}
	return dateOf(now.In(location)), nil
}

// dateOf returns the date of an instant in its own location, as midnight UTC.
func dateOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
