package pages

import (
	"fmt"
	"time"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
)

// calendarLinks makes the links of a calendar: the same one books and moves.
type calendarLinks struct {
	month func(month string) string
	day   func(booking.Date) string
	start func(time.Time) string
}

// monthView is a month of days to choose from.
type monthView struct {
	Month          string
	Previous, Next string // links; "" = nothing to see there
	Weekdays       []weekdayHead
	Weeks          [][]dayCell
	Empty          bool // no day is free
	NextFree       string
	NextFreeLink   string // "" = none
	Other          string // link to other professionals, or ""
	Zone           string
}

// weekdayHead is the head of a column.
type weekdayHead struct{ Short, Long string }

// dayCell is a day; Day 0 is one of another month, which is not shown.
type dayCell struct {
	Day   int
	Name  string // of the day of the week, short
	Link  string // "" = not free
	Label string // read out
	Today bool
	Shown bool // its times are
}

// buildMonth shows the month of the address, or the first one with a free day.
func (v *visit) buildMonth(c publicbooking.Choice, p calendarLinks) (monthView, error) {
	view, today := v.publicBooking.ClientView(v.org), booking.DateOf(v.now, v.org.Zone)
	first, last := monthBounds(today)
	asked := v.query.Get("month")
	if asked != "" {
		var err error
		if first, last, err = booking.ParseMonth(asked); err != nil || first.Time().Year() < 1970 || first.Time().Year() > 9997 {
			return monthView{}, notOfferedError()
		}
	}
	days, err := v.publicBooking.FreeDays(v.ctx, view, c, first, last)
	if err != nil {
		return monthView{}, err
	}
	shown := monthView{Empty: !hasFreeDay(days), Zone: zoneName(v.now.In(v.org.Zone))}
	if shown.Empty {
		next, found, err := v.publicBooking.NextFreeDay(v.ctx, view, c, max(today, last+1))
		if err != nil {
			return monthView{}, err
		}
		if found && asked == "" { // what is over or full is of no use to begin with
			first, last = monthBounds(next.Date)
			shown.Empty = false
			if days, err = v.publicBooking.FreeDays(v.ctx, view, c, first, last); err != nil {
				return monthView{}, err
			}
		} else if found {
			shown.NextFree, shown.NextFreeLink = v.lang.formatDay(next.Date), p.day(next.Date)
		}
	}
	shown.Month = capitalize(v.lang.formatMonth(first))
	if first > today {
		shown.Previous = p.month(formatMonthParam(first - 1))
	}
	if view.Limits.LastDate == nil || last < *view.Limits.LastDate {
		shown.Next = p.month(formatMonthParam(last + 1))
	}
	shown.Weekdays, shown.Weeks = v.weekdayHeads(), v.buildWeeks(days, today, p)
	return shown, nil
}

func hasFreeDay(days []booking.DayFree) bool {
	for _, d := range days {
		if d.Free > 0 {
			return true
		}
	}
	return false
}

func monthBounds(d booking.Date) (first, last booking.Date) {
	year, month, _ := d.Time().Date()
	return booking.NewDate(year, month, 1), booking.NewDate(year, month+1, 1) - 1
}

func formatMonthParam(d booking.Date) string { return d.Time().Format("2006-01") }

func (v *visit) weekdayHeads() []weekdayHead {
	list := make([]weekdayHead, 7)
	for i := range list {
		at := (v.org.Settings.WeekStart + i) % 7
		list[i] = weekdayHead{v.lang.shortWeekdays[at], v.lang.weekdays[at]}
	}
	return list
}

// buildWeeks puts days into rows of a calendar.
func (v *visit) buildWeeks(days []booking.DayFree, today booking.Date, p calendarLinks) [][]dayCell {
	row := make([]dayCell, v.weekColumn(days[0].Date), 7)
	var weeks [][]dayCell
	for _, d := range days {
		row = append(row, v.newDayCell(d, today, p))
		if len(row) == 7 {
			weeks, row = append(weeks, row), nil
		}
	}
	if len(row) > 0 {
		weeks = append(weeks, append(row, make([]dayCell, 7-len(row))...))
	}
	return weeks
}

// weekColumn is where a day stands in its week.
func (v *visit) weekColumn(d booking.Date) int {
	return (d.Weekday() - v.org.Settings.WeekStart + 7) % 7
}

func (v *visit) newDayCell(d booking.DayFree, today booking.Date, p calendarLinks) dayCell {
	t := v.texts()
	c := dayCell{Day: d.Date.Time().Day(), Name: v.lang.shortWeekdays[d.Date.Weekday()], Today: d.Date == today, Label: capitalize(v.lang.formatDay(d.Date))}
	if c.Today {
		c.Label += " (" + t.Today + ")"
	}
	if d.Free == 0 {
		c.Label += ": " + t.NoTimes
		return c
	}
	c.Link = p.day(d.Date)
	c.Label += ": " + fmt.Sprintf(pluralForm(t.FreeTimes, d.Free), d.Free)
	return c
}

// dayView is the free slots of a day.
type dayView struct {
	Day            string
	Week           []dayCell
	Previous, Next string // links to other weeks; "" = nothing to see there
	Month          string // link
	Parts          []dayPart
	NextFree       string
	NextFreeLink   string // "" = none
	Zone, ZoneName string // for people, and of IANA
}

// dayPart is a part of the day.
type dayPart struct {
	Name  string
	Slots []slotOption
}

// slotOption is a time to choose.
type slotOption struct {
	Time, At string // At is for programs
	Link     string
	Places   string // of a group; "" = one
}

// buildDay shows the day of the address.
func (v *visit) buildDay(c publicbooking.Choice, p calendarLinks) (dayView, error) {
	d, err := booking.ParseDate(v.query.Get("date"))
	if err != nil || d.Time().Year() < 1970 || d.Time().Year() > 9997 {
		return dayView{}, notOfferedError()
	}
	view, today := v.publicBooking.ClientView(v.org), booking.DateOf(v.now, v.org.Zone)
	found, err := v.publicBooking.FreeSlots(v.ctx, view, c, d)
	if err != nil {
		return dayView{}, err
	}
	first := d - booking.Date(v.weekColumn(d))
	week, err := v.publicBooking.FreeDays(v.ctx, view, c, first, first+6)
	if err != nil {
		return dayView{}, err
	}
	noon := booking.DayStart(v.org.Zone, d).Add(12 * time.Hour)
	shown := dayView{
		Day: capitalize(v.lang.formatDay(d)), Parts: v.divideSlots(found, p), Month: p.month(formatMonthParam(d)),
		Zone: zoneName(noon.In(v.org.Zone)), ZoneName: v.org.Timezone,
	}
	for _, one := range week {
		cell := v.newDayCell(one, today, p)
		cell.Shown = one.Date == d
		shown.Week = append(shown.Week, cell)
	}
	if first > today {
		shown.Previous = p.day(max(first-1, today))
	}
	if view.Limits.LastDate == nil || first+7 <= *view.Limits.LastDate {
		shown.Next = p.day(first + 7)
	}
	if len(found.Slots) == 0 {
		next, ok, err := v.publicBooking.NextFreeDay(v.ctx, view, c, max(today, d+1))
		if err != nil {
			return dayView{}, err
		}
		if ok {
			shown.NextFree, shown.NextFreeLink = v.lang.formatDay(next.Date), p.day(next.Date)
		}
	}
	return shown, nil
}

// divideSlots divides a day's slots into its parts.
func (v *visit) divideSlots(day publicbooking.DaySlots, p calendarLinks) []dayPart {
	t := v.texts()
	names, ends := []string{t.Morning, t.Afternoon, t.Evening}, []int{12, 18, 24}
	seen := map[string]int{}
	for _, s := range day.Slots {
		seen[v.formatClock(s.Start)]++
	}
	group := len(day.Calendars) > 0 && day.Calendars[0].Offer.Capacity > 1
	var parts []dayPart
	at := 0
	for _, s := range day.Slots {
		local := s.Start.In(v.org.Zone)
		for local.Hour() >= ends[at] {
			at++
		}
		one := slotOption{Time: v.formatClock(s.Start), At: v.formatInstant(s.Start), Link: p.start(s.Start)}
		if seen[one.Time] > 1 { // clocks go back and show it twice
			one.Time += " " + formatOffset(local)
		}
		if group {
			one.Places = fmt.Sprintf(pluralForm(t.PlacesLeft, s.Remaining), s.Remaining)
		}
		if len(parts) == 0 || parts[len(parts)-1].Name != names[at] {
			parts = append(parts, dayPart{Name: names[at]})
		}
		parts[len(parts)-1].Slots = append(parts[len(parts)-1].Slots, one)
	}
	return parts
}
