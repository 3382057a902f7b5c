package api

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/module/rest"
	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/store"
)

// optional is a body member that may be absent.
type optional[T any] = rest.Optional[T]

// nullable is a body member that may be absent, null or set.
type nullable[T any] = rest.Nullable[T]

// fieldErrors collects the validation errors of a request.
type fieldErrors struct{ rest.FieldErrors }

// merge adds the field errors of a domain validation. It returns any other error
// unchanged.
func (errs *fieldErrors) merge(err error) error {
	var ruleErr *hub.Error
	if errors.As(err, &ruleErr) && errors.Is(err, hub.ErrInvalid) {
		errs.FieldErrors = append(errs.FieldErrors, ruleErr.Fields...)
		return nil
	}
	return err
}

var colorPattern = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

func (errs *fieldErrors) checkColor(color, location string) {
	errs.Check(colorPattern.MatchString(color), location, "must be a color in the form #RRGGBB")
}

// maxName is the most characters of a name.
const maxName = 120

// checkName checks a name. A stored name that the request keeps may be older than the rule
// about control characters.
func (errs *fieldErrors) checkName(isSet bool, name string) {
	if isSet {
		errs.CheckName(name, "body.name", maxName)
		return
	}
	errs.CheckLength(name, "body.name", 1, maxName)
}

// completePhone completes a phone number that was sent, as [booking.CompletePhone] does.
func (errs *fieldErrors) completePhone(phone *nullable[string], org store.Org) {
	if phone.HasValue() {
		errs.completePhoneText(&phone.Value, org)
	}
}

func (errs *fieldErrors) completePhoneText(phone *string, org store.Org) {
	var ok bool
	*phone, ok = booking.CompletePhone(*phone, org.AreaCode())
	errs.Check(ok, "body.phone", booking.PhoneProblem(*phone))
}

// checkAmount checks that an amount is payable in the currency: some have no decimals.
func (errs *fieldErrors) checkAmount(amount *booking.Cents, currency, location string) {
	errs.Check(amount == nil || amount.Payable(currency), location, "must not have decimals in this currency")
}

// newIdempotencyKey returns the key of a request with a hash of its body, or nil without a
// key.
func newIdempotencyKey(operation, key string, request any) (*store.IdempotencyKey, error) {
	if key == "" {
		return nil, nil
	}
	encoded, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encoding a request: %w", err)
	}
	hash := sha256.Sum256(encoded)
	return &store.IdempotencyKey{Operation: operation, Key: key, RequestHash: hash[:]}, nil
}

// offsetPattern matches a date-time that ends with a UTC offset, in any of the forms of ISO
// 8601 and beyond.
var offsetPattern = regexp.MustCompile(`(?i)T.*(Z|[+-][0-9]{1,2}(:?[0-9]{2})?)$`)

// parseInstant parses a date-time with its UTC offset. Fractions of a second are dropped:
// programs write them unasked.
func parseInstant(location, value string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04Z07:00", value)
	}
	switch {
	case err != nil && offsetPattern.MatchString(value):
		return t, hub.Invalid(location, "must be a date-time of the form 2026-03-02T09:00:00-03:00 or 2026-03-02T12:00:00Z")
	case err != nil:
		missing := hub.Invalid(location, "needs a UTC offset")
		_, field, _ := strings.Cut(location, ".")
		missing.Detail = field + " needs a UTC offset"
		return t, missing
	case t.Year() < 1970 || t.Year() > 9998:
		return t, hub.Invalid(location, "is out of range: must be from 1970 to 9998")
	}
	return t.Truncate(time.Second), nil
}

// parseDate parses a YYYY-MM-DD date.
func parseDate(location, value string) (booking.Date, error) {
	date, err := booking.ParseDate(value)
	if err != nil || date.Time().Year() < 1900 || date.Time().Year() > 9998 {
		return 0, hub.Invalid(location, "must be YYYY-MM-DD")
	}
	return date, nil
}

// parseMonth returns the first and last day of a YYYY-MM month. The empty string is the
// current month.
func parseMonth(value string, now time.Time, zone *time.Location) (first, last booking.Date, err error) {
	if value == "" {
		value = now.In(zone).Format("2006-01")
	}
	first, last, err = booking.ParseMonth(value)
	if err != nil || first.Time().Year() < 1900 || first.Time().Year() > 9998 {
		return 0, 0, hub.Invalid("query.month", "must be YYYY-MM")
	}
	return first, last, nil
}

// dayBounds returns the start of the first day and the end of the last day.
func dayBounds(first, last booking.Date, zone *time.Location) (since, until time.Time) {
	return booking.DayStart(zone, first), booking.DayStart(zone, last+1)
}

func inZone(t *time.Time, zone *time.Location) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	zoned := t.In(zone)
	return &zoned
}
