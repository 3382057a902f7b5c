package importfile

import (
	"strconv"
	"strings"
	"time"
)

// parseDate parses a date such as 1980-03-02, 1980/03/02, 02/03/1980, 2-3-80 or 02.03.1980,
// optionally with a time behind it as spreadsheets write it, or the number of days by which
// Excel stores a date. It returns the date as YYYY-MM-DD.
//
// A year of two digits is the last one that is not after year.
func parseDate(text string, year int) (date string, ok bool) {
	text, _, _ = strings.Cut(text, " ")
	text, _, _ = strings.Cut(text, "T")
	if days, err := strconv.Atoi(text); err == nil {
		return parseSerialDate(days)
	}
	for _, layout := range []string{"2006-1-2", "2006/1/2", "2006.1.2", "2/1/2006", "2-1-2006", "2.1.2006"} {
		if day, err := time.Parse(layout, text); err == nil && day.Year() > 0 {
			return day.Format(time.DateOnly), true
		}
	}
	for _, layout := range []string{"2/1/06", "2-1-06", "2.1.06"} {
		if day, err := time.Parse(layout, text); err == nil {
			full := year - (year-day.Year()%100)%100
			return time.Date(full, day.Month(), day.Day(), 0, 0, 0, 0, time.UTC).Format(time.DateOnly), true
		}
	}
	return "", false
}

// Excel counts days from the end of 1899. Smaller numbers may be years.
const (
	minSerialDate = lastYear + 1 // in 1905
	maxSerialDate = 99_999       // in 2173
)

// serialEpoch is day 0 of Excel's dates, as days after February 1900 are counted.
var serialEpoch = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)

func parseSerialDate(days int) (date string, ok bool) {
	if days < minSerialDate || days > maxSerialDate {
		return "", false
	}
	return serialEpoch.AddDate(0, 0, days).Format(time.DateOnly), true
}

// The years that a number of four digits may mean.
const (
	firstYear = 1850
	lastYear  = 2100
)

// isYear reports whether a text is the year of a birth.
func isYear(text string) bool {
	year, err := strconv.Atoi(text)
	return err == nil && year >= firstYear && year <= lastYear
}

// isPartialDate reports whether a text is a year, or a year and a month, as FHIR has them.
func isPartialDate(text string) bool {
	_, err := time.Parse("2006-01", text)
	return err == nil || isYear(text)
}
