package booking

import (
	"context"
	"math/bits"
	"time"
)

// DayFree sums up the slots of one day.
type DayFree struct {
	Date  Date
	Free  int       // how many slots [FreeSlots] lists
	First time.Time // start of the first one; zero where there is none
}

// FreeDays sums up the days first to last, all of them in order. Each day's count
// agrees with [FreeSlots]. It takes long for many calendars, so it ends with ctx.
func FreeDays(ctx context.Context, loc *time.Location, limits Limits, first, last Date, calendars []Calendar) ([]DayFree, error) {
	if last < first {
		return nil, nil
	}
	finder := newSlotFinder(loc, limits, first, last)
	marks := newMarks(&finder.zone, first, last)
	for i := range calendars {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		finder.loadCalendar(&calendars[i])
		for date := first; date <= last; date++ {
			starts := marks.wordsOf(date)
			begin := marks.dayStarts[date-first]
			finder.eachSlot(date, func(start int64, _ int) {
				minute := (start - begin) / 60
				starts[minute/64] |= 1 << (minute % 64)
			})
		}
	}
	days := make([]DayFree, 0, len(marks.dayStarts))
	for date := first; date <= last; date++ {
		days = append(days, marks.summarize(&finder.zone, date))
	}
	return days, nil
}

// startMarks has one bit for every minute of some days: is there a slot that starts
// then. Professionals whose slots start together so count once, without sorting.
type startMarks struct {
	first       Date
	dayStarts   []int64 // the first instant of each day, and the end of the last
	wordOffsets []int   // where the words of each day begin
	words       []uint64
}

func newMarks(z *zone, first, last Date) *startMarks {
	n := int(last) - int(first) + 1
	m := &startMarks{first: first, dayStarts: make([]int64, n+1), wordOffsets: make([]int, n+1)}
	m.dayStarts[0] = z.dayStart(first)
	for i := range n {
		m.dayStarts[i+1] = z.dayStart(first + Date(i) + 1)
		inDay := max(0, m.dayStarts[i+1]-m.dayStarts[i]) / 60
		m.wordOffsets[i+1] = m.wordOffsets[i] + int(inDay/64) + 1
	}
	m.words = make([]uint64, m.wordOffsets[n])
	return m
}

func (m *startMarks) wordsOf(date Date) []uint64 {
	i := date - m.first
	return m.words[m.wordOffsets[i]:m.wordOffsets[i+1]]
}

func (m *startMarks) summarize(z *zone, date Date) DayFree {
	free := DayFree{Date: date}
	for i, word := range m.wordsOf(date) {
		if word != 0 && free.Free == 0 {
			minute := int64(i*64 + bits.TrailingZeros64(word))
			free.First = z.time(m.dayStarts[date-m.first] + minute*60)
		}
		free.Free += bits.OnesCount64(word)
	}
	return free
}
