package rest

import (
	"fmt"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"integrationhub/hub"
	"integrationhub/hub/module/names"
)

// FieldErrors collects the invalid fields of a request.
type FieldErrors []hub.FieldError

// Check adds an error unless ok.
func (f *FieldErrors) Check(ok bool, location, message string) {
	if !ok {
		*f = append(*f, hub.FieldError{Location: location, Message: message})
	}
}

// Err returns nil, or a [hub.ErrInvalid] that lists every error.
func (f FieldErrors) Err() error {
	if len(f) == 0 {
		return nil
	}
	details := make([]string, len(f))
	for i, fieldError := range f {
		details[i] = fieldError.Location + " " + fieldError.Message
	}
	err := hub.Invalid(f[0].Location, f[0].Message)
	err.Detail, err.Fields = strings.Join(details, "; "), f
	return err
}

// CheckLength checks a text's number of characters. With minimum 1, at least one of them
// has to be visible.
func (f *FieldErrors) CheckLength(s, location string, minimum, maximum int) {
	length := len([]rune(s))
	switch {
	case minimum == 1 && !names.HasVisible(s):
		f.Check(false, location, "must not be empty")
	case length < minimum || length > maximum:
		f.Check(false, location, lengthRule(minimum, maximum))
	}
}

// lengthRule returns the message of a broken length rule.
func lengthRule(minimum, maximum int) string {
	if minimum <= 1 {
		return fmt.Sprintf("must have at most %d characters", maximum)
	}
	return fmt.Sprintf("must have %d to %d characters", minimum, maximum)
}

// CheckName checks a name: one line that is not empty, without invisible characters that
// change how the surrounding text is displayed.
func (f *FieldErrors) CheckName(s, location string, maximum int) {
	f.CheckLength(s, location, 1, maximum)
	f.CheckOneLine(s, location)
}

// CheckOneLine checks a text that may be empty: one line without invisible characters that
// change how the surrounding text is displayed.
func (f *FieldErrors) CheckOneLine(s, location string) {
	f.Check(names.IsOneLine(s), location, "must be one line without control characters")
}

// CheckName returns a [hub.ErrInvalid] for what is no name, as [FieldErrors.CheckName] says.
func CheckName(name, location string, maximum int) error {
	var errs FieldErrors
	errs.CheckName(name, location, maximum)
	return errs.Err()
}

// CheckEmail checks the form of an email address, unless it is nil.
func (f *FieldErrors) CheckEmail(s *string, location string) {
	if s == nil {
		return
	}
	parsed, err := mail.ParseAddress(*s)
	_, domain, _ := strings.Cut(*s, "@")
	f.Check(err == nil && parsed.Address == *s && len(*s) <= 254 && strings.Contains(strings.Trim(domain, "."), "."), location, "must be an e-mail address")
}

// CheckURL checks an absolute http(s) URL, unless it is nil.
func (f *FieldErrors) CheckURL(s *string, location string) {
	if s == nil {
		return
	}
	u, err := url.Parse(*s)
	f.Check(err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && len(*s) <= 2048, location, "must be an absolute http(s) URL")
	f.Check(!strings.ContainsFunc(*s, isSpaceOrInvisible), location, "must have no spaces or invisible characters: write them as %20")
}

// isSpaceOrInvisible reports whether a character is any kind of space or not printable.
func isSpaceOrInvisible(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }

// CheckTimeZone checks the name of a time zone: a region and place of the IANA database,
// or UTC. A machine's time zone files contain other names, such as Factory, localtime and
// right/…, which are not portable.
func (f *FieldErrors) CheckTimeZone(name, location string) {
	_, err := time.LoadLocation(name)
	region, _, hasPlace := strings.Cut(name, "/")
	f.Check(err == nil && (hasPlace && slices.Contains(regions, region) || name == "UTC"), location, "must be an IANA time zone, such as America/Sao_Paulo")
}

var localePattern = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$`)

// CheckLocale checks a language tag.
func (f *FieldErrors) CheckLocale(tag, location string) {
	f.Check(localePattern.MatchString(tag), location, "must be a language tag such as pt-BR")
}

// regions are the first parts of names in the time zone database, including obsolete
// ones.
var regions = []string{
	"Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific", "Etc",
	"Brazil", "Canada", "Chile", "Mexico", "US",
}

// Accepted years. Others are typing errors, and some calendars do not support them.
const firstYear, lastYear = 1900, 9998

// ParseDate parses a date, YYYY-MM-DD, as midnight UTC. It adds an error if it is invalid.
func (f *FieldErrors) ParseDate(s, location string) time.Time {
	date, err := time.Parse(time.DateOnly, s)
	f.Check(err == nil, location, "must be YYYY-MM-DD")
	f.Check(err != nil || date.Year() >= firstYear && date.Year() <= lastYear, location, "must be from 1900-01-01 to 9998-12-31")
	return date
}

// ParseTime parses a date-time with its UTC offset. It adds an error if it is invalid.
func (f *FieldErrors) ParseTime(s, location string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04Z07:00", s)
	}
	f.Check(err == nil, location, "must be an ISO 8601 date-time with its UTC offset, such as 2026-03-02T09:00:00-03:00")
	f.Check(err != nil || t.Year() >= firstYear && t.Year() <= lastYear, location, "must be from 1900 to 9998")
	return t
}
