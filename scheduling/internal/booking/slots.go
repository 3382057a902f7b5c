package booking

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Busy is time that a professional has given away: an appointment whose status
// blocks ([Status.Blocks]) or a hold that has not run out. One row is one seat.
type Busy struct {
	Start, End   time.Time
	Service      uuid.UUID
	BufferBefore time.Duration // of its service
	BufferAfter  time.Duration // of its service
}

// Calendar is what the slots of one professional for one service are made of.
type Calendar struct {
	Professional uuid.UUID
	Offer        Offer
	Rules        []Rule
	Exceptions   []Exception // of the days asked about; others have no effect
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
	Start, End   time.Time // in the zone that was asked for
	Remaining    int       // free seats, at least 1
}

// busySpan is a busy time prepared for comparison, in Unix seconds.
type busySpan struct {
	blockedFrom, blockedUntil int64 // with its buffers
	start, end                int64
	sameSession               bool // a seat in a session of the service that is being looked for
}

// slotFinder works through the calendars of one question. Its slices are used again
// for each of them.
type slotFinder struct {
	zone     zone
	earliest int64
	last     Date // no slot starts on a later day
	first    Date // the first day asked about; perDay counts from here
	fullDays bool

	calendar     *Calendar
	length       int64
	step         int64
	hours        dayHours
	taken        []busySpan
	latestEnd    []int64 // latest[i] is the latest to of taken[0..i]
	perDay       []int   // bookings that start on each day
	bufferBefore int64
	bufferAfter  int64
	capacity     int
	maxPerDay    int
}

func newEngine(loc *time.Location, limits Limits, first, last Date) *slotFinder {
	e := &slotFinder{
		zone: newZone(loc, first, last), earliest: ceilUnix(limits.Earliest),
		first: first, last: last, fullDays: limits.FullDays, perDay: make([]int, max(0, int(last)-int(first)+1)),
	}
	if limits.LastDate != nil && *limits.LastDate < last {
		e.last = *limits.LastDate
	}
	return e
}

// loadCalendar prepares a calendar. Each neighbour of a slot keeps its own buffers, so
// the needed gap is the earlier one's buffer after and the later one's before:
// the same as both with their buffers not overlapping.
func (e *slotFinder) loadCalendar(calendar *Calendar) {
	offer := &calendar.Offer
	e.calendar = calendar
	e.length, e.step = seconds(offer.Duration), seconds(offer.Step)
	if e.step <= 0 {
		e.step = e.length
	}
	e.bufferBefore, e.bufferAfter = seconds(offer.BufferBefore), seconds(offer.BufferAfter)
	e.capacity, e.maxPerDay = max(offer.Capacity, 1), calendar.MaxPerDay
	e.taken, e.latestEnd = e.taken[:0], e.latestEnd[:0]
	clear(e.perDay)
	inOrder := true
	for i := range calendar.Busy {
		busy := &calendar.Busy[i]
		start, end := busy.Start.Unix(), ceilUnix(busy.End)
		t := busySpan{
			blockedFrom: start - seconds(busy.BufferBefore), blockedUntil: end + seconds(busy.BufferAfter),
			start: start, end: end,
			sameSession: e.capacity > 1 && busy.Service == offer.Service,
		}
		inOrder = inOrder && (i == 0 || e.taken[i-1].blockedFrom <= t.blockedFrom)
		e.taken = append(e.taken, t)
		if n := e.zone.date(start) - e.first; n >= 0 && int(n) < len(e.perDay) {
			e.perDay[n]++
		}
	}
	if !inOrder {
		slices.SortFunc(e.taken, func(a, b busySpan) int { return cmp.Compare(a.blockedFrom, b.blockedFrom) })
	}
	for i := range e.taken {
		until := e.taken[i].blockedUntil
		if i > 0 {
			until = max(until, e.latestEnd[i-1])
		}
		e.latestEnd = append(e.latestEnd, until)
	}
}

func seconds(duration time.Duration) int64 { return int64(duration / time.Second) }

// bookingsOn is how many bookings of the calendar in use start on a day.
func (e *slotFinder) bookingsOn(date Date) int { return e.perDay[date-e.first] }

// eachSlot calls yield with every slot of a day, in order. A slot starts at its
// window's start and then every step; blocks and busy times take slots away and
// do not move the others.
func (e *slotFinder) eachSlot(date Date, yield func(start int64, remaining int)) {
	if date > e.last || e.length <= 0 || e.zone.dayStart(date+1) <= e.earliest {
		return
	}
	if e.maxPerDay > 0 && e.bookingsOn(date) >= e.maxPerDay && !e.fullDays {
		return
	}
	e.hours.load(&e.zone, date, e.calendar.Rules, e.calendar.Exceptions)
	if len(e.hours.windows) == 0 {
		return
	}
	next, _ := slices.BinarySearch(e.latestEnd, e.hours.windows[0].from-e.bufferBefore)
	for _, window := range e.hours.windows {
		for start := window.from; start+e.length <= window.until; start += e.step {
			end := start + e.length
			if start < e.earliest || e.zone.date(start) != date || e.hours.isBlocked(start, end) {
				continue
			}
			for next < len(e.latestEnd) && e.latestEnd[next] <= start-e.bufferBefore {
				next++
			}
			if remaining := e.remaining(next, start, end); remaining > 0 {
				yield(start, remaining)
			}
		}
	}
}

// remaining counts the free seats in [start, end): none where the professional
// is busy with something else, which is everything but the very same session.
// Busy times before index next are over by then.
func (e *slotFinder) remaining(next int, start, end int64) int {
	free := e.capacity
	for _, t := range e.taken[next:] {
		if t.blockedFrom >= end+e.bufferAfter {
			break
		}
		if t.blockedUntil <= start-e.bufferBefore {
			continue
		}
		if !t.sameSession || t.start != start || t.end != end {
			return 0
		}
		free--
	}
	return free
}

// SeatsAt counts the seats that are free at start for a professional, whatever
// the hours and the grid say: the check of a write. 0 means that the time is
// busySpan. MaxPerDay plays no part.
func SeatsAt(start time.Time, offer Offer, busy []Busy) int {
	date := DateOf(start, time.UTC)
	engine := newEngine(time.UTC, Limits{}, date, date)
	engine.loadCalendar(&Calendar{Offer: offer, Busy: busy})
	from := start.Unix()
	return max(0, engine.remaining(0, from, ceilUnix(start.Add(offer.Duration))))
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
	engine := newEngine(loc, limits, date, date)
	var found []candidate
	for i := range calendars {
		engine.loadCalendar(&calendars[i])
		engine.eachSlot(date, func(start int64, remaining int) {
			found = append(found, candidate{start, engine.bookingsOn(date), i, engine.length, remaining})
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
			Start:        engine.zone.time(c.start), End: engine.zone.time(c.start + c.length),
			Remaining: c.remaining,
		}
	}
	return slots
}
