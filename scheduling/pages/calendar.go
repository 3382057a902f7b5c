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
	nextFree
	Other string // link to other professionals, or ""
	Zone  string
}

// nextFree is the next free time, for days, weeks and months without any.
type nextFree struct {
	NextSlot    *slotOption // nil: none
	NextSlotDay string      // link to the other times of its day
}

func (p *pageRequest) newNextFree(day booking.DayFree, links calendarLinks) nextFree {
	option := p.newSlotOption(day.First, links.start(day.First))
	return nextFree{&option, links.day(day.Date)}
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
func (p *pageRequest) buildMonth(choice publicbooking.Choice, links calendarLinks) (monthView, error) {
	clientView, today := p.publicBooking.ClientView(p.org), booking.DateOf(p.now, p.org.Zone)
	first, last := monthBounds(today)
	requested := p.query.Get("month")
	if requested != "" {
		var err error
		if first, last, err = booking.ParseMonth(requested); err != nil || first.Time().Year() < 1970 || first.Time().Year() > 9997 {
			return monthView{}, notOfferedError()
		}
	}
	days, err := p.publicBooking.FreeDays(p.ctx, clientView, choice, first, last)
	if err != nil {
		return monthView{}, err
	}
	month := monthView{Empty: !hasFreeDay(days), Zone: zoneName(p.now.In(p.org.Zone))}
	if month.Empty {
		next, found, err := p.publicBooking.NextFreeDay(p.ctx, clientView, choice, max(today, last+1))
		if err != nil {
			return monthView{}, err
		}
		if found && requested == "" { // what is over or full is of no use to begin with
			first, last = monthBounds(next.Date)
			month.Empty = false
			if days, err = p.publicBooking.FreeDays(p.ctx, clientView, choice, first, last); err != nil {
				return monthView{}, err
			}
		} else if found {
			month.nextFree = p.newNextFree(next, links)
		}
	}
	month.Month = capitalize(p.lang.formatMonth(first))
	if first > today {
		month.Previous = links.month(formatMonthParam(first - 1))
	}
	if clientView.Limits.LastDate == nil || last < *clientView.Limits.LastDate {
		month.Next = links.month(formatMonthParam(last + 1))
	}
	month.Weekdays, month.Weeks = p.weekdayHeads(), p.buildWeeks(days, today, links)
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

func (p *pageRequest) weekdayHeads() []weekdayHead {
	list := make([]weekdayHead, 7)
	for i := range list {
		weekday := (p.org.Settings.WeekStart + i) % 7
		list[i] = weekdayHead{p.lang.shortWeekdays[weekday], p.lang.weekdays[weekday]}
	}
	return list
}

// buildWeeks arranges days into rows of a week.
func (p *pageRequest) buildWeeks(days []booking.DayFree, today booking.Date, links calendarLinks) [][]dayCell {
	row := make([]dayCell, p.weekColumn(days[0].Date), 7)
	var weeks [][]dayCell
	for _, day := range days {
		row = append(row, p.newDayCell(day, today, links))
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
func (p *pageRequest) weekColumn(date booking.Date) int {
	return (date.Weekday() - p.org.Settings.WeekStart + 7) % 7
}

func (p *pageRequest) newDayCell(day booking.DayFree, today booking.Date, links calendarLinks) dayCell {
	text := p.messages()
	cell := dayCell{Day: day.Date.Time().Day(), Name: p.lang.shortWeekdays[day.Date.Weekday()], Today: day.Date == today, Label: capitalize(p.lang.formatDay(day.Date))}
	if cell.Today {
		cell.Label += " (" + text.Today + ")"
	}
	if day.Free == 0 {
		cell.Label += ": " + text.NoTimes
		return cell
	}
	cell.Link = links.day(day.Date)
	cell.Label += ": " + fmt.Sprintf(pluralForm(text.FreeTimes, day.Free), day.Free)
	return cell
}

// dayView is the template data of a day's free slots.
type dayView struct {
	Day            string
	Week           []dayCell
	Previous, Next string // links to other weeks; "" = nothing to see there
	Month          string // link
	Parts          []dayPart
	EmptyWeek      bool // nor is there a time on the other days
	nextFree
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
	Zone     string // beside the time
	Places   string // of a group; "" = one
}

// buildDay builds the day of the address.
func (p *pageRequest) buildDay(choice publicbooking.Choice, links calendarLinks) (dayView, error) {
	date, err := booking.ParseDate(p.query.Get("date"))
	if err != nil || date.Time().Year() < 1970 || date.Time().Year() > 9997 {
		return dayView{}, notOfferedError()
	}
	clientView, today := p.publicBooking.ClientView(p.org), booking.DateOf(p.now, p.org.Zone)
	found, err := p.publicBooking.FreeSlots(p.ctx, clientView, choice, date)
	if err != nil {
		return dayView{}, err
	}
	first := date - booking.Date(p.weekColumn(date))
	week, err := p.publicBooking.FreeDays(p.ctx, clientView, choice, first, first+6)
	if err != nil {
		return dayView{}, err
	}
	noon := booking.DayStart(p.org.Zone, date).Add(12 * time.Hour)
	day := dayView{
		Day: capitalize(p.lang.formatDay(date)), Parts: p.divideSlots(found, links), Month: links.month(formatMonthParam(date)),
		Zone: zoneName(noon.In(p.org.Zone)), ZoneName: p.org.Timezone, EmptyWeek: !hasFreeDay(week),
	}
	for _, weekDay := range week {
		cell := p.newDayCell(weekDay, today, links)
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
		next, ok, err := p.publicBooking.NextFreeDay(p.ctx, clientView, choice, max(today, date+1))
		if err != nil {
			return dayView{}, err
		}
		if ok {
			day.nextFree = p.newNextFree(next, links)
		}
	}
	return day, nil
}

// divideSlots divides a day's slots into parts of the day.
func (p *pageRequest) divideSlots(day publicbooking.DaySlots, links calendarLinks) []dayPart {
	text := p.messages()
	names, ends := []string{text.Morning, text.Afternoon, text.Evening}, []int{12, 18, 24}
	group := len(day.Calendars) > 0 && day.Calendars[0].Offer.Capacity > 1
	var parts []dayPart
	index := 0
	for _, slot := range day.Slots {
		local := slot.Start.In(p.org.Zone)
		for local.Hour() >= ends[index] {
			index++
		}
		option := slotOption{Time: p.formatClock(slot.Start), At: p.formatInstant(slot.Start), Zone: booking.FormatOffset(local), Link: links.start(slot.Start)}
		if group {
			option.Places = fmt.Sprintf(pluralForm(text.PlacesLeft, slot.Remaining), slot.Remaining)
		}
		if len(parts) == 0 || parts[len(parts)-1].Name != names[index] {
			parts = append(parts, dayPart{Name: names[index]})
		}
		parts[len(parts)-1].Slots = append(parts[len(parts)-1].Slots, option)
	}
	return parts
}
