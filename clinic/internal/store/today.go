package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
)

// Today returns the current date in a clinic's time zone, as midnight UTC. An unknown
// time zone is a [hub.ErrConflict]: the settings accept known ones only.
func Today(timezone string, now time.Time) (time.Time, error) {
	zone, err := loadZone(timezone)
	if err != nil {
		return time.Time{}, err
	}
	return dateOf(now.In(zone)), nil
}

func loadZone(timezone string) (*time.Location, error) {
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return nil, hub.Errorf(hub.ErrConflict, "timezone_unknown", "The clinic's time zone is not known: give it another in its settings.")
	}
	return zone, nil
}

// CompleteDatetime returns a date-time with the offset of the clinic's time zone if it
// lacks one, and any other text unchanged. Errors like [Today].
func (s *Store) CompleteDatetime(ctx context.Context, clinic uuid.UUID, datetime string) (string, error) {
	return completeDatetime(ctx, s.Queries, clinic, datetime)
}

// CompleteDatetime is [Store.CompleteDatetime] in the transaction.
func (t *Tx) CompleteDatetime(ctx context.Context, clinic uuid.UUID, datetime string) (string, error) {
	return completeDatetime(ctx, t.Queries, clinic, datetime)
}

func completeDatetime(ctx context.Context, q *dbgen.Queries, id uuid.UUID, datetime string) (string, error) {
	if _, lacksOffset := care.ParseLocalTime(datetime, time.UTC); !lacksOffset {
		return datetime, nil
	}
	clinic, err := q.Clinic(ctx, id)
	if err != nil {
		return "", err
	}
	zone, err := loadZone(clinic.Timezone)
	if err != nil {
		return "", err
	}
	instant, _ := care.ParseLocalTime(datetime, zone)
	return instant.In(zone).Format(time.RFC3339), nil
}

// dateOf returns the date of an instant in its own location, as midnight UTC.
func dateOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
