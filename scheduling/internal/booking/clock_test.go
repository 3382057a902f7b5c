package booking

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDates(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1970-01-01", "1969-12-31", "2026-02-28", "2024-02-29", "0001-01-01", "9999-12-31"} {
		date := dateOf(t, text)
		require.Equal(t, text, date.String())
		require.Equal(t, int(date.Time().Weekday()+6)%7, date.Weekday(), text)
	}
	for _, text := range []string{"", "2026-02-29", "2026-2-1", "0000-01-01", "2026-13-01", "2026-03-02T00:00:00Z", "10000-01-01", " 2026-03-02"} {
		_, err := ParseDate(text)
		require.Error(t, err, text)
	}
	first, last, err := ParseMonth("2024-02")
	require.NoError(t, err)
	require.Equal(t, "2024-02-01 2024-02-29", first.String()+" "+last.String())
	for _, text := range []string{"", "2024-2", "2024-13", "2024-02-01", "0000-01"} {
		_, _, err := ParseMonth(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "2026-03-03", DateOf(time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC), zoneOf(t, "Asia/Tokyo")).String())
}

func TestClocks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"00:00", "09:05", "23:59"} {
		require.Equal(t, text, clockOf(t, text).String())
	}
	for _, text := range []string{"", "24:00", "23:60", "9:05", "09:5", "09:05:00", "-1:00", "+1:00", "0 :00", "aa:bb", "09-05", "١٢:٠٠"} {
		_, err := ParseTimeOfDay(text)
		require.Error(t, err, text)
	}
}

// Where time.Date and RFC 5545 differ, or time.Date promises nothing.
func TestWallClockTimesResolveByRFC5545(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, date, clock, want string }{
		{"America/New_York", "2026-03-08", "02:30", "2026-03-08T03:30:00-04:00"},
		{"America/New_York", "2026-11-01", "01:30", "2026-11-01T01:30:00-04:00"},
		{"America/New_York", "2026-11-01", "02:00", "2026-11-01T02:00:00-05:00"},
		{"Europe/Lisbon", "2026-10-25", "01:30", "2026-10-25T01:30:00+01:00"},
		{"America/Santiago", "2026-09-06", "00:00", "2026-09-06T01:00:00-03:00"},
		{"America/Sao_Paulo", "2018-11-04", "00:00", "2018-11-04T01:00:00-02:00"},
		{"America/Sao_Paulo", "2018-02-17", "23:30", "2018-02-17T23:30:00-02:00"},
		{"Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-04T02:45:00+11:00"},
		{"America/Havana", "2026-11-01", "00:30", "2026-11-01T00:30:00-04:00"},
		{"Pacific/Apia", "2011-12-30", "09:00", "2011-12-31T09:00:00+14:00"},
		{"Asia/Kathmandu", "2026-03-02", "09:00", "2026-03-02T09:00:00+05:45"},
		{"America/New_York", "2190-03-14", "02:30", "2190-03-14T03:30:00-04:00"}, // beyond the zone's table
	} {
		date := dateOf(t, test.date)
		zone := newZone(zoneOf(t, test.zone), date, date)
		require.Equal(t, test.want, zone.time(zone.start(date, clockOf(t, test.clock))).Format(time.RFC3339), test)
	}
}

func TestDaysHaveTheirRealLength(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		zone, date string
		hours      float64
	}{
		{"America/New_York", "2026-03-08", 23}, {"America/New_York", "2026-11-01", 25}, {"America/New_York", "2026-11-02", 24},
		{"America/Sao_Paulo", "2018-11-03", 24}, {"America/Sao_Paulo", "2018-11-04", 23}, {"America/Sao_Paulo", "2018-02-17", 25},
		{"Australia/Lord_Howe", "2026-04-05", 24.5}, {"Antarctica/Troll", "2026-03-29", 22}, {"Pacific/Apia", "2011-12-30", 0},
	} {
		date := dateOf(t, test.date)
		whole := []Exception{{Date: date, Kind: Extra}}
		available, _ := Occupancy(zoneOf(t, test.zone), date, date, nil, whole, nil)
		require.InDelta(t, test.hours*60, available, 0, test)
		until2359 := []Rule{{Weekday: date.Weekday(), End: endOfDay, Active: true}}
		same, _ := Occupancy(zoneOf(t, test.zone), date, date, until2359, nil, nil)
		require.Equal(t, available, same, "23:59 is midnight")
	}
}

func TestLoadRangeCoversNeighboursOfTheDays(t *testing.T) {
	t.Parallel()
	loc := zoneOf(t, "America/New_York")
	date := dateOf(t, "2026-03-08")
	from, until := LoadRange(loc, date, date)
	require.Equal(t, "2026-03-07T16:00:00-05:00", from.Format(time.RFC3339))
	require.Equal(t, "2026-03-09T08:00:00-04:00", until.Format(time.RFC3339))
}

func TestWithinHours(t *testing.T) {
	t.Parallel()
	loc := zoneOf(t, "America/Sao_Paulo")
	at := func(text string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", text, loc)
		require.NoError(t, err)
		return v
	}
	rules := []Rule{
		{Weekday: 0, Start: 20 * 60, End: endOfDay, Active: true},
		{Weekday: 1, Start: 0, End: 4 * 60, Break: &Break{2 * 60, 3 * 60}, Active: true},
	}
	within := func(from, address string, exceptions ...Exception) bool {
		return WithinHours(loc, at(from), at(address), rules, exceptions)
	}
	require.True(t, within("2026-03-02 20:00", "2026-03-03 00:00"))
	require.True(t, within("2026-03-02 23:00", "2026-03-03 02:00"), "past midnight into the next day's hours")
	require.False(t, within("2026-03-02 23:00", "2026-03-03 02:01"), "into the break")
	require.False(t, within("2026-03-02 19:59", "2026-03-02 21:00"))
	require.False(t, within("2026-03-02 21:00", "2026-03-02 22:00", Exception{Date: dateOf(t, "2026-03-02"), Kind: Block, Hours: &Hours{21*60 + 59, 22 * 60}}))
	require.True(t, within("2026-03-02 12:00", "2026-03-02 13:00", Exception{Date: dateOf(t, "2026-03-02"), Kind: Extra, Hours: &Hours{12 * 60, 13 * 60}}))
}
