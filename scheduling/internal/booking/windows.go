package booking

import (
	"cmp"
	"slices"
	"time"
)

// Rule is one line of a professional's week: hours on one weekday, with a break
// of its own or none.
type Rule struct {
	Weekday    int // 0 = Monday to 6 = Sunday
	Start, End Clock
	Break      *Break // nil: no break
	Active     bool
}

// Break is a pause within the rule it belongs to; it does not cut other rules.
// What of it lies outside the rule's hours has no effect.
type Break struct {
	Start, End Clock
}

// ExceptionKind tells what an exception does to its day.
type ExceptionKind string

// The kinds of exceptions.
const (
	Block ExceptionKind = "block" // time off; wins over rules and extra hours
	Extra ExceptionKind = "extra" // hours in addition to the rules
)

// Exception changes one day of a professional.
type Exception struct {
	Date  Date
	Kind  ExceptionKind
	Hours *Hours // nil: the whole day
}

// Hours are from Start until End on one day. An End of 23:59 is midnight.
type Hours struct {
	Start, End Clock
}

// span is the instants [from, to), in Unix seconds.
type span struct{ from, until int64 }

func (s span) overlaps(from, to int64) bool { return s.from < to && from < s.until }

// day is the hours of one professional on one date, as instants. Its slices are
// used again for the next day.
type day struct {
	windows []span // open hours before blocks are taken out; in order, apart from each other
	blocks  []span
}

// load works out the hours of a date. Bounds are resolved one by one and only
// then compared, so hours that the clocks skip are empty and hours they repeat
// are long.
func (h *day) load(z *zone, d Date, rules []Rule, exceptions []Exception) {
	h.windows, h.blocks = h.windows[:0], h.blocks[:0]
	weekday := d.Weekday()
	for i := range rules {
		r := &rules[i]
		if !r.Active || r.Weekday != weekday {
			continue
		}
		from, to := z.start(d, r.Start), z.end(d, r.End)
		if r.Break != nil {
			pause, resume := z.start(d, r.Break.Start), z.end(d, r.Break.End)
			if pause < resume && pause < to && from < resume {
				h.addWindow(from, pause)
				from = resume
			}
		}
		h.addWindow(from, to)
	}
	for i := range exceptions {
		e := &exceptions[i]
		if e.Date != d {
			continue
		}
		whole := span{z.dayStart(d), z.dayStart(d + 1)}
		if e.Hours != nil {
			whole = span{z.start(d, e.Hours.Start), z.end(d, e.Hours.End)}
		}
		switch {
		case e.Kind == Extra:
			h.addWindow(whole.from, whole.until)
		case e.Kind == Block && whole.from < whole.until:
			h.blocks = append(h.blocks, whole)
		}
	}
	h.windows = mergeSpans(h.windows)
}

func (h *day) addWindow(from, to int64) {
	if from < to {
		h.windows = append(h.windows, span{from, to})
	}
}

// isBlocked tells whether any block overlaps [from, to).
func (h *day) isBlocked(from, to int64) bool {
	for _, b := range h.blocks {
		if b.overlaps(from, to) {
			return true
		}
	}
	return false
}

// workingSpans gives the windows without the blocks.
func (h *day) workingSpans() []span {
	var out []span
	blocks := mergeSpans(slices.Clone(h.blocks))
	for _, w := range h.windows {
		for _, b := range blocks {
			if !b.overlaps(w.from, w.until) {
				continue
			}
			if w.from < b.from {
				out = append(out, span{w.from, b.from})
			}
			w.from = b.until
		}
		if w.from < w.until {
			out = append(out, w)
		}
	}
	return out
}

// mergeSpans sorts spans and merges those that overlap or touch; empty ones vanish.
// It works in place.
func mergeSpans(spans []span) []span {
	spans = slices.DeleteFunc(spans, func(s span) bool { return s.from >= s.until })
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	n := 0
	for _, s := range spans[1:] {
		if s.from <= spans[n].until {
			spans[n].until = max(spans[n].until, s.until)
			continue
		}
		n++
		spans[n] = s
	}
	return spans[:n+1]
}

// WithinHours tells whether the whole of [start, end) is working time: open by
// rules or extra hours and not blocked. It may run past midnight into the next
// day's hours.
func WithinHours(loc *time.Location, start, end time.Time, rules []Rule, exceptions []Exception) bool {
	from, to := start.Unix(), ceilUnix(end)
	first, last := DateOf(start, loc), DateOf(end, loc)
	if last < first { // clocks were put back past midnight in between
		first, last = last, first
	}
	z := newZone(loc, first, last)
	var open []span
	var h day
	for d := first; d <= last; d++ {
		h.load(&z, d, rules, exceptions)
		open = append(open, h.workingSpans()...)
	}
	for _, w := range mergeSpans(open) {
		if w.from <= from && to <= w.until {
			return true
		}
	}
	return false
}

// Occupancy measures the days first to last of one professional: the minutes
// of working time, and how many of them are taken by appointments. Appointments
// count as far as they lie in working time, and time taken twice (a group, an
// overbooking) counts once.
func Occupancy(loc *time.Location, first, last Date, rules []Rule, exceptions []Exception, busy []Busy) (available, booked int64) {
	z := newZone(loc, first, last)
	var open, taken []span
	var h day
	for d := first; d <= last; d++ {
		h.load(&z, d, rules, exceptions)
		open = append(open, h.workingSpans()...)
	}
	for i := range busy {
		taken = append(taken, span{busy[i].Start.Unix(), ceilUnix(busy[i].End)})
	}
	open, taken = mergeSpans(open), mergeSpans(taken)
	next := 0
	for _, w := range open {
		available += w.until - w.from
		for next < len(taken) && taken[next].until <= w.from {
			next++
		}
		for i := next; i < len(taken) && taken[i].from < w.until; i++ {
			booked += min(w.until, taken[i].until) - max(w.from, taken[i].from)
		}
	}
	return available / 60, booked / 60
}

func ceilUnix(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
