package rest

import (
	"encoding/json"
	"errors"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
)

// Fault is what is wrong with a value, for people: errors of UnmarshalJSON that are
// one are shown to the caller.
type Fault interface {
	error
	Fault() string
}

// Optional is a member of a body that may be absent, null or have a value.
type Optional[T any] struct {
	Set   bool // it is there
	Null  bool
	Value T
	wrong string
}

// UnmarshalJSON notes what is wrong for [Optional.Resolve], which knows where it is.
func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	o.Set = true
	if string(b) == "null" {
		o.Null = true
		return nil
	}
	if err := json.Unmarshal(b, &o.Value); err != nil {
		o.wrong = "does not have the documented form"
		var fault Fault
		if errors.As(err, &fault) {
			o.wrong = fault.Fault()
		}
	}
	return nil
}

// Schema is that of the value, or null.
func (o Optional[T]) Schema(r huma.Registry) *huma.Schema {
	s := r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref == "" {
		s.Nullable = true
	}
	return s
}

// Resolve reports a value that could not be read.
func (o *Optional[T]) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if o.wrong == "" {
		return nil
	}
	return []error{&huma.ErrorDetail{Location: at.String(), Message: o.wrong}}
}

// Into overwrites a value that cannot be null: null leaves it as it is.
func (o Optional[T]) Into(value *T) {
	if o.Set && !o.Null {
		*value = o.Value
	}
}

// IntoNull overwrites a value that can be null.
func (o Optional[T]) IntoNull(value **T) {
	if o.Set {
		if *value = nil; !o.Null {
			*value = &o.Value
		}
	}
}

// Over replaces what was kept of an earlier body: null removes it.
func (o Optional[T]) Over(kept *Optional[T]) {
	if o.Set {
		if *kept = (Optional[T]{}); !o.Null {
			*kept = o
		}
	}
}

// MarshalJSON writes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.Given() {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// Given tells whether there is a value.
func (o Optional[T]) Given() bool { return o.Set && !o.Null }

var (
	_ huma.ResolverWithPath = (*Optional[int])(nil)
	_ huma.SchemaProvider   = Optional[int]{}
)

// Faults gathers what is wrong with a request.
type Faults []hub.FieldError

// Need notes a fault unless ok.
func (f *Faults) Need(ok bool, location, message string) {
	if !ok {
		*f = append(*f, hub.FieldError{Location: location, Message: message})
	}
}

// Err is nil, or a [hub.ErrInvalid] that names every fault.
func (f Faults) Err() error {
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

// Length checks a text's characters.
func (f *Faults) Length(s, location string, least, most int) {
	n := len([]rune(s))
	switch {
	case n < least && least == 1:
		f.Need(false, location, "must not be empty")
	case n < least || n > most:
		f.Need(false, location, "is too short or too long")
	}
}

// Email checks the form of an address, where there is one.
func (f *Faults) Email(s *string, location string) {
	if s == nil {
		return
	}
	parsed, err := mail.ParseAddress(*s)
	_, domain, _ := strings.Cut(*s, "@")
	f.Need(err == nil && parsed.Address == *s && len(*s) <= 254 && strings.Contains(strings.Trim(domain, "."), "."), location, "must be an e-mail address")
}

// Link checks an absolute http(s) address, where there is one.
func (f *Faults) Link(s *string, location string) {
	if s == nil {
		return
	}
	u, err := url.Parse(*s)
	f.Need(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && len(*s) <= 2048, location, "must be an absolute http(s) URL")
}

// Zone checks the name of a time zone.
func (f *Faults) Zone(name, location string) {
	_, err := time.LoadLocation(name)
	f.Need(err == nil && name != "" && name != "Local", location, "must be an IANA time zone")
}

var localeForm = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$`)

// Locale checks a language tag.
func (f *Faults) Locale(tag, location string) {
	f.Need(localeForm.MatchString(tag), location, "must be a language tag such as pt-BR")
}

// Date reads a day, YYYY-MM-DD, as midnight UTC.
func (f *Faults) Date(s, location string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	f.Need(err == nil && d.Year() >= 1900 && d.Year() <= 9998, location, "must be YYYY-MM-DD")
	return d
}

// Instant reads a moment with its UTC offset.
func (f *Faults) Instant(s, location string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04Z07:00", s)
	}
	f.Need(err == nil && t.Year() >= 1900 && t.Year() <= 9998, location, "must be an ISO 8601 date-time with its UTC offset, such as 2026-03-02T09:00:00-03:00")
	return t
}
