package chat

import (
	"slices"
	"time"
)

// OpeningHours is a stretch of a weekday in which people answer.
type OpeningHours struct {
	Weekday   string `json:"weekday" maxLength:"30" required:"false" doc:"Name of the day, for people; empty: in Portuguese" example:"Segunda-feira"`
	WeekdayEn string `json:"weekdayEn" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday" doc:"The day"`
	StartTime string `json:"startTime" maxLength:"5" pattern:"^(([01][0-9]|2[0-3]):[0-5][0-9])?$" doc:"HH:MM; empty, like endTime: closed on this day" example:"08:00"`
	EndTime   string `json:"endTime" maxLength:"5" pattern:"^((([01][0-9]|2[0-3]):[0-5][0-9])|24:00)?$" doc:"HH:MM, after startTime; 24:00: midnight" example:"18:00"`
}

// MaxOpeningHours is how many stretches a week may have.
const MaxOpeningHours = 28

// weekdays are the names of the days in the API; Sunday is the first, as in [time.Weekday].
var weekdays = []struct{ english, portuguese string }{
	{"sunday", "Domingo"},
	{"monday", "Segunda-feira"},
	{"tuesday", "Terça-feira"},
	{"wednesday", "Quarta-feira"},
	{"thursday", "Quinta-feira"},
	{"friday", "Sexta-feira"},
	{"saturday", "Sábado"},
}

// NormalizeOpeningHours returns opening hours with the names of their days filled in, or
// the reason why they are not valid, for people.
func NormalizeOpeningHours(hours []OpeningHours) (normalized []OpeningHours, problem string) {
	if len(hours) > MaxOpeningHours {
		return nil, "must have at most 28 entries"
	}
	normalized = make([]OpeningHours, 0, len(hours))
	for _, h := range hours {
		day := weekdayNumber(h.WeekdayEn)
		switch {
		case day < 0:
			return nil, "weekdayEn must be monday, tuesday, wednesday, thursday, friday, saturday or sunday"
		case len([]rune(h.Weekday)) > 30:
			return nil, "weekday must have at most 30 characters"
		case h.StartTime == "" && h.EndTime == "":
		case !isClock(h.StartTime) || h.StartTime == "24:00" || !isClock(h.EndTime) || h.StartTime >= h.EndTime:
			return nil, "startTime and endTime must be HH:MM, startTime before endTime"
		}
		if h.Weekday == "" {
			h.Weekday = weekdays[day].portuguese
		}
		for _, earlier := range normalized {
			if earlier.WeekdayEn == h.WeekdayEn && earlier.StartTime < h.EndTime && h.StartTime < earlier.EndTime {
				return nil, "entries of a day must not overlap"
			}
		}
		normalized = append(normalized, h)
	}
	return normalized, ""
}

// IsOpen reports whether a moment of the company's own clock lies in opening hours. Without
// any, it is always open.
func IsOpen(hours []OpeningHours, at time.Time) bool {
	if len(hours) == 0 {
		return true
	}
	day, clock := weekdays[at.Weekday()].english, at.Format("15:04")
	return slices.ContainsFunc(hours, func(h OpeningHours) bool {
		return h.WeekdayEn == day && h.StartTime <= clock && clock < h.EndTime
	})
}

// weekdayNumber returns the number of an English weekday as in [time.Weekday], or -1.
func weekdayNumber(english string) int {
	for i, day := range weekdays {
		if day.english == english {
			return i
		}
	}
	return -1
}

// isClock reports whether a text is a time of the day, from 00:00 to 24:00.
func isClock(text string) bool {
	if text == "24:00" {
		return true
	}
	_, err := time.Parse("15:04", text)
	return err == nil && len(text) == len("15:04")
}
