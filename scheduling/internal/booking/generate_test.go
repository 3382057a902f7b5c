package booking

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
)

// changes are days on which clocks change, of every kind: forwards and back, at
// midnight and a minute after it, by half an hour, by two hours and by a day.
var changes = []struct{ zone, date string }{
	{"America/New_York", "2026-03-08"},
	{"America/New_York", "2026-11-01"},
	{"Europe/Lisbon", "2026-03-29"},
	{"Europe/Lisbon", "2026-10-25"},
	{"America/Santiago", "2026-09-06"}, // midnight is skipped
	{"America/Santiago", "2026-04-05"}, // 23:00 to midnight is repeated
	{"America/Sao_Paulo", "2018-11-04"},
	{"America/Sao_Paulo", "2018-02-18"},
	{"America/Havana", "2026-11-01"}, // midnight to 01:00 is repeated
	{"Africa/Cairo", "2026-04-24"},
	{"Australia/Lord_Howe", "2026-10-04"}, // half an hour
	{"Australia/Lord_Howe", "2026-04-05"},
	{"Antarctica/Troll", "2026-03-29"}, // two hours
	{"Antarctica/Troll", "2026-10-25"},
	{"America/St_Johns", "2010-03-14"}, // at 00:01
	{"America/St_Johns", "2010-11-07"},
	{"Pacific/Apia", "2011-12-30"}, // the whole day is skipped
	{"Asia/Kathmandu", "2026-03-02"},
	{"America/Sao_Paulo", "2026-03-02"},
}

// draws turns bytes into choices, so that a fuzzer and a random generator can
// drive the same code. When the bytes end every choice is the first.
type draws struct{ data []byte }

// below chooses from 0 to n-1; n is at most 65536.
func (d *draws) below(n int) int {
	if len(d.data) < 2 {
		return 0
	}
	v := int(d.data[0])<<8 | int(d.data[1])
	d.data = d.data[2:]
	return v % n
}

func (d *draws) pick(of ...int) int { return of[d.below(len(of))] }

func (d *draws) chance(percent int) bool { return d.below(100) >= 100-percent }

// scene is one generated question.
type scene struct {
	loc       *time.Location
	date      Date
	limits    Limits
	calendars []Calendar
	services  [3]uuid.UUID
}

func (d *draws) scene(t testing.TB, professionals int) scene {
	t.Helper()
	change := changes[d.below(len(changes))]
	s := scene{loc: zoneOf(t, change.zone), date: dateOf(t, change.date) + Date(d.below(3)-1)}
	s.services = [3]uuid.UUID{named("S0"), named("S1"), named("S2")}
	noon := s.date.Time().Add(12 * time.Hour)
	s.limits.Earliest = noon.Add(time.Duration(d.pick(-1000, -1000, -30, -20, -12, 0, 7)) * time.Hour).Add(time.Duration(d.below(120)) * time.Second)
	if d.chance(10) {
		last := s.date + Date(d.below(5)-2)
		s.limits.LastDate = &last
	}
	for range professionals {
		s.calendars = append(s.calendars, d.calendar(&s))
	}
	return s
}

func (d *draws) calendar(s *scene) Calendar {
	policy := Policy{BufferBeforeMinutes: d.pick(0, 0, 10, 45), BufferAfterMinutes: d.pick(0, 0, 15)}
	if d.chance(40) {
		interval := d.pick(5, 10, 15, 25, 60, 240)
		policy.SlotIntervalMinutes = &interval
	}
	service := Service{ID: s.services[0], DurationMinutes: d.pick(5, 30, 45, 50, 60, 90, 480, 1440), Capacity: d.pick(1, 1, 1, 3)}
	calendar := Calendar{Professional: named(string(rune('A' + len(s.calendars)))), Offer: NewOffer(service, Override{}, policy), MaxPerDay: d.pick(0, 0, 0, 0, 2, 5)}
	for range d.below(6) {
		hours := d.hours()
		rule := Rule{Weekday: s.date.Weekday(), Start: hours.Start, End: hours.End, Active: !d.chance(10)}
		if d.chance(20) {
			rule.Weekday = d.below(7)
		}
		if d.chance(40) {
			pause := d.hours()
			rule.Break = &Break{pause.Start, pause.End}
		}
		calendar.Rules = append(calendar.Rules, rule)
	}
	for range d.below(4) {
		exception := Exception{Date: s.date + Date(d.pick(0, 0, 0, -1, 1)), Kind: []ExceptionKind{Block, Extra}[d.below(2)]}
		if !d.chance(15) {
			hours := d.hours()
			exception.Hours = &hours
		}
		calendar.Exceptions = append(calendar.Exceptions, exception)
	}
	for range d.below(9) {
		calendar.Busy = append(calendar.Busy, d.busy(s, calendar.Offer))
	}
	return calendar
}

// hours are mostly in order; a few are not, as stored rows never should be.
func (d *draws) hours() Hours {
	a, b := TimeOfDay(d.below(minutesPerDay)), TimeOfDay(d.below(minutesPerDay))
	switch d.below(4) {
	case 0:
		a, b = a/60*60, b/60*60 // on the hour, where the clocks change
	case 1:
		a, b = a/30*30, endOfDay
	case 2:
		a, b = a%180, b%360 // at night
	}
	if a > b && !d.chance(5) {
		a, b = b, a
	}
	return Hours{a, b}
}

func (d *draws) busy(s *scene, offer Offer) Busy {
	zone := newZone(s.loc, s.date, s.date)
	at := zone.time(zone.dayStart(s.date)).Add(time.Duration(d.below(30*12)*5-180) * time.Minute)
	busy := Busy{
		Start: at, End: at.Add(minutes(d.pick(5, 30, 60, 61, 300))), Service: s.services[d.below(3)],
		BufferBefore: minutes(d.pick(0, 0, 20)), BufferAfter: minutes(d.pick(0, 0, 30)),
	}
	if busy.Service == offer.Service {
		busy.BufferBefore, busy.BufferAfter = offer.BufferBefore, offer.BufferAfter
		if d.chance(80) {
			busy.End = busy.Start.Add(offer.Duration)
		}
	}
	return busy
}

// eachScene runs a property over many generated questions.
func eachScene(t *testing.T, professionals int, check func(s scene, drawn *draws)) {
	t.Helper()
	source := rand.NewChaCha8([32]byte{byte(professionals), 4})
	for range 1000 {
		data := make([]byte, 600*professionals)
		_, _ = source.Read(data) // it never fails
		drawn := &draws{data}
		check(drawn.scene(t, professionals), drawn)
	}
}
