package chat

import (
	"slices"
	"strings"
	"time"
)

// SendWindow is when a campaign sends: a part of the day, on some days of the week.
type SendWindow struct {
	Start string `json:"start" maxLength:"5" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" doc:"HH:MM on the company's clock" example:"08:00"`
	End   string `json:"end" maxLength:"5" pattern:"^((([01][0-9]|2[0-3]):[0-5][0-9])|24:00)$" doc:"HH:MM, after start; 24:00: midnight" example:"20:00"`
	Days  []int  `json:"days" minItems:"1" maxItems:"7" nullable:"false" doc:"Days of the week: 1 Monday to 7 Sunday" example:"[1,2,3,4,5]"`
}

// Problem returns why the window is not valid, for people, or "".
func (w SendWindow) Problem() string {
	switch {
	case !isClock(w.Start) || w.Start == "24:00" || !isClock(w.End) || w.Start >= w.End:
		return "start and end must be HH:MM, start before end"
	case len(w.Days) == 0 || len(w.Days) > 7:
		return "days must have 1 to 7 entries"
	case slices.ContainsFunc(w.Days, func(day int) bool { return day < 1 || day > 7 }):
		return "days must be from 1, Monday, to 7, Sunday"
	}
	return ""
}

// Next returns the first moment from a time on that lies in the window: the time itself, or
// the next opening. The time is on the company's own clock.
func (w SendWindow) Next(at time.Time) time.Time {
	for days := range 8 {
		// At noon: where clocks change at midnight, a day may have no 00:00, and Go would take the day before.
		day := time.Date(at.Year(), at.Month(), at.Day()+days, 12, 0, 0, 0, at.Location())
		if !slices.Contains(w.Days, isoWeekday(day)) {
			continue
		}
		clock := at.Format("15:04")
		switch {
		case days > 0 || clock < w.Start:
			opening, _ := time.Parse("15:04", w.Start) // checked by Problem
			return ClockOn(day, opening.Hour(), opening.Minute())
		case clock < w.End:
			return at
		}
	}
	return at // no day at all: not a valid window
}

// ClockOn returns when the clocks of a day show a time, or the first moment after it where they
// skip that time.
func ClockOn(day time.Time, hour, minute int) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, day.Location())
	switch isBefore := at.Day() != day.Day() || at.Hour()*60+at.Minute() < hour*60+minute; {
	case isBefore:
		_, end := at.ZoneBounds()
		return end.In(day.Location())
	case at.Hour() != hour || at.Minute() != minute:
		start, _ := at.ZoneBounds()
		return start.In(day.Location())
	}
	return at
}

// isoWeekday returns 1 for Monday to 7 for Sunday.
func isoWeekday(at time.Time) int { return (int(at.Weekday())+6)%7 + 1 }

// refusals are answers by which a contact declines a campaign that asks first.
var refusals = []string{"NAO", "N", "NO"}

// Declines reports whether an answer declines a campaign that asks first: a refusal, or a
// word by which contacts opt out.
func Declines(answer string, optOutWords []string) bool {
	return slices.Contains(refusals, strings.ToUpper(foldWord(answer))) || ConsentOf(answer, optOutWords) == ConsentOptedOut
}
