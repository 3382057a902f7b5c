package booking

import (
	"testing"
	"time"
)

// busyMonth is 50 professionals and 10,000 appointments in March 2026, in a zone
// whose clocks change that month.
func busyMonth(b *testing.B) (*time.Location, Limits, Date, Date, []Calendar) {
	b.Helper()
	loc := zoneOf(b, "Europe/Lisbon")
	first, last, _ := ParseMonth("2026-03")
	zone := newZone(loc, first, last)
	calendars := make([]Calendar, 50)
	for p := range calendars {
		calendar := &calendars[p]
		calendar.Professional = named(string(rune('A' + p)))
		calendar.Offer = NewOffer(Service{ID: named("S0"), DurationMinutes: 30, Capacity: 1}, Override{}, Policy{})
		for weekday := range 6 {
			calendar.Rules = append(calendar.Rules, Rule{Weekday: weekday, Start: 8 * 60, End: 18 * 60, Break: &Break{12 * 60, 13 * 60}, Active: true})
		}
		calendar.Exceptions = []Exception{{Date: first + Date(p%30), Kind: Block}, {Date: first + Date(p%28), Kind: Extra, Hours: &Hours{19 * 60, 21 * 60}}}
		for n := range 200 {
			date := first + Date(n*31/200)
			start := zone.time(zone.start(date, TimeOfDay(8*60+(n*7+p)%18*30)))
			calendar.Busy = append(calendar.Busy, Busy{Start: start, End: start.Add(30 * time.Minute), Service: named("S1")})
		}
	}
	return loc, StaffLimits(first.Time().AddDate(0, 0, -1)), first, last, calendars
}

func BenchmarkMonth50Professionals10000Appointments(b *testing.B) {
	loc, limits, first, last, calendars := busyMonth(b)
	for b.Loop() {
		days := freeDays(b, loc, limits, first, last, calendars)
		if days[1].Free == 0 {
			b.Fatal("no slot")
		}
	}
}

func BenchmarkDayOneProfessional(b *testing.B) {
	loc, limits, first, _, calendars := busyMonth(b)
	for b.Loop() {
		if len(FreeSlots(loc, limits, first+1, calendars[:1])) == 0 {
			b.Fatal("no slot")
		}
	}
}

func BenchmarkDayAnyOf50(b *testing.B) {
	loc, limits, first, _, calendars := busyMonth(b)
	for b.Loop() {
		if len(FreeSlots(loc, limits, first+1, calendars)) == 0 {
			b.Fatal("no slot")
		}
	}
}
