package pages

import (
	"fmt"
	"time"

	"integrationhub/scheduling/internal/booking"
	"integrationhub/scheduling/internal/publicbooking"
)

// calendarLinks builds the links of a calendar, which serves booking and moving.
type calendarLinks struct {
	month func(month string) string
	day   func(booking.Date) string
	start func(time.Time) string
}

// monthView is the template data of a month.
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

// dayCell is a day. Day 0 belongs to another month and is not shown.
type dayCell struct {
	Day   int
	Name  string // of the day of the week, short
	Link  string // "" = not free
	Label string // read out
	Today bool
	Shown bool // its times are
}

// buildMonth builds the requested month, or the first month with a free day.
func (v *visit) buildMonth(choice publicbooking.Choice, links calendarLinks) (monthView, error) {
	clientView, today := v.publicBooking.ClientView(v.org), booking.DateOf(v.now, v.org.Zone)
	first, last := monthBounds(today)
	requested := v.query.Get("month")
	if requested != "" {
		var err error
		if first, last, err = booking.ParseMonth(requested); err != nil || first.Time().Year() < 1970 || first.Time().Year() > 9997 {
			return monthView{}, notOfferedError()
		}
	}
	days, err := v.publicBooking.FreeDays(v.ctx, clientView, choice, first, last)
	if err != nil {
		return monthView{}, err
	}
	month := monthView{Empty: !hasFreeDay(days), Zone: zoneName(v.now.In(v.org.Zone))}
	if month.Empty {
		next, found, err := v.publicBooking.NextFreeDay(v.ctx, clientView, choice, max(today, last+1))
		if err != nil {
			return monthView{}, err
		}
		if found && requested == "" { // what is over or full is of no use to begin with
			first, last = monthBounds(next.Date)
			month.Empty = false
			if days, err = v.publicBooking.FreeDays(v.ctx, clientView, choice, first, last); err != nil {
				return monthView{}, err
			}
		} else if found {
			month.NextFree, month.NextFreeLink = v.lang.formatDay(next.Date), links.day(next.Date)
		}
	}
	month.Month = capitalize(v.lang.formatMonth(first))
	if first > today {
		month.Previous = links.month(formatMonthParam(first - 1))
	}
	if clientView.Limits.LastDate == nil || last < *clientView.Limits.LastDate {
		month.Next = links.month(formatMonthParam(last + 1))
	}
	month.Weekdays, month.Weeks = v.weekdayHeads(), v.buildWeeks(days, today, links)
	return month, nil
}

func hasFreeDay(days []booking.DayFree) bool {
	for _, day := range days {
		if day.Free > 0 {
			return true
		}
	}
	return false
}

func monthBounds(date booking.Date) (first, last booking.Date) {
	year, month, _ := date.Time().Date()
	return booking.NewDate(year, month, 1), booking.NewDate(year, month+1, 1) - 1
}

func formatMonthParam(date booking.Date) string { return date.Time().Format("2006-01") }

func (v *visit) weekdayHeads() []weekdayHead {
	list := make([]weekdayHead, 7)
	for i := range list {
		weekday := (v.org.Settings.WeekStart + i) % 7
		list[i] = weekdayHead{v.lang.shortWeekdays[weekday], v.lang.weekdays[weekday]}
	}
	return list
}

// buildWeeks arranges days into rows of a week.
func (v *visit) buildWeeks(days []booking.DayFree, today booking.Date, links calendarLinks) [][]dayCell {
	row := make([]dayCell, v.weekColumn(days[0].Date), 7)
	var weeks [][]dayCell
	for _, day := range days {
		row = append(row, v.newDayCell(day, today, links))
		if len(row) == 7 {
			weeks, row = append(weeks, row), nil
		}
	}
	if len(row) > 0 {
		weeks = append(weeks, append(row, make([]dayCell, 7-len(row))...))
	}
	return weeks
}

// weekColumn returns the column of a day in its week.
func (v *visit) weekColumn(date booking.Date) int {
	return (date.Weekday() - v.org.Settings.WeekStart + 7) % 7
}

func (v *visit) newDayCell(day booking.DayFree, today booking.Date, links calendarLinks) dayCell {
	texts := v.texts()
	cell := dayCell{Day: day.Date.Time().Day(), Name: v.lang.shortWeekdays[day.Date.Weekday()], Today: day.Date == today, Label: capitalize(v.lang.formatDay(day.Date))}
	if cell.Today {
		cell.Label += " (" + texts.Today + ")"
	}
	if day.Free == 0 {
		cell.Label += ": " + texts.NoTimes
		return cell
	}
	cell.Link = links.day(day.Date)
	cell.Label += ": " + fmt.Sprintf(pluralForm(texts.FreeTimes, day.Free), day.Free)
	return cell
}

// dayView is the template data of a day's free slots.
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

// dayPart is the morning, afternoon or evening of a day.
type dayPart struct {
	Name  string
	Slots []slotOption
}

// slotOption is a slot to choose.
type slotOption struct {
	Time, At string // At is for programs
	Link     string
	Places   string // of a group; "" = one
}

// buildDay builds the day of the address.
func (v *visit) buildDay(choice publicbooking.Choice, links calendarLinks) (dayView, error) {
	date, err := booking.ParseDate(v.query.Get("date"))
	if err != nil || date.Time().Year() < 1970 || date.Time().Year() > 9997 {
		return dayView{}, notOfferedError()
	}
	clientView, today := v.publicBooking.ClientView(v.org), booking.DateOf(v.now, v.org.Zone)
	found, err := v.publicBooking.FreeSlots(v.ctx, clientView, choice, date)
	if err != nil {
		return dayView{}, err
	}
	first := date - booking.Date(v.weekColumn(date))
	week, err := v.publicBooking.FreeDays(v.ctx, clientView, choice, first, first+6)
	if err != nil {
		return dayView{}, err
	}
	noon := booking.DayStart(v.org.Zone, date).Add(12 * time.Hour)
	day := dayView{
		Day: capitalize(v.lang.formatDay(date)), Parts: v.divideSlots(found, links), Month: links.month(formatMonthParam(date)),
		Zone: zoneName(noon.In(v.org.Zone)), ZoneName: v.org.Timezone,
	}
	for _, weekDay := range week {
		cell := v.newDayCell(weekDay, today, links)
		cell.Shown = weekDay.Date == date
		day.Week = append(day.Week, cell)
	}
	if first > today {
		day.Previous = links.day(max(first-1, today))
	}
	if clientView.Limits.LastDate == nil || first+7 <= *clientView.Limits.LastDate {
		day.Next = links.day(first + 7)
	}
	if len(found.Slots) == 0 {
		next, ok, err := v.publicBooking.NextFreeDay(v.ctx, clientView, choice, max(today, date+1))
		if err != nil {
			return dayView{}, err
		}
		if ok {
			day.NextFree, day.NextFreeLink = v.lang.formatDay(next.Date), links.day(next.Date)
		}
	}
	return day, nil
}

// divideSlots divides a day's slots into parts of the day.
func (v *visit) divideSlots(day publicbooking.DaySlots, links calendarLinks) []dayPart {
	texts := v.texts()
	names, ends := []string{texts.Morning, texts.Afternoon, texts.Evening}, []int{12, 18, 24}
	clockCounts := map[string]int{}
	for _, slot := range day.Slots {
		clockCounts[v.formatClock(slot.Start)]++
	}
	group := len(day.Calendars) > 0 && day.Calendars[0].Offer.Capacity > 1
	var parts []dayPart
	index := 0
	for _, slot := range day.Slots {
		local := slot.Start.In(v.org.Zone)
		for local.Hour() >= ends[index] {
			index++
		}
		option := slotOption{Time: v.formatClock(slot.Start), At: v.formatInstant(slot.Start), Link: links.start(slot.Start)}
		if clockCounts[option.Time] > 1 { // clocks go back and show it twice
			option.Time += " " + formatOffset(local)
		}
		if group {
			option.Places = fmt.Sprintf(pluralForm(texts.PlacesLeft, slot.Remaining), slot.Remaining)
		}
		if len(parts) == 0 || parts[len(parts)-1].Name != names[index] {
			parts = append(parts, dayPart{Name: names[index]})
		}
		parts[len(parts)-1].Slots = append(parts[len(parts)-1].Slots, option)
	}
	return parts
}
