package booking

import (
	"fmt"
	"time"
)

const (
	secondsPerDay = 24 * 60 * 60
	minutesPerDay = 24 * 60
)

// Date is a calendar day without a time zone, counted in days from 1970-01-01.
type Date int32

// ParseDate reads YYYY-MM-DD, years 0001 to 9999.
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1 {
		return 0, fmt.Errorf("reading a date: %q is not YYYY-MM-DD", text)
	}
	return NewDate(t.Date()), nil
}

// ParseMonth parses YYYY-MM and returns the month's first and last day.
func ParseMonth(text string) (first, last Date, err error) {
	t, err := time.Parse("2006-01", text)
	if err != nil || t.Year() < 1 {
		return 0, 0, fmt.Errorf("reading a month: %q is not YYYY-MM", text)
	}
	return NewDate(t.Date()), NewDate(t.AddDate(0, 1, -1).Date()), nil
}

// NewDate makes a Date from its parts; parts out of range carry over, as in [time.Date].
func NewDate(year int, month time.Month, day int) Date {
	return Date(floorDiv(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix(), secondsPerDay))
}

// DateOf is the calendar day on which an instant falls in a zone.
func DateOf(t time.Time, zone *time.Location) Date { return NewDate(t.In(zone).Date()) }

// Time is midnight UTC of the day: for formatting and for date columns, not an instant of the day.
func (d Date) Time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

// String writes YYYY-MM-DD.
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// Weekday counts from 0 = Monday to 6 = Sunday, as schedule rules do.
func (d Date) Weekday() int {
	return int((int64(d)%7 + 7 + 3) % 7) // 1970-01-01 was a Thursday
}

// TimeOfDay is a local time, in minutes after midnight: 0 to 1439.
type TimeOfDay int16

// endOfDay, 23:59, is how a window says that it lasts until midnight: 24:00 is
// not a time of day.
const endOfDay TimeOfDay = minutesPerDay - 1

// ParseTimeOfDay reads HH:MM, 00:00 to 23:59.
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	digit := func(i int) TimeOfDay { return TimeOfDay(text[i]) - '0' }
	if len(text) == 5 && text[2] == ':' {
		h, m := digit(0)*10+digit(1), digit(3)*10+digit(4)
		for _, i := range [...]int{0, 1, 3, 4} {
			if text[i] < '0' || text[i] > '9' {
				h = -1
			}
		}
		if h >= 0 && h < 24 && m < 60 {
			return h*60 + m, nil
		}
	}
	return 0, fmt.Errorf("reading a time of day: %q is not HH:MM", text)
}

// String writes HH:MM.
func (c TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
