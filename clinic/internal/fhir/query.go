package fhir

import (
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Range begins at From and ends before To. A zero time leaves that side open.
type Range struct{ From, To time.Time }

// prefixLength is the length of the prefixes of dates; see
// http://hl7.org/fhir/R4/search.html#prefix.
const prefixLength = 2

// ParseDateRanges parses the values of a date parameter. A time has to be, for each value, in
// at least one of its ranges. Times without an offset are in zone; now is what ap depends on.
// Errors are for users and have no values.
func ParseDateRanges(values []string, zone *time.Location, now time.Time) ([][]Range, error) {
	var all [][]Range
	for _, value := range values {
		var ranges []Range
		for _, alternative := range Alternatives(value) {
			dateRanges, err := parseDateRange(alternative, zone, now)
			if err != nil {
				return nil, err
			}
			ranges = append(ranges, dateRanges...)
		}
		all = append(all, ranges)
	}
	return all, nil
}

// parseDateRange returns the ranges of a value: a time has to be in one of them.
func parseDateRange(value string, zone *time.Location, now time.Time) ([]Range, error) {
	prefix, rest := "eq", value
	if len(value) > prefixLength && value[0] >= 'a' && value[0] <= 'z' {
		prefix, rest = value[:prefixLength], value[prefixLength:]
	}
	low, high, ok := parseDateSpan(rest, zone)
	if !ok {
		return nil, errors.New("must be a date such as 2026-03-02, ge2026-03 or lt2026-03-02T12:00:00Z")
	}
	switch prefix {
	case "eq":
		return []Range{{low, high}}, nil
	case "ne":
		return []Range{{To: low}, {From: high}}, nil
	case "gt", "sa":
		return []Range{{From: high}}, nil
	case "ge":
		return []Range{{From: low}}, nil
	case "lt", "eb":
		return []Range{{To: low}}, nil
	case "le":
		return []Range{{To: high}}, nil
	case "ap":
		margin := approximation(low, high, now)
		return []Range{{addSeconds(low, -margin), addSeconds(high, margin)}}, nil
	}
	return nil, errors.New("has a prefix that is not supported: use eq, ne, gt, ge, lt, le, sa, eb or ap")
}

// approximationPart is the part of the gap between now and a date by which another date is
// approximately the same: the tenth that the standard recommends.
const approximationPart = 10

// approximation returns the tenth of the gap between now and a span, in seconds. A
// [time.Duration] would be too short for it.
func approximation(low, high, now time.Time) int64 {
	switch {
	case now.Before(low):
		return (low.Unix() - now.Unix()) / approximationPart
	case now.After(high):
		return (now.Unix() - high.Unix()) / approximationPart
	}
	return 0
}

func addSeconds(instant time.Time, seconds int64) time.Time {
	return time.Unix(instant.Unix()+seconds, int64(instant.Nanosecond())).In(instant.Location())
}

// WholeDays extends a range to the days that it touches, as midnight UTC.
func WholeDays(r Range) Range {
	const day = 24 * time.Hour
	if !r.From.IsZero() {
		r.From = r.From.UTC().Truncate(day)
	}
	if whole := r.To.UTC().Truncate(day); !r.To.IsZero() && !whole.Equal(r.To) {
		r.To = whole.Add(day)
	}
	return r
}

// minYear is the first year that is parsed.
const minYear = 1000

// parseDateSpan parses a time of any precision and returns the span that it stands for.
func parseDateSpan(text string, zone *time.Location) (low, high time.Time, ok bool) {
	// A plus sign in a query that nobody escaped arrives as a space.
	text = strings.ReplaceAll(text, " ", "+")
	for _, format := range []struct {
		layout              string
		years, months, days int
	}{{layout: "2006", years: 1}, {layout: "2006-01", months: 1}, {layout: time.DateOnly, days: 1}} {
		if day, err := time.Parse(format.layout, text); err == nil && day.Year() >= minYear {
			return startOfDay(day, zone), startOfDay(day.AddDate(format.years, format.months, format.days), zone), true
		}
	}
	for _, format := range []struct {
		layout string
		length time.Duration
	}{
		{"2006-01-02T15:04", time.Minute}, {"2006-01-02T15:04Z07:00", time.Minute},
		{"2006-01-02T15:04:05", time.Second}, {time.RFC3339, time.Second},
	} {
		if instant, err := time.ParseInLocation(format.layout, text, zone); err == nil && instant.Year() >= minYear {
			return instant, instant.Add(precision(text, format.length)), true
		}
	}
	return time.Time{}, time.Time{}, false
}

// precision returns how long the time lasts that a text names. Each decimal of a second makes
// it ten times shorter.
func precision(text string, length time.Duration) time.Duration {
	_, decimals, _ := strings.Cut(text, ".")
	for _, c := range decimals {
		if c < '0' || c > '9' || length <= time.Microsecond {
			break
		}
		length /= 10
	}
	return length
}

// maxUTCOffset is more than any time zone ever differed from UTC.
const maxUTCOffset = 16 * time.Hour

// startOfDay returns when a day begins in a zone: at midnight, or when the clocks that skip
// midnight are put forward.
func startOfDay(day time.Time, zone *time.Location) time.Time {
	y, m, d := day.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	earliest := midnight.Add(-maxUTCOffset)
	seconds := sort.Search(int(2*maxUTCOffset/time.Second), func(n int) bool {
		y, m, d := earliest.Add(time.Duration(n) * time.Second).In(zone).Date()
		return !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(midnight)
	})
	return earliest.Add(time.Duration(seconds) * time.Second).In(zone)
}

// ToDays returns the days that begin within a range in a zone, as midnight UTC.
func ToDays(r Range, zone *time.Location) Range {
	return Range{firstDayFrom(r.From, zone), firstDayFrom(r.To, zone)}
}

// firstDayFrom returns the first day that does not begin before an instant.
func firstDayFrom(instant time.Time, zone *time.Location) time.Time {
	if instant.IsZero() {
		return instant
	}
	y, m, d := instant.In(zone).Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if startOfDay(day, zone).Before(instant) {
		return day.AddDate(0, 0, 1)
	}
	if previous := day.AddDate(0, 0, -1); !startOfDay(previous, zone).Before(instant) {
		return previous // a day that was left out there: it begins as the next one does
	}
	return day
}

// Alternatives splits a parameter's value at its commas, except for those escaped by a
// backslash.
func Alternatives(value string) []string { return splitEscaped(value, ',') }

// splitEscaped splits a text at a separator that no backslash escapes. Escapes stay.
func splitEscaped(text string, separator byte) []string {
	var parts []string
	start := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case separator:
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}

// Unescape returns a value without its escapes.
func Unescape(value string) string {
	return strings.NewReplacer(`\\`, `\`, `\,`, `,`, `\|`, `|`, `\$`, `$`).Replace(value)
}

// Token is a value of a token parameter: system|code, |code, system| or code.
type Token struct {
	System    string
	Code      string
	HasSystem bool // there is a bar; System "" then means a code without a system
}

// ParseToken parses a token.
func ParseToken(value string) Token {
	parts := splitEscaped(value, '|')
	if len(parts) == 1 {
		return Token{Code: Unescape(value)}
	}
	return Token{Unescape(parts[0]), Unescape(strings.Join(parts[1:], "|")), true}
}

// IsOf reports whether the code may belong to one of the systems. A token without a system may
// belong to any.
func (t Token) IsOf(systems ...string) bool {
	return !t.HasSystem || slices.Contains(systems, t.System)
}

// ParseReferences parses references to resources of a type: ids, Type/id, or addresses below
// base. Others match nothing.
func ParseReferences(values []string, resourceType, base string) []uuid.UUID {
	return intersectIDs(values, func(text string) string {
		return strings.TrimPrefix(strings.TrimPrefix(text, base+"/"), resourceType+"/")
	})
}

// ParseIDs parses the values of _id. A value that is no UUID matches nothing.
func ParseIDs(values []string) []uuid.UUID {
	return intersectIDs(values, func(text string) string { return text })
}

// intersectIDs returns the ids that every value has among its alternatives, nil if there is no
// value.
func intersectIDs(values []string, normalize func(string) string) []uuid.UUID {
	var all []uuid.UUID
	for n, value := range values {
		alternatives := []uuid.UUID{}
		for _, alternative := range Alternatives(value) {
			if parsed, err := uuid.Parse(normalize(alternative)); err == nil {
				alternatives = append(alternatives, parsed)
			}
		}
		if n > 0 {
			alternatives = slices.DeleteFunc(alternatives, func(normalize uuid.UUID) bool { return !slices.Contains(all, normalize) })
		}
		all = alternatives
	}
	return all
}
