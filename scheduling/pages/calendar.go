package pages

import (
	"fmt"
	"time"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
)

// planner makes the links of a calendar: the same one books and moves.
type planner struct {
	month func(month string) string
	day   func(booking.Date) string
	start func(time.Time) string
}

// monthView is a month of days to choose from.
type monthView struct {
	Month          string
	Previous, Next string // links; "" = nothing to see there
	Weekdays       []weekday
	Weeks          [][]cell
	Empty          bool // no day is free
	NextFree       string
	NextFreeLink   string // "" = none
	Other          string // link to other professionals, or ""
	Zone           string
}

// weekday is the head of a column.
type weekday struct{ Short, Long string }

// cell is a day; Day 0 is one of another month, which is not shown.
type cell struct {
	Day   int
	Name  string // of the day of the week, short
	Link  string // "" = not free
	Label string // read out
	Today bool
	Shown bool // its times are
}

// month shows the month of the address, or the first one with a free day.
func (v *visit) month(c publicbooking.Choice, p planner) (monthView, error) {
	view, today := v.desk.ClientView(v.org), booking.DateOf(v.now, v.org.Zone)
	first, last := monthOf(today)
	asked := v.query.Get("month")
	if asked != "" {
		var err error
		if first, last, err = booking.ParseMonth(asked); err != nil || first.Time().Year() < 1970 || first.Time().Year() > 9997 {
			return monthView{}, gone()
		}
	}
	days, err := v.desk.FreeDays(v.ctx, view, c, first, last)
	if err != nil {
		return monthView{}, err
	}
	shown := monthView{Empty: !anyFree(days), Zone: place(v.now.In(v.org.Zone))}
	if shown.Empty {
		next, found, err := v.desk.NextFreeDay(v.ctx, view, c, max(today, last+1))
		if err != nil {
			return monthView{}, err
		}
		if found && asked == "" { // what is over or full is of no use to begin with
			first, last = monthOf(next.Date)
			shown.Empty = false
			if days, err = v.desk.FreeDays(v.ctx, view, c, first, last); err != nil {
				return monthView{}, err
			}
		} else if found {
			shown.NextFree, shown.NextFreeLink = v.lang.day(next.Date), p.day(next.Date)
		}
	}
	shown.Month = sentence(v.lang.month(first))
	if first > today {
		shown.Previous = p.month(monthName(first - 1))
	}
	if view.Limits.LastDate == nil || last < *view.Limits.LastDate {
		shown.Next = p.month(monthName(last + 1))
	}
	shown.Weekdays, shown.Weeks = v.weekdays(), v.weeks(days, today, p)
	return shown, nil
}

func anyFree(days []booking.DayFree) bool {
	for _, d := range days {
		if d.Free > 0 {
			return true
		}
	}
	return false
}

func monthOf(d booking.Date) (first, last booking.Date) {
	year, month, _ := d.Time().Date()
	return booking.NewDate(year, month, 1), booking.NewDate(year, month+1, 1) - 1
}

func monthName(d booking.Date) string { return d.Time().Format("2006-01") }

func (v *visit) weekdays() []weekday {
	list := make([]weekday, 7)
	for i := range list {
		at := (v.org.Settings.WeekStart + i) % 7
		list[i] = weekday{v.lang.shortWeekdays[at], v.lang.weekdays[at]}
	}
	return list
}

// weeks puts days into rows of a calendar.
func (v *visit) weeks(days []booking.DayFree, today booking.Date, p planner) [][]cell {
	row := make([]cell, v.column(days[0].Date), 7)
	var weeks [][]cell
	for _, d := range days {
		row = append(row, v.cell(d, today, p))
		if len(row) == 7 {
			weeks, row = append(weeks, row), nil
		}
	}
	if len(row) > 0 {
		weeks = append(weeks, append(row, make([]cell, 7-len(row))...))
	}
	return weeks
}

// column is where a day stands in its week.
func (v *visit) column(d booking.Date) int { return (d.Weekday() - v.org.Settings.WeekStart + 7) % 7 }

func (v *visit) cell(d booking.DayFree, today booking.Date, p planner) cell {
	t := v.t()
	c := cell{Day: d.Date.Time().Day(), Name: v.lang.shortWeekdays[d.Date.Weekday()], Today: d.Date == today, Label: sentence(v.lang.day(d.Date))}
	if c.Today {
		c.Label += " (" + t.Today + ")"
	}
	if d.Free == 0 {
		c.Label += ": " + t.NoTimes
		return c
	}
	c.Link = p.day(d.Date)
	c.Label += ": " + fmt.Sprintf(count(t.FreeTimes, d.Free), d.Free)
	return c
}

// dayView is the free slots of a day.
type dayView struct {
	Day            string
	Week           []cell
	Previous, Next string // links to other weeks; "" = nothing to see there
	Month          string // link
	Parts          []part
	NextFree       string
	NextFreeLink   string // "" = none
	Zone, ZoneName string // for people, and of IANA
}

// part is a part of the day.
type part struct {
	Name  string
	Slots []slot
}

// slot is a time to choose.
type slot struct {
	Time, At string // At is for programs
	Link     string
	Places   string // of a group; "" = one
}

// timesOf shows the day of the address.
func (v *visit) timesOf(c publicbooking.Choice, p planner) (dayView, error) {
	d, err := booking.ParseDate(v.query.Get("date"))
	if err != nil || d.Time().Year() < 1970 || d.Time().Year() > 9997 {
		return dayView{}, gone()
	}
	view, today := v.desk.ClientView(v.org), booking.DateOf(v.now, v.org.Zone)
	found, err := v.desk.FreeSlots(v.ctx, view, c, d)
	if err != nil {
		return dayView{}, err
	}
	first := d - booking.Date(v.column(d))
	week, err := v.desk.FreeDays(v.ctx, view, c, first, first+6)
	if err != nil {
		return dayView{}, err
	}
	noon := booking.DayStart(v.org.Zone, d).Add(12 * time.Hour)
	shown := dayView{
		Day: sentence(v.lang.day(d)), Parts: v.parts(found, p), Month: p.month(monthName(d)),
		Zone: place(noon.In(v.org.Zone)), ZoneName: v.org.Timezone,
	}
	for _, one := range week {
		cell := v.cell(one, today, p)
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
		next, ok, err := v.desk.NextFreeDay(v.ctx, view, c, max(today, d+1))
		if err != nil {
			return dayView{}, err
		}
		if ok {
			shown.NextFree, shown.NextFreeLink = v.lang.day(next.Date), p.day(next.Date)
		}
	}
	return shown, nil
}

// parts divides a day's slots into its parts.
func (v *visit) parts(day publicbooking.DaySlots, p planner) []part {
	t := v.t()
	names, ends := []string{t.Morning, t.Afternoon, t.Evening}, []int{12, 18, 24}
	seen := map[string]int{}
	for _, s := range day.Slots {
		seen[v.clock(s.Start)]++
	}
	group := len(day.Calendars) > 0 && day.Calendars[0].Offer.Capacity > 1
	var parts []part
	at := 0
	for _, s := range day.Slots {
		local := s.Start.In(v.org.Zone)
		for local.Hour() >= ends[at] {
			at++
		}
		one := slot{Time: v.clock(s.Start), At: v.stamp(s.Start), Link: p.start(s.Start)}
		if seen[one.Time] > 1 { // clocks go back and show it twice
			one.Time += " " + offset(local)
		}
		if group {
			one.Places = fmt.Sprintf(count(t.PlacesLeft, s.Remaining), s.Remaining)
		}
		if len(parts) == 0 || parts[len(parts)-1].Name != names[at] {
			parts = append(parts, part{Name: names[at]})
		}
		parts[len(parts)-1].Slots = append(parts[len(parts)-1].Slots, one)
	}
	return parts
}
