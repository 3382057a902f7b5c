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
	Start, End TimeOfDay
	Break      *Break // nil: no break
	Active     bool
}

// Break is a pause within the rule it belongs to; it does not cut other rules.
// What of it lies outside the rule's hours has no effect.
type Break struct {
	Start, End TimeOfDay
}

// ExceptionKind is the effect of an exception on its day.
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
	Start, End TimeOfDay
}

// span is the instants [from, until), in Unix seconds.
type span struct{ from, until int64 }

func (s span) overlaps(from, until int64) bool { return s.from < until && from < s.until }

// dayHours is the hours of one professional on one date, as instants. Its slices are
// used again for the next day.
type dayHours struct {
	windows []span // open hours before blocks are taken out; in order, apart from each other
	blocks  []span
}

// load works out the hours of a date. Bounds are resolved one by one and only
// then compared, so hours that the clocks skip are empty and hours they repeat
// are long.
func (h *dayHours) load(z *zone, date Date, rules []Rule, exceptions []Exception) {
	h.windows, h.blocks = h.windows[:0], h.blocks[:0]
	weekday := date.Weekday()
	for i := range rules {
		rule := &rules[i]
		if !rule.Active || rule.Weekday != weekday {
			continue
		}
		from, until := z.start(date, rule.Start), z.end(date, rule.End)
		if rule.Break != nil {
			pause, resume := z.start(date, rule.Break.Start), z.end(date, rule.Break.End)
			if pause < resume && pause < until && from < resume {
				h.addWindow(from, pause)
				from = resume
			}
		}
		h.addWindow(from, until)
	}
	for i := range exceptions {
		exception := &exceptions[i]
		if exception.Date != date {
			continue
		}
		whole := span{z.dayStart(date), z.dayStart(date + 1)}
		if exception.Hours != nil {
			whole = span{z.start(date, exception.Hours.Start), z.end(date, exception.Hours.End)}
		}
		switch {
		case exception.Kind == Extra:
			h.addWindow(whole.from, whole.until)
		case exception.Kind == Block && whole.from < whole.until:
			h.blocks = append(h.blocks, whole)
		}
	}
	h.windows = mergeSpans(h.windows)
}

func (h *dayHours) addWindow(from, until int64) {
	if from < until {
		h.windows = append(h.windows, span{from, until})
	}
}

// isBlocked reports whether any block overlaps [from, until).
func (h *dayHours) isBlocked(from, until int64) bool {
	for _, b := range h.blocks {
		if b.overlaps(from, until) {
			return true
		}
	}
	return false
}

// workingSpans returns the windows without the blocks.
func (h *dayHours) workingSpans() []span {
	var out []span
	blocks := mergeSpans(slices.Clone(h.blocks))
	for _, window := range h.windows {
		for _, b := range blocks {
			if !b.overlaps(window.from, window.until) {
				continue
			}
			if window.from < b.from {
				out = append(out, span{window.from, b.from})
			}
			window.from = b.until
		}
		if window.from < window.until {
			out = append(out, window)
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

// orderByDate appends the exceptions to buffer, in the order of their days.
func orderByDate(buffer, exceptions []Exception) []Exception {
	buffer = append(buffer, exceptions...)
	byDate := func(a, b Exception) int { return cmp.Compare(a.Date, b.Date) }
	if !slices.IsSortedFunc(buffer, byDate) {
		slices.SortStableFunc(buffer, byDate)
	}
	return buffer
}

// exceptionsOn returns the exceptions of a day from those that [orderByDate] has ordered.
func exceptionsOn(ordered []Exception, date Date) []Exception {
	first, _ := slices.BinarySearchFunc(ordered, date, func(e Exception, d Date) int { return cmp.Compare(e.Date, d) })
	end := first
	for end < len(ordered) && ordered[end].Date == date {
		end++
	}
	return ordered[first:end]
}

// WithinHours reports whether the whole of [start, end) is working time: open by
// rules or extra hours and not blocked. It may run past midnight into the
// next day's hours.
func WithinHours(loc *time.Location, start, end time.Time, rules []Rule, exceptions []Exception) bool {
	from, until := start.Unix(), ceilUnix(end)
	first, last := DateOf(start, loc), DateOf(end, loc)
	if last < first { // clocks were put back past midnight in between
		first, last = last, first
	}
	zone := newZone(loc, first, last)
	var open []span
	var hours dayHours
	for date := first; date <= last; date++ {
		hours.load(&zone, date, rules, exceptions)
		open = append(open, hours.workingSpans()...)
	}
	for _, window := range mergeSpans(open) {
		if window.from <= from && until <= window.until {
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
	zone := newZone(loc, first, last)
	ordered := orderByDate(nil, exceptions)
	var open, taken []span
	var hours dayHours
	for date := first; date <= last; date++ {
		hours.load(&zone, date, rules, exceptionsOn(ordered, date))
		open = append(open, hours.workingSpans()...)
	}
	for i := range busy {
		taken = append(taken, span{busy[i].Start.Unix(), ceilUnix(busy[i].End)})
	}
	open, taken = mergeSpans(open), mergeSpans(taken)
	next := 0
	for _, window := range open {
		available += window.until - window.from
		for next < len(taken) && taken[next].until <= window.from {
			next++
		}
		for i := next; i < len(taken) && taken[i].from < window.until; i++ {
			booked += min(window.until, taken[i].until) - max(window.from, taken[i].from)
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
