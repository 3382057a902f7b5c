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

func (n *naiveClock) at(d Date, c Clock, isEnd bool) time.Time {
	wall := d.Time().Add(time.Duration(c) * time.Minute)
	if isEnd && c == 23*60+59 {
		wall = d.Time().AddDate(0, 0, 1)
	}
	if _, ok := n.known[wall]; !ok {
		n.known[wall] = naiveInstant(n.loc, wall)
	}
	return n.known[wall]
}

// naiveOpen is the set of minutes in which windows are open, before blocks, and
// those that are blocked.
func naiveOpen(n *naiveClock, d Date, c *Calendar) (open, blocked map[int64]bool) {
	open, blocked = map[int64]bool{}, map[int64]bool{}
	fill := func(set map[int64]bool, from, to time.Time) {
		for m := from; m.Before(to); m = m.Add(time.Minute) {
			set[m.Unix()] = true
		}
	}
	for _, r := range c.Rules {
		if !r.Active || time.Weekday((r.Weekday+1)%7) != d.Time().Weekday() {
			continue
		}
		own := map[int64]bool{}
		fill(own, n.at(d, r.Start, false), n.at(d, r.End, true))
		if r.Break != nil {
			pause := map[int64]bool{}
			fill(pause, n.at(d, r.Break.Start, false), n.at(d, r.Break.End, true))
			for m := range pause {
				delete(own, m)
			}
		}
		for m := range own {
			open[m] = true
		}
	}
	for _, e := range c.Exceptions {
		if e.Date != d {
			continue
		}
		from, to := n.at(d, 0, false), n.at(d+1, 0, false)
		if e.Hours != nil {
			from, to = n.at(d, e.Hours.Start, false), n.at(d, e.Hours.End, true)
		}
		fill(map[ExceptionKind]map[int64]bool{Extra: open, Block: blocked}[e.Kind], from, to)
	}
	return open, blocked
}

func naiveDay(loc *time.Location, l Limits, d Date, c *Calendar) []Slot {
	slots := []Slot{}
	n := &naiveClock{loc, map[time.Time]time.Time{}}
	open, blocked := naiveOpen(n, d, c)
	today := 0
	for _, b := range c.Busy {
		if b.Start.In(loc).Format(time.DateOnly) == d.String() {
			today++
		}
	}
	if c.MaxPerDay > 0 && today >= c.MaxPerDay || l.LastDate != nil && d > *l.LastDate {
		return slots
	}
	step := c.Offer.Step
	if step == 0 {
		step = c.Offer.Duration
	}
	for m := range open {
		if open[m-60] {
			continue // not where a window starts
		}
		for start := time.Unix(m, 0); open[start.Unix()]; start = start.Add(step) {
			end := start.Add(c.Offer.Duration)
			if left := naiveSeats(start, end, c); left > 0 && naiveAllowed(loc, l, d, start, end, open, blocked) {
				slots = append(slots, Slot{c.Professional, start.In(loc), end.In(loc), left})
			}
			if !naiveAll(open, true, start, start.Add(step)) {
				break // the next start is beyond this window
			}
		}
	}
	slices.SortFunc(slots, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	return slots
}

// naiveAll tells whether every minute of [from, to) is in the set, or none.
func naiveAll(set map[int64]bool, in bool, from, to time.Time) bool {
	for m := from; m.Before(to); m = m.Add(time.Minute) {
		if set[m.Unix()] != in {
			return false
		}
	}
	return true
}

func naiveAllowed(loc *time.Location, l Limits, d Date, start, end time.Time, open, blocked map[int64]bool) bool {
	return naiveAll(open, true, start, end) && naiveAll(blocked, false, start, end) &&
		!start.Before(l.Earliest) && start.In(loc).Format(time.DateOnly) == d.String()
}

func naiveSeats(start, end time.Time, c *Calendar) int {
	left := c.Offer.Capacity
	for _, b := range c.Busy {
		session := c.Offer.Capacity > 1 && b.Service == c.Offer.Service && b.Start.Equal(start) && b.End.Equal(end)
		before := !end.Add(c.Offer.BufferAfter + b.BufferBefore).After(b.Start)
		after := !b.End.Add(b.BufferAfter + c.Offer.BufferBefore).After(start)
		switch {
		case session:
			left--
		case !before && !after:
			return 0
		}
	}
	return left
}
