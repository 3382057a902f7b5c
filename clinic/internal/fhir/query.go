package fhir

import (
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Range is a time from From until before To; zero is without an end there.
type Range struct{ From, To time.Time }

// prefixes of dates in searches, as http://hl7.org/fhir/R4/search.html#prefix has them.
const prefixLength = 2

// Ranges reads the values of a date parameter, all of which hold at once; one of the
// ranges of each is enough. zone is where times without one lie. Errors are for people
// and hold no value.
func Ranges(values []string, zone *time.Location) ([][]Range, error) {
	var all [][]Range
	for _, value := range values {
		var either []Range
		for _, alternative := range Alternatives(value) {
			r, err := rangeOf(alternative, zone)
			if err != nil {
				return nil, err
			}
			either = append(either, r)
		}
		all = append(all, either)
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
		return Range{}, errors.New("must be a date such as 2026-03-02, ge2026-03 or lt2026-03-02T12:00:00Z")
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
	return Range{}, errors.New("has a prefix that is not supported: use eq, gt, ge, lt, le, sa or eb")
}

// firstYear is the first that times are read of: nothing here is older.
const firstYear = 1000

// moment reads a time of any precision: the span it stands for.
func moment(text string, zone *time.Location) (low, high time.Time, ok bool) {
	// A plus sign in a query that nobody escaped arrives as a space.
	text = strings.ReplaceAll(text, " ", "+")
	for _, form := range []struct {
		layout              string
		years, months, days int
	}{{layout: "2006", years: 1}, {layout: "2006-01", months: 1}, {layout: time.DateOnly, days: 1}} {
		if day, err := time.Parse(form.layout, text); err == nil && day.Year() >= firstYear {
			return startOf(day, zone), startOf(day.AddDate(form.years, form.months, form.days), zone), true
		}
	}
	for _, form := range []struct {
		layout string
		length time.Duration
	}{
		{"2006-01-02T15:04", time.Minute}, {"2006-01-02T15:04Z07:00", time.Minute},
		{"2006-01-02T15:04:05", time.Second}, {time.RFC3339, time.Second},
	} {
		if at, err := time.ParseInLocation(form.layout, text, zone); err == nil && at.Year() >= firstYear {
			return at, at.Add(precision(text, form.length)), true
		}
	}
	return time.Time{}, time.Time{}, false
}

// precision is how long the time lasts that a text names: decimals of a second make it
// shorter.
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

// furthest is more than any place's clock was ever away from UTC.
const furthest = 16 * time.Hour

// startOf is when a day begins somewhere: at midnight, or when the clocks that skip it
// are put forward.
func startOf(day time.Time, zone *time.Location) time.Time {
	y, m, d := day.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	earliest := midnight.Add(-furthest)
	at := sort.Search(int(2*furthest/time.Second), func(n int) bool {
		y, m, d := earliest.Add(time.Duration(n) * time.Second).In(zone).Date()
		return !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(midnight)
	})
	return earliest.Add(time.Duration(at) * time.Second).In(zone)
}

// Days are the days that begin within a range somewhere, each as midnight UTC.
func Days(r Range, zone *time.Location) Range {
	return Range{firstDay(r.From, zone), firstDay(r.To, zone)}
}

// firstDay is the first day that does not begin before a moment.
func firstDay(at time.Time, zone *time.Location) time.Time {
	if at.IsZero() {
		return at
	}
	y, m, d := at.In(zone).Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if startOf(day, zone).Before(at) {
		return day.AddDate(0, 0, 1)
	}
	if before := day.AddDate(0, 0, -1); !startOf(before, zone).Before(at) {
		return before // a day that was left out there: it begins as the next one does
	}
	return day
}

// Alternatives are the values of a parameter, with commas between them; one that belongs
// to a value has a backslash in front.
func Alternatives(value string) []string { return cut(value, ',') }

// cut takes a text apart at a character that no backslash escapes. Escapes stay.
func cut(text string, at byte) []string {
	var parts []string
	from := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case at:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}

// Text is a value without its escapes.
func Text(value string) string {
	return strings.NewReplacer(`\\`, `\`, `\,`, `,`, `\|`, `|`, `\$`, `$`).Replace(value)
}

// Token is a value of a token parameter: system|code, |code, system| or code.
type Token struct {
	System string
	Code   string
	Placed bool // it has a system, or says that there must be none
}

// TokenOf reads a token.
func TokenOf(value string) Token {
	parts := cut(value, '|')
	if len(parts) == 1 {
		return Token{Code: Text(value)}
	}
	return Token{Text(parts[0]), Text(strings.Join(parts[1:], "|")), true}
}

// In reports whether the code may be one of a system, under any of its names.
func (t Token) In(systems ...string) bool { return !t.Placed || slices.Contains(systems, t.System) }

// Patients reads the values of a reference to a patient: ids, Patient/id, or addresses of
// patients here. Whatever else finds nobody.
func Patients(values []string, base string) []uuid.UUID {
	return ids(values, func(text string) string {
		return strings.TrimPrefix(strings.TrimPrefix(text, base+"/"), TypePatient+"/")
	})
}

// IDs reads the values of _id. What can be no id here finds nothing.
func IDs(values []string) []uuid.UUID { return ids(values, func(text string) string { return text }) }

// ids are those that every value has among its alternatives; nil where there is no value.
func ids(values []string, id func(string) string) []uuid.UUID {
	var all []uuid.UUID
	for n, value := range values {
		either := []uuid.UUID{}
		for _, alternative := range Alternatives(value) {
			if known, err := uuid.Parse(id(alternative)); err == nil {
				either = append(either, known)
			}
		}
		if n > 0 {
			either = slices.DeleteFunc(either, func(id uuid.UUID) bool { return !slices.Contains(all, id) })
		}
		all = either
	}
	return all
}
