package booking

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// zone is a time zone over the days one calculation looks at, as a list of
// stretches with one UTC offset each: mostly one, two where the clocks change.
// time.Date is not used for wall-clock times: in a gap or an overlap it picks
// one of the two offsets as it happens to find them.
type zone struct {
	loc     *time.Location
	periods []period
}

// period is the instants [from, until), in Unix seconds, that share an offset.
type period struct {
	from, until int64
	offset      int64 // seconds east of UTC
}

// margin is how far around its days a zone is looked up: no offset, and no jump
// of a clock, is longer than a day.
const margin = 2 * secondsPerDay

func newZone(loc *time.Location, first, last Date) zone {
	z := zone{loc: loc, periods: make([]period, 0, 4)}
	end := (int64(last)+1)*secondsPerDay + margin
	from := int64(math.MinInt64)
	for at := int64(first)*secondsPerDay - margin; ; {
		t := time.Unix(at, 0).In(loc)
		_, offset := t.Zone()
		_, until := t.ZoneBounds()
		if until.IsZero() || until.Unix() >= end {
			z.periods = append(z.periods, period{from: from, until: math.MaxInt64, offset: int64(offset)})
			return z
		}
		at = until.Unix()
		z.periods = append(z.periods, period{from: from, until: at, offset: int64(offset)})
		from = at
	}
}

// instant resolves a wall-clock time, in seconds since 1970-01-01 00:00 of the
// wall, as RFC 5545 (3.3.5) does: the first occurrence of a repeated time, and
// for a time that was skipped the offset before the gap.
func (z *zone) instant(wall int64) int64 {
	before := z.periods[0].offset
	for _, period := range z.periods {
		t := wall - period.offset
		if t < period.until {
			if t < period.from {
				return wall - before
			}
			return t
		}
		before = period.offset
	}
	return wall - before
}

// wall is what the clock on the wall shows at an instant, in seconds since
// 1970-01-01 00:00 of the wall.
func (z *zone) wall(instant int64) int64 {
	for _, period := range z.periods {
		if instant < period.until {
			return instant + period.offset
		}
	}
	return instant
}

func (z *zone) date(instant int64) Date { return Date(floorDiv(z.wall(instant), secondsPerDay)) }

// dayStart is the first instant of a day; it is also the end of the day before.
func (z *zone) dayStart(date Date) int64 { return z.instant(int64(date) * secondsPerDay) }

// start resolves a time of day as a beginning.
func (z *zone) start(date Date, clock TimeOfDay) int64 {
	return z.instant(int64(date)*secondsPerDay + int64(clock)*60)
}

// end resolves a time of day as an end, where 23:59 stands for midnight.
func (z *zone) end(date Date, clock TimeOfDay) int64 {
	if clock == endOfDay {
		return z.dayStart(date + 1)
	}
	return z.start(date, clock)
}

func (z *zone) time(instant int64) time.Time { return time.Unix(instant, 0).In(z.loc) }

// LoadRange is the stretch of instants whose appointments, holds and blocks
// matter for the days first to last in a zone: a query for busy rows takes
// those that end after from and start before until. It reaches beyond the days by
// the longest buffers two neighbours can have together.
func LoadRange(loc *time.Location, first, last Date) (from, until time.Time) {
	zone := newZone(loc, first, last)
	const margin = 2 * maxBufferMinutes * 60
	return zone.time(zone.dayStart(first) - margin), zone.time(zone.dayStart(last+1) + margin)
}

// DayStart is the first instant of a day in a zone; it is also the end of the day
// before.
func DayStart(loc *time.Location, date Date) time.Time {
	zone := newZone(loc, date, date)
	return zone.time(zone.dayStart(date))
}

// FormatOffset formats the UTC offset of a time: GMT−3, GMT+5:30.
func FormatOffset(moment time.Time) string {
	_, seconds := moment.Zone()
	sign := "+"
	if seconds < 0 {
		sign, seconds = "−", -seconds
	}
	if seconds == 0 {
		return "GMT"
	}
	text := "GMT" + sign + strconv.Itoa(seconds/3600)
	if rest := seconds / 60 % 60; rest > 0 {
		text += fmt.Sprintf(":%02d", rest)
	}
	return text
}
