package booking

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDates(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"1970-01-01", "1969-12-31", "2026-02-28", "2024-02-29", "0001-01-01", "9999-12-31"} {
		d := dateOf(t, s)
		require.Equal(t, s, d.String())
		require.Equal(t, int(d.Time().Weekday()+6)%7, d.Weekday(), s)
	}
	for _, s := range []string{"", "2026-02-29", "2026-2-1", "0000-01-01", "2026-13-01", "2026-03-02T00:00:00Z", "10000-01-01", " 2026-03-02"} {
		_, err := ParseDate(s)
		require.Error(t, err, s)
	}
	first, last, err := ParseMonth("2024-02")
	require.NoError(t, err)
	require.Equal(t, "2024-02-01 2024-02-29", first.String()+" "+last.String())
	for _, s := range []string{"", "2024-2", "2024-13", "2024-02-01", "0000-01"} {
		_, _, err := ParseMonth(s)
		require.Error(t, err, s)
	}
	require.Equal(t, "2026-03-03", DateOf(time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC), zoneOf(t, "Asia/Tokyo")).String())
}

func TestClocks(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"00:00", "09:05", "23:59"} {
		require.Equal(t, s, clockOf(t, s).String())
	}
	for _, s := range []string{"", "24:00", "23:60", "9:05", "09:5", "09:05:00", "-1:00", "+1:00", "0 :00", "aa:bb", "09-05", "١٢:٠٠"} {
		_, err := ParseClock(s)
		require.Error(t, err, s)
	}
}

// Where time.Date and RFC 5545 differ, or time.Date promises nothing.
func TestWallClockTimesResolveByRFC5545(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, date, clock, want string }{
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
		d := dateOf(t, c.date)
		z := newZone(zoneOf(t, c.zone), d, d)
		require.Equal(t, c.want, z.time(z.start(d, clockOf(t, c.clock))).Format(time.RFC3339), c)
	}
}

func TestDaysHaveTheirRealLength(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, date string
		hours      float64
	}{
		{"America/New_York", "2026-03-08", 23}, {"America/New_York", "2026-11-01", 25}, {"America/New_York", "2026-11-02", 24},
		{"America/Sao_Paulo", "2018-11-03", 24}, {"America/Sao_Paulo", "2018-11-04", 23}, {"America/Sao_Paulo", "2018-02-17", 25},
		{"Australia/Lord_Howe", "2026-04-05", 24.5}, {"Antarctica/Troll", "2026-03-29", 22}, {"Pacific/Apia", "2011-12-30", 0},
	} {
		d := dateOf(t, c.date)
		whole := []Exception{{Date: d, Kind: Extra}}
		available, _ := Occupancy(zoneOf(t, c.zone), d, d, nil, whole, nil)
		require.InDelta(t, c.hours*60, available, 0, c)
		until2359 := []Rule{{Weekday: d.Weekday(), End: endOfDay, Active: true}}
		same, _ := Occupancy(zoneOf(t, c.zone), d, d, until2359, nil, nil)
		require.Equal(t, available, same, "23:59 is midnight")
	}
}

func TestLoadRangeCoversNeighboursOfTheDays(t *testing.T) {
	t.Parallel()
	loc := zoneOf(t, "America/New_York")
	d := dateOf(t, "2026-03-08")
	from, until := LoadRange(loc, d, d)
	require.Equal(t, "2026-03-07T16:00:00-05:00", from.Format(time.RFC3339))
	require.Equal(t, "2026-03-09T08:00:00-04:00", until.Format(time.RFC3339))
}

func TestWithinHours(t *testing.T) {
	t.Parallel()
	loc := zoneOf(t, "America/Sao_Paulo")
	at := func(s string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", s, loc)
		require.NoError(t, err)
		return v
	}
	rules := []Rule{
		{Weekday: 0, Start: 20 * 60, End: endOfDay, Active: true},
		{Weekday: 1, Start: 0, End: 4 * 60, Break: &Break{2 * 60, 3 * 60}, Active: true},
	}
	within := func(from, to string, exceptions ...Exception) bool {
		return WithinHours(loc, at(from), at(to), rules, exceptions)
	}
	require.True(t, within("2026-03-02 20:00", "2026-03-03 00:00"))
	require.True(t, within("2026-03-02 23:00", "2026-03-03 02:00"), "past midnight into the next day's hours")
	require.False(t, within("2026-03-02 23:00", "2026-03-03 02:01"), "into the break")
	require.False(t, within("2026-03-02 19:59", "2026-03-02 21:00"))
	require.False(t, within("2026-03-02 21:00", "2026-03-02 22:00", Exception{Date: dateOf(t, "2026-03-02"), Kind: Block, Hours: &Hours{21*60 + 59, 22 * 60}}))
	require.True(t, within("2026-03-02 12:00", "2026-03-02 13:00", Exception{Date: dateOf(t, "2026-03-02"), Kind: Extra, Hours: &Hours{12 * 60, 13 * 60}}))
}
