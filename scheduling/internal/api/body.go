package api

import (
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/booking"
)

// optional is a member of a body that may be absent, null or have a value.
type optional[T any] struct {
	Set   bool // it is there
	Null  bool
	Value T
	wrong string
}

// UnmarshalJSON notes what is wrong for [optional.Resolve], which knows where it is.
func (o *optional[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	if string(b) == "null" {
		o.Null = true
		return nil
	}
	if err := json.Unmarshal(b, &o.Value); err != nil {
		o.wrong = "does not have the documented form"
		for _, known := range []error{booking.ErrNotANumber, booking.ErrTooManyDecimals, booking.ErrAmountTooLarge} {
			if errors.Is(err, known) {
				o.wrong = known.Error()
			}
		}
	}
	return nil
}

// Schema is that of the value, or null.
func (o optional[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref == "" {
		s.Nullable = true
	}
	return s
}

// Resolve reports a value that could not be read.
func (o *optional[T]) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if o.wrong == "" {
		return nil
	}
	return []error{&huma.ErrorDetail{Location: at.String(), Message: o.wrong}}
}

// into overwrites a value that cannot be null: null leaves it as it is.
func (o optional[T]) into(value *T) {
	if o.Set && !o.Null {
		*value = o.Value
	}
}

// intoNull overwrites a value that can be null.
func (o optional[T]) intoNull(value **T) {
	if o.Set {
		if *value = nil; !o.Null {
			*value = &o.Value
		}
	}
}

// over replaces what was kept of an earlier body: null removes it.
func (o optional[T]) over(kept *optional[T]) {
	if o.Set {
		if *kept = (optional[T]{}); !o.Null {
			*kept = o
		}
	}
}

// MarshalJSON writes the value, or null.
func (o optional[T]) MarshalJSON() ([]byte, error) {
	if !o.given() {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// given tells whether there is a value.
func (o optional[T]) given() bool { return o.Set && !o.Null }

var (
	_ huma.ResolverWithPath = (*optional[int])(nil)
	_ huma.SchemaProvider   = optional[int]{}
)

// faults gathers what is wrong with a request.
type faults []hub.FieldError

func (f *faults) need(ok bool, location, message string) {
	if !ok {
		*f = append(*f, hub.FieldError{Location: location, Message: message})
	}
}

// also takes over what the rules found.
func (f *faults) also(err error) error {
	var invalid *hub.Error
	if errors.As(err, &invalid) && errors.Is(err, hub.ErrInvalid) {
		*f = append(*f, invalid.Fields...)
		return nil
	}
	return err
}

func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	told := make([]string, len(f))
	for i, one := range f {
		told[i] = one.Location + " " + one.Message
	}
	e := hub.Invalid(f[0].Location, f[0].Message)
	e.Detail, e.Fields = strings.Join(told, "; "), f
	return e
}

// length checks a text's characters.
func (f *faults) length(s, location string, least, most int) {
	n := len([]rune(s))
	switch {
	case n < least && least == 1:
		f.need(false, location, "must not be empty")
	case n < least || n > most:
		f.need(false, location, "is too short or too long")
	}
}

// email checks the form of an address, where there is one.
func (f *faults) email(s *string, location string) {
	if s == nil {
		return
	}
	f.need(booking.ValidEmail(*s), location, "must be an e-mail address")
}

// link checks an absolute http(s) address, where there is one.
func (f *faults) link(s *string, location string) {
	if s == nil {
		return
	}
	u, err := url.Parse(*s)
	f.need(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && len(*s) <= 2048, location, "must be an absolute http(s) URL")
}

var colorForm = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

func (f *faults) color(s, location string) {
	f.need(colorForm.MatchString(s), location, "must be a color in the form #RRGGBB")
}

func (f *faults) phone(s *string) {
	if s == nil {
		return
	}
	f.need(booking.ValidPhone(*s), "body.phone", "must be a phone number of 8 to 15 digits")
}

// money checks that an amount that was sent exists in a currency.
func (f *faults) money(amount optional[booking.Cents], currency, location string) {
	f.need(!amount.given() || amount.Value.Payable(currency), location, "must not have decimals in this currency")
}

func (f *faults) zone(name, location string) {
	_, err := time.LoadLocation(name)
	f.need(err == nil && name != "" && name != "Local", location, "must be an IANA time zone")
}

// instant reads a moment with its offset from a body.
func instant(location, s string) (time.Time, error) {
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

// date reads a day.
func date(location, s string) (booking.Date, error) {
	d, err := booking.ParseDate(s)
	if err != nil || d.Time().Year() < 1900 || d.Time().Year() > 9998 {
		return 0, hub.Invalid(location, "must be YYYY-MM-DD")
	}
	return d, nil
}

// month reads the month of a query and gives its days; "" is the month of now.
func month(s string, now time.Time, zone *time.Location) (first, last booking.Date, err error) {
	if s == "" {
		s = now.In(zone).Format("2006-01")
	}
	first, last, err = booking.ParseMonth(s)
	if err != nil || first.Time().Year() < 1900 || first.Time().Year() > 9998 {
		return 0, 0, hub.Invalid("query.month", "must be YYYY-MM")
	}
	return first, last, nil
}

// bounds are the first instant of a day and the end of another.
func bounds(first, last booking.Date, zone *time.Location) (since, until time.Time) {
	return booking.DayStart(zone, first), booking.DayStart(zone, last+1)
}

func local(t *time.Time, zone *time.Location) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	there := t.In(zone)
	return &there
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
