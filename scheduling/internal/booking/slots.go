package booking

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Busy is taken time of a professional: an appointment whose status blocks
// ([Status.Blocks]) or a hold that has not expired. One row is one seat.
type Busy struct {
	Start, End   time.Time
	Service      uuid.UUID
	BufferBefore time.Duration // of its service
	BufferAfter  time.Duration // of its service
}

// Calendar is the data from which one professional's slots for one service are computed.
type Calendar struct {
	Professional uuid.UUID
	Offer        Offer
	Rules        []Rule
	Exceptions   []Exception // of the requested days; others have no effect
	Busy         []Busy      // see [LoadRange]; quickest when ordered by start
	MaxPerDay    int         // bookings that may start on one day; 0: no bound
}

// Full reports whether as many bookings start on a day as [Calendar.MaxPerDay] allows.
func (c *Calendar) Full(loc *time.Location, date Date) bool {
	n := 0
	for i := range c.Busy {
		if DateOf(c.Busy[i].Start, loc) == date {
			n++
		}
	}
	return c.MaxPerDay > 0 && n >= c.MaxPerDay
}

// Slot is a time that can be booked.
type Slot struct {
	Professional uuid.UUID
	Start, End   time.Time // in the requested zone
	Remaining    int       // free seats, at least 1
}

// busySpan is a busy time prepared for comparison, in Unix seconds.
type busySpan struct {
	blockedFrom, blockedUntil int64 // with its buffers
	start, end                int64
	sameSession               bool // a seat in a session of the requested service
}

// slotFinder computes the slots of several calendars. Its slices are reused for each
// calendar.
type slotFinder struct {
	zone     zone
	earliest int64
	last     Date // no slot starts on a later day
	first    Date // the first requested day; perDay counts from here
	fullDays bool

	calendar     *Calendar
	length       int64
	step         int64
	hours        dayHours
	exceptions   []Exception // of the calendar, in the order of days
	taken        []busySpan
	latestEnd    []int64 // latestEnd[i] is the latest blockedUntil of taken[0..i]
	perDay       []int   // bookings that start on each day
	bufferBefore int64
	bufferAfter  int64
	capacity     int
	maxPerDay    int
}

func newSlotFinder(loc *time.Location, limits Limits, first, last Date) *slotFinder {
	f := &slotFinder{
		zone: newZone(loc, first, last), earliest: ceilUnix(limits.Earliest),
		first: first, last: last, fullDays: limits.FullDays, perDay: make([]int, max(0, int(last)-int(first)+1)),
	}
	if limits.LastDate != nil {
		f.last = min(last, *limits.LastDate)
	}
	return f
}

// loadCalendar prepares a calendar. Each neighbour of a slot keeps its own buffers, so
// the needed gap is the earlier one's buffer after and the later one's before:
// the same as both with their buffers not overlapping.
func (f *slotFinder) loadCalendar(calendar *Calendar) {
	offer := &calendar.Offer
	f.calendar, f.exceptions = calendar, orderByDate(f.exceptions[:0], calendar.Exceptions)
	f.length, f.step = seconds(offer.Duration), seconds(offer.Step)
	if f.step <= 0 {
		f.step = f.length
	}
	f.bufferBefore, f.bufferAfter = seconds(offer.BufferBefore), seconds(offer.BufferAfter)
	f.capacity, f.maxPerDay = max(offer.Capacity, 1), calendar.MaxPerDay
	f.taken, f.latestEnd = f.taken[:0], f.latestEnd[:0]
	clear(f.perDay)
	inOrder := true
	for i := range calendar.Busy {
		busy := &calendar.Busy[i]
		start, end := busy.Start.Unix(), ceilUnix(busy.End)
		t := busySpan{
			blockedFrom: start - seconds(busy.BufferBefore), blockedUntil: end + seconds(busy.BufferAfter),
			start: start, end: end,
			sameSession: busy.Service == offer.Service,
		}
		inOrder = inOrder && (i == 0 || f.taken[i-1].blockedFrom <= t.blockedFrom)
		f.taken = append(f.taken, t)
		if n := f.zone.date(start) - f.first; n >= 0 && int(n) < len(f.perDay) {
			f.perDay[n]++
		}
	}
	if !inOrder {
		slices.SortFunc(f.taken, func(a, b busySpan) int { return cmp.Compare(a.blockedFrom, b.blockedFrom) })
	}
	for i := range f.taken {
		until := f.taken[i].blockedUntil
		if i > 0 {
			until = max(until, f.latestEnd[i-1])
		}
		f.latestEnd = append(f.latestEnd, until)
	}
}

func seconds(duration time.Duration) int64 { return int64(duration / time.Second) }

// bookingsOn returns how many bookings of the loaded calendar start on a day.
func (f *slotFinder) bookingsOn(date Date) int { return f.perDay[date-f.first] }

// eachSlot calls yield with every slot of a day, in order. A slot starts at its
// window's start and then every step; blocks and busy times remove slots and
// do not shift the others.
func (f *slotFinder) eachSlot(date Date, yield func(start int64, remaining int)) {
	if date > f.last || f.length <= 0 || f.zone.dayStart(date+1) <= f.earliest {
		return
	}
	if f.maxPerDay > 0 && f.bookingsOn(date) >= f.maxPerDay && !f.fullDays {
		return
	}
	f.hours.load(&f.zone, date, f.calendar.Rules, exceptionsOn(f.exceptions, date))
	if len(f.hours.windows) == 0 {
		return
	}
	next, _ := slices.BinarySearch(f.latestEnd, f.hours.windows[0].from-f.bufferBefore)
	for _, window := range f.hours.windows {
		for start := window.from; start+f.length <= window.until; start += f.step {
			end := start + f.length
			if start < f.earliest || f.zone.date(start) != date || f.hours.isBlocked(start, end) {
				continue
			}
			for next < len(f.latestEnd) && f.latestEnd[next] <= start-f.bufferBefore {
				next++
			}
			if remaining := f.remaining(next, start, end); remaining > 0 {
				yield(start, remaining)
			}
		}
	}
}

// remaining returns the free seats in [start, end). It is 0 where the professional
// is busy with anything but the same session. Busy times before index next have
// ended by start.
func (f *slotFinder) remaining(next int, start, end int64) int {
	free := f.capacity
	for _, t := range f.taken[next:] {
		if t.blockedFrom >= end+f.bufferAfter {
			break
		}
		if t.blockedUntil <= start-f.bufferBefore {
			continue
		}
		if !t.sameSession || t.start != start || t.end != end {
			return 0
		}
		free--
	}
	return free
}

// SeatsAt returns a professional's free seats at start, regardless of working hours
// and slot grid. Writes check it. 0 means that the time is taken.
// MaxPerDay plays no part.
func SeatsAt(start time.Time, offer Offer, busy []Busy) int {
	date := DateOf(start, time.UTC)
	finder := newSlotFinder(time.UTC, Limits{}, date, date)
	finder.loadCalendar(&Calendar{Offer: offer, Busy: busy})
	from := start.Unix()
	return max(0, finder.remaining(0, from, ceilUnix(start.Add(offer.Duration))))
}

// FreeSlots lists the slots of a date in order. With several calendars it is "any
// professional": every start once, with the professional who has the fewest
// bookings that day; between equals the one whose calendar comes first.
func FreeSlots(loc *time.Location, limits Limits, date Date, calendars []Calendar) []Slot {
	type candidate struct {
		start     int64
		bookings  int
		calendar  int
		length    int64
		remaining int
	}
	finder := newSlotFinder(loc, limits, date, date)
	var found []candidate
	for i := range calendars {
		finder.loadCalendar(&calendars[i])
		finder.eachSlot(date, func(start int64, remaining int) {
			found = append(found, candidate{start, finder.bookingsOn(date), i, finder.length, remaining})
		})
	}
	if len(calendars) > 1 {
		slices.SortFunc(found, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.bookings, b.bookings), cmp.Compare(a.calendar, b.calendar))
		})
		found = slices.CompactFunc(found, func(a, b candidate) bool { return a.start == b.start })
	}
	slots := make([]Slot, len(found))
	for i, c := range found {
		slots[i] = Slot{
			Professional: calendars[c.calendar].Professional,
			Start:        finder.zone.time(c.start), End: finder.zone.time(c.start + c.length),
			Remaining: c.remaining,
		}
	}
	return slots
}

// alternativeDays is how far from the wanted day other times are looked for.
const alternativeDays = 14

// Alternatives proposes up to n slots for a time that is taken: those of the
// same day nearest to it, then those of the following days, at most 14. They are
// given in order of time and never at the wanted start itself.
func Alternatives(loc *time.Location, limits Limits, requested time.Time, n int, calendars []Calendar) []Slot {
	date := DateOf(requested, loc)
	found := slices.DeleteFunc(FreeSlots(loc, limits, date, calendars), func(slot Slot) bool { return slot.Start.Equal(requested) })
	slices.SortStableFunc(found, func(a, b Slot) int {
		return cmp.Compare(a.Start.Sub(requested).Abs(), b.Start.Sub(requested).Abs())
	})
	for next := date + 1; len(found) < n && next <= date+alternativeDays; next++ {
		found = append(found, FreeSlots(loc, limits, next, calendars)...)
	}
	found = found[:min(n, len(found))]
	slices.SortFunc(found, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	return found
}

// FindSlot finds the slot that starts exactly at start; ok is false where there
// is none.
func FindSlot(loc *time.Location, limits Limits, start time.Time, calendars []Calendar) (slot Slot, ok bool) {
	for _, slot := range FreeSlots(loc, limits, DateOf(start, loc), calendars) {
		if slot.Start.Equal(start) {
			return slot, true
		}
	}
	return Slot{}, false
}
