package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub"
)

// PublicError is what is wrong with a value, for people: errors of UnmarshalJSON that are
// one are shown to the caller.
type PublicError interface {
	error
	PublicMessage() string
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
		var fault PublicError
		var mismatch *json.UnmarshalTypeError
		switch {
		case errors.As(err, &fault):
			o.wrong = fault.PublicMessage()
		case errors.As(err, &mismatch) && named[mismatch.Type.Kind()] != "":
			o.wrong = "expected " + named[mismatch.Type.Kind()]
		}
	}
	return nil
}

// named are kinds of values as JSON calls them.
var named = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer"}

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

// ApplyTo overwrites a value that cannot be null: null leaves it as it is.
func (o Optional[T]) ApplyTo(value *T) {
	if o.Set && !o.Null {
		*value = o.Value
	}
}

// ApplyToNullable overwrites a value that can be null.
func (o Optional[T]) ApplyToNullable(value **T) {
	if o.Set {
		if *value = nil; !o.Null {
			*value = &o.Value
		}
	}
}

// MergeInto replaces what was kept of an earlier body: null removes it.
func (o Optional[T]) MergeInto(kept *Optional[T]) {
	if o.Set {
		if *kept = (Optional[T]{}); !o.Null {
			*kept = o
		}
	}
}

// MarshalJSON writes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.HasValue() {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// HasValue tells whether there is a value.
func (o Optional[T]) HasValue() bool { return o.Set && !o.Null }

var (
	_ huma.ResolverWithPath = (*Optional[int])(nil)
	_ huma.SchemaProvider   = Optional[int]{}
)

// FieldErrors gathers what is wrong with a request.
type FieldErrors []hub.FieldError

// Check notes a fault unless ok.
func (f *FieldErrors) Check(ok bool, location, message string) {
	if !ok {
		*f = append(*f, hub.FieldError{Location: location, Message: message})
	}
}

// Err is nil, or a [hub.ErrInvalid] that names every fault.
func (f FieldErrors) Err() error {
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

// CheckLength checks a text's characters. One that must not be empty has something in it that
// can be seen.
func (f *FieldErrors) CheckLength(s, location string, least, most int) {
	n := len([]rune(s))
	switch {
	case least == 1 && !strings.ContainsFunc(s, visible):
		f.Check(false, location, "must not be empty")
	case n < least || n > most:
		f.Check(false, location, asked(least, most))
	}
}

// asked says how many characters a text may have.
func asked(least, most int) string {
	if least <= 1 {
		return fmt.Sprintf("must have at most %d characters", most)
	}
	return fmt.Sprintf("must have %d to %d characters", least, most)
}

func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// CheckName checks what somebody or something is called: a text of one line that is not empty,
// without characters that turn around or hide what stands beside them.
func (f *FieldErrors) CheckName(s, location string, most int) {
	f.CheckLength(s, location, 1, most)
	f.Check(!strings.ContainsFunc(s, misleading), location, "must be one line without control characters")
}

// misleading are controls and ends of lines, the signs that change the direction of a
// text, and the byte order mark. Signs that join letters belong to some languages' names.
func misleading(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' || r == '\ufeff'
}

// CheckEmail checks the form of an address, where there is one.
func (f *FieldErrors) CheckEmail(s *string, location string) {
	if s == nil {
		return
	}
	parsed, err := mail.ParseAddress(*s)
	_, domain, _ := strings.Cut(*s, "@")
	f.Check(err == nil && parsed.Address == *s && len(*s) <= 254 && strings.Contains(strings.Trim(domain, "."), "."), location, "must be an e-mail address")
}

// CheckURL checks an absolute http(s) address, where there is one.
func (f *FieldErrors) CheckURL(s *string, location string) {
	if s == nil {
		return
	}
	u, err := url.Parse(*s)
	f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && len(*s) <= 2048, location, "must be an absolute http(s) URL")
	f.Check(!strings.ContainsFunc(*s, spaced), location, "must have no spaces or invisible characters: write them as %20")
}

// spaced tells whether a character is a space of any kind, or cannot be seen.
func spaced(c rune) bool { return c == ' ' || !unicode.IsPrint(c) }

// CheckTimeZone checks the name of a time zone: of a place, as IANA has them, or UTC. A machine's
// files have others, which mean something else elsewhere, such as Factory, localtime and
// right/….
func (f *FieldErrors) CheckTimeZone(name, location string) {
	_, err := time.LoadLocation(name)
	region, _, below := strings.Cut(name, "/")
	f.Check(err == nil && (below && slices.Contains(regions, region) || name == "UTC"), location, "must be an IANA time zone, such as America/Sao_Paulo")
}

var localeForm = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$`)

// CheckLocale checks a language tag.
func (f *FieldErrors) CheckLocale(tag, location string) {
	f.Check(localeForm.MatchString(tag), location, "must be a language tag such as pt-BR")
}

// regions are what names of places in the time zone database begin with, earlier ones
// too.
var regions = []string{
	"Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific", "Etc",
	"Brazil", "Canada", "Chile", "Mexico", "US",
}

// Years that are taken; others are slips, and databases and calendars end somewhere.
const firstYear, lastYear = 1900, 9998

// ParseDate reads a day, YYYY-MM-DD, as midnight UTC.
func (f *FieldErrors) ParseDate(s, location string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	f.Check(err == nil, location, "must be YYYY-MM-DD")
	f.Check(err != nil || d.Year() >= firstYear && d.Year() <= lastYear, location, "must be from 1900-01-01 to 9998-12-31")
	return d
}

// ParseTime reads a moment with its UTC offset.
func (f *FieldErrors) ParseTime(s, location string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04Z07:00", s)
	}
	f.Check(err == nil, location, "must be an ISO 8601 date-time with its UTC offset, such as 2026-03-02T09:00:00-03:00")
	f.Check(err != nil || t.Year() >= firstYear && t.Year() <= lastYear, location, "must be from 1900 to 9998")
	return t
}
