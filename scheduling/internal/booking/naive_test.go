package booking

import (
	"slices"
	"time"
)

// The engine once more, as slow and plain as its rules read: time is walked
// minute by minute and asked what the clock shows. Nothing of it is shared with
// the engine but the types.

// naiveInstant finds the first instant at which the clock shows a wall time, or
// takes the offset before the gap that skips it.
func naiveInstant(loc *time.Location, wall time.Time) time.Time {
	shown := func(t time.Time) time.Time {
		_, offset := t.In(loc).Zone()
		return t.UTC().Add(time.Duration(offset) * time.Second)
	}
	for t := wall.Add(-16 * time.Hour); t.Before(wall.Add(16 * time.Hour)); t = t.Add(time.Minute) {
		if shown(t).Equal(wall) {
			return t
		}
		if shown(t).Before(wall) && shown(t.Add(time.Minute)).After(wall) {
			_, offset := t.In(loc).Zone()
			return wall.Add(-time.Duration(offset) * time.Second)
		}
	}
	panic("a wall time without an instant")
}

// naiveClock resolves times of day; it keeps what it found, walking is slow.
type naiveClock struct {
	loc   *time.Location
	known map[time.Time]time.Time
}

func (n *naiveClock) at(date Date, clock TimeOfDay, isEnd bool) time.Time {
	wall := date.Time().Add(time.Duration(clock) * time.Minute)
	if isEnd && clock == 23*60+59 {
		wall = date.Time().AddDate(0, 0, 1)
	}
	if _, ok := n.known[wall]; !ok {
		n.known[wall] = naiveInstant(n.loc, wall)
	}
	return n.known[wall]
}

// naiveOpen is the set of minutes in which windows are open, before blocks, and
// those that are blocked.
func naiveOpen(n *naiveClock, date Date, calendar *Calendar) (open, blocked map[int64]bool) {
	open, blocked = map[int64]bool{}, map[int64]bool{}
	fill := func(set map[int64]bool, from, until time.Time) {
		for m := from; m.Before(until); m = m.Add(time.Minute) {
			set[m.Unix()] = true
		}
	}
	for _, rule := range calendar.Rules {
		if !rule.Active || time.Weekday((rule.Weekday+1)%7) != date.Time().Weekday() {
			continue
		}
		own := map[int64]bool{}
		fill(own, n.at(date, rule.Start, false), n.at(date, rule.End, true))
		if rule.Break != nil {
			pause := map[int64]bool{}
			fill(pause, n.at(date, rule.Break.Start, false), n.at(date, rule.Break.End, true))
			for m := range pause {
				delete(own, m)
			}
		}
		for m := range own {
			open[m] = true
		}
	}
	for _, exception := range calendar.Exceptions {
		if exception.Date != date {
			continue
		}
		from, until := n.at(date, 0, false), n.at(date+1, 0, false)
		if exception.Hours != nil {
			from, until = n.at(date, exception.Hours.Start, false), n.at(date, exception.Hours.End, true)
		}
		fill(map[ExceptionKind]map[int64]bool{Extra: open, Block: blocked}[exception.Kind], from, until)
	}
	return open, blocked
}

func naiveDay(loc *time.Location, limits Limits, date Date, calendar *Calendar) []Slot {
	slots := []Slot{}
	n := &naiveClock{loc, map[time.Time]time.Time{}}
	open, blocked := naiveOpen(n, date, calendar)
	today := 0
	for _, busy := range calendar.Busy {
		if busy.Start.In(loc).Format(time.DateOnly) == date.String() {
			today++
		}
	}
	if calendar.MaxPerDay > 0 && today >= calendar.MaxPerDay || limits.LastDate != nil && date > *limits.LastDate {
		return slots
	}
	step := calendar.Offer.Step
	if step == 0 {
		step = calendar.Offer.Duration
	}
	for m := range open {
		if open[m-60] {
			continue // not where a window starts
		}
		for start := time.Unix(m, 0); open[start.Unix()]; start = start.Add(step) {
			end := start.Add(calendar.Offer.Duration)
			if left := naiveSeats(start, end, calendar); left > 0 && naiveAllowed(loc, limits, date, start, end, open, blocked) {
				slots = append(slots, Slot{calendar.Professional, start.In(loc), end.In(loc), left})
			}
			if !naiveAll(open, true, start, start.Add(step)) {
				break // the next start is beyond this window
			}
		}
	}
	slices.SortFunc(slots, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	return slots
}

// naiveAll reports whether every minute of [from, to) is in the set, or none.
func naiveAll(set map[int64]bool, in bool, from, until time.Time) bool {
	for m := from; m.Before(until); m = m.Add(time.Minute) {
		if set[m.Unix()] != in {
			return false
		}
	}
	return true
}

func naiveAllowed(loc *time.Location, limits Limits, date Date, start, end time.Time, open, blocked map[int64]bool) bool {
	return naiveAll(open, true, start, end) && naiveAll(blocked, false, start, end) &&
		!start.Before(limits.Earliest) && start.In(loc).Format(time.DateOnly) == date.String()
}

func naiveSeats(start, end time.Time, calendar *Calendar) int {
	left := calendar.Offer.Capacity
	for _, busy := range calendar.Busy {
		session := calendar.Offer.Capacity > 1 && busy.Service == calendar.Offer.Service && busy.Start.Equal(start) && busy.End.Equal(end)
		exists := !end.Add(calendar.Offer.BufferAfter + busy.BufferBefore).After(busy.Start)
		after := !busy.End.Add(busy.BufferAfter + calendar.Offer.BufferBefore).After(start)
		switch {
		case session:
			left--
		case !exists && !after:
			return 0
		}
	}
	return left
}
