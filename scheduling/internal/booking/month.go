package booking

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// DayFree sums up the slots of one day.
type DayFree struct {
	Date  Date
	Free  int       // how many slots [FreeSlots] lists
	First time.Time // start of the first one; zero where there is none
}

// FreeDays sums up the days first to last, all of them in order. What it says of a
// day agrees with [FreeSlots] for the same calendars.
func FreeDays(loc *time.Location, l Limits, first, last Date, calendars []Calendar) []DayFree {
	if last < first {
		return nil
	}
	e := newEngine(loc, l, first, last)
	marks := newMarks(&e.zone, first, last)
	for i := range calendars {
		e.loadCalendar(&calendars[i])
		for d := first; d <= last; d++ {
			starts := marks.wordsOf(d)
			begin := marks.dayStarts[d-first]
			e.eachSlot(d, func(start int64, _ int) {
				minute := (start - begin) / 60
				starts[minute/64] |= 1 << (minute % 64)
			})
		}
	}
	days := make([]DayFree, 0, len(marks.dayStarts)-1)
	for d := first; d <= last; d++ {
		days = append(days, marks.summarize(&e.zone, d))
	}
	return days
}

// marks has one bit for every minute of some days: is there a slot that starts
// then. Professionals whose slots start together so count once, without sorting.
type marks struct {
	first       Date
	dayStarts   []int64 // the first instant of each day, and the end of the last
	wordOffsets []int   // where the words of each day begin
	words       []uint64
}

func newMarks(z *zone, first, last Date) *marks {
	n := int(last) - int(first) + 1
	m := &marks{first: first, dayStarts: make([]int64, n+1), wordOffsets: make([]int, n+1)}
	m.dayStarts[0] = z.dayStart(first)
	for i := range n {
		m.dayStarts[i+1] = z.dayStart(first + Date(i) + 1)
		inDay := max(0, m.dayStarts[i+1]-m.dayStarts[i]) / 60
		m.wordOffsets[i+1] = m.wordOffsets[i] + int(inDay/64) + 1
	}
	m.words = make([]uint64, m.wordOffsets[n])
	return m
}

func (m *marks) wordsOf(d Date) []uint64 {
	i := d - m.first
	return m.words[m.wordOffsets[i]:m.wordOffsets[i+1]]
}

func (m *marks) summarize(z *zone, d Date) DayFree {
	free := DayFree{Date: d}
	for i, word := range m.wordsOf(d) {
		if word != 0 && free.Free == 0 {
			minute := int64(i*64 + bits.TrailingZeros64(word))
			free.First = z.time(m.dayStarts[d-m.first] + minute*60)
		}
		free.Free += bits.OnesCount64(word)
	}
	return free
}

// alternativeDays is how far from the wanted day other times are looked for.
const alternativeDays = 14

// Alternatives proposes up to n slots for a time that is taken: those of the
// same day nearest to it, then those of the following days, at most 14. They are
// given in order of time and never at the wanted start itself.
func Alternatives(loc *time.Location, l Limits, wanted time.Time, n int, calendars []Calendar) []Slot {
	d := DateOf(wanted, loc)
	found := slices.DeleteFunc(FreeSlots(loc, l, d, calendars), func(s Slot) bool { return s.Start.Equal(wanted) })
	slices.SortStableFunc(found, func(a, b Slot) int {
		return cmp.Compare(a.Start.Sub(wanted).Abs(), b.Start.Sub(wanted).Abs())
	})
	for next := d + 1; len(found) < n && next <= d+alternativeDays; next++ {
		found = append(found, FreeSlots(loc, l, next, calendars)...)
	}
	found = found[:min(n, len(found))]
	slices.SortFunc(found, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	return found
}

// FindSlot finds the slot that starts exactly at start; ok is false where there
// is none.
func FindSlot(loc *time.Location, l Limits, start time.Time, calendars []Calendar) (slot Slot, ok bool) {
	for _, s := range FreeSlots(loc, l, DateOf(start, loc), calendars) {
		if s.Start.Equal(start) {
			return s, true
		}
	}
	return Slot{}, false
}
