package api

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// optional is a member of a body that may be absent, null or have a value.
type optional[T any] = rest.Optional[T]

// fieldErrors gathers what is wrong with a request.
type fieldErrors struct{ rest.FieldErrors }

// merge takes over what the rules found.
func (f *fieldErrors) merge(err error) error {
	var invalid *hub.Error
	if errors.As(err, &invalid) && errors.Is(err, hub.ErrInvalid) {
		f.FieldErrors = append(f.FieldErrors, invalid.Fields...)
		return nil
	}
	return err
}

var colorPattern = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

func (f *fieldErrors) checkColor(s, location string) {
	f.Check(colorPattern.MatchString(s), location, "must be a color in the form #RRGGBB")
}

func (f *fieldErrors) checkPhone(s *string) {
	if s == nil {
		return
	}
	f.Check(booking.ValidPhone(*s), "body.phone", "must be a phone number of 8 to 15 digits")
}

// checkAmount checks that an amount that was sent exists in a currency.
func (f *fieldErrors) checkAmount(amount optional[booking.Cents], currency, location string) {
	f.Check(!amount.HasValue() || amount.Value.Payable(currency), location, "must not have decimals in this currency")
}

// newIdempotencyKey makes a request with an Idempotency-Key count once; nil without a key.
func newIdempotencyKey(operation, key string, request any) (*store.IdempotencyKey, error) {
	if key == "" {
		return nil, nil
	}
	raw, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encoding a request: %w", err)
	}
	sum := sha256.Sum256(raw)
	return &store.IdempotencyKey{Operation: operation, Key: key, RequestHash: sum[:]}, nil
}

// parseInstant reads a moment with its offset from a body.
func parseInstant(location, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		if t, err = time.Parse("2006-01-02T15:04Z07:00", s); err != nil {
			return t, hub.Invalid(location, "needs a UTC offset: must be an ISO 8601 date-time such as 2026-03-02T09:00:00-03:00")
		}
	}
	if t.Year() < 1970 || t.Year() > 9998 || t.Nanosecond() != 0 {
		return t, hub.Invalid(location, "is out of range")
	}
	return t, nil
}

// parseDate reads a day.
func parseDate(location, s string) (booking.Date, error) {
	d, err := booking.ParseDate(s)
	if err != nil || d.Time().Year() < 1900 || d.Time().Year() > 9998 {
		return 0, hub.Invalid(location, "must be YYYY-MM-DD")
	}
	return d, nil
}

// parseMonth reads the month of a query and gives its days; "" is the month of now.
func parseMonth(s string, now time.Time, zone *time.Location) (first, last booking.Date, err error) {
	if s == "" {
		s = now.In(zone).Format("2006-01")
	}
	first, last, err = booking.ParseMonth(s)
	if err != nil || first.Time().Year() < 1900 || first.Time().Year() > 9998 {
		return 0, 0, hub.Invalid("query.month", "must be YYYY-MM")
	}
	return first, last, nil
}

// dayBounds are the first instant of a day and the end of another.
func dayBounds(first, last booking.Date, zone *time.Location) (since, until time.Time) {
	return booking.DayStart(zone, first), booking.DayStart(zone, last+1)
}

func inZone(t *time.Time, zone *time.Location) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	there := t.In(zone)
	return &there
}

func valueOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
