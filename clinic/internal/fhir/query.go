package fhir

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Range is a time from From until before To; zero is without an end there.
type Range struct{ From, To time.Time }

// prefixes of dates in searches, as http://hl7.org/fhir/R4/search.html#prefix has them.
const prefixLength = 2

// Ranges reads the values of a date parameter, all of which hold at once. zone is
// where days without one lie. Errors are for people and hold no value.
func Ranges(values []string, zone *time.Location) (Range, error) {
	var all Range
	for _, value := range values {
		one, err := rangeOf(value, zone)
		if err != nil {
			return Range{}, err
		}
		if one.From.After(all.From) {
			all.From = one.From
		}
		if all.To.IsZero() || !one.To.IsZero() && one.To.Before(all.To) {
			all.To = one.To
		}
	}
	return all, nil
}

func rangeOf(value string, zone *time.Location) (Range, error) {
	prefix, rest := "eq", value
	if len(value) > prefixLength && value[0] >= 'a' && value[0] <= 'z' {
		prefix, rest = value[:prefixLength], value[prefixLength:]
	}
	low, high, ok := moment(rest, zone)
	if !ok {
		return Range{}, fmt.Errorf("must be a date such as 2026-03-02, ge2026-03 or lt2026-03-02T12:00:00Z")
	}
	switch prefix {
	case "eq":
		return Range{low, high}, nil
	case "gt", "sa":
		return Range{From: high}, nil
	case "ge":
		return Range{From: low}, nil
	case "lt", "eb":
		return Range{To: low}, nil
	case "le":
		return Range{To: high}, nil
	}
	return Range{}, fmt.Errorf("has a prefix that is not supported: use eq, gt, ge, lt, le, sa or eb")
}

// moment reads a time of any precision: the span it stands for.
func moment(text string, zone *time.Location) (low, high time.Time, ok bool) {
	// A plus sign in a query that nobody escaped arrives as a space.
	text = strings.ReplaceAll(text, " ", "+")
	for _, form := range []struct {
		layout              string
		years, months, days int
		length              time.Duration
	}{
		{layout: "2006", years: 1}, {layout: "2006-01", months: 1}, {layout: time.DateOnly, days: 1},
		{layout: "2006-01-02T15:04", length: time.Minute}, {layout: "2006-01-02T15:04Z07:00", length: time.Minute},
		{layout: "2006-01-02T15:04:05", length: time.Second}, {layout: time.RFC3339, length: time.Second},
	} {
		at, err := time.ParseInLocation(form.layout, text, zone)
		if err != nil {
			continue
		}
		if form.length > 0 && at.Nanosecond() > 0 {
			form.length = time.Millisecond
		}
		return at, at.AddDate(form.years, form.months, form.days).Add(form.length), true
	}
	return time.Time{}, time.Time{}, false
}

// PatientID reads the value of a reference to a patient: an id, Patient/id, or the
// address of one here.
func PatientID(value, base string) (uuid.UUID, bool) {
	value = strings.TrimPrefix(value, base+"/")
	id, err := uuid.Parse(strings.TrimPrefix(value, TypePatient+"/"))
	return id, err == nil
}

// IDs reads the values of _id. What can be no id here is left out: it finds nothing.
func IDs(values []string) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			if id, err := uuid.Parse(one); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Token takes a token parameter apart: system|code, |code or code.
func Token(value string) (system, code string) {
	if system, code, found := strings.Cut(value, "|"); found {
		return system, code
	}
	return "", value
}
