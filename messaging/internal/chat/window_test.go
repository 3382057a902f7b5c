package chat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func TestSendWindow(t *testing.T) {
	t.Parallel()
	zone := chat.LoadZone("America/New_York")
	at := func(day, hour, minute int) time.Time { return time.Date(2027, 3, day, hour, minute, 0, 0, zone) }
	weekdays := chat.SendWindow{Start: "08:30", End: "20:00", Days: []int{1, 2, 3, 4, 5}}
	require.Empty(t, weekdays.Problem())
	for _, tc := range []struct{ from, next time.Time }{
		{at(1, 8, 29), at(1, 8, 30)}, // the first is a Monday
		{at(1, 8, 30), at(1, 8, 30)},
		{at(1, 19, 59), at(1, 19, 59)},
		{at(1, 20, 0), at(2, 8, 30)},
		{at(5, 21, 0), at(8, 8, 30)}, // Friday evening
		{at(7, 12, 0), at(8, 8, 30)},
		{at(12, 23, 0), at(15, 8, 30)}, // the clocks change on Sunday
	} {
		require.True(t, tc.next.Equal(weekdays.Next(tc.from)), "%s: %s", tc.from, weekdays.Next(tc.from))
	}
	require.True(t, at(1, 8, 30).Add(30*time.Second).Equal(weekdays.Next(at(1, 8, 30).Add(30*time.Second))), "the opening minute is in the window")
	mondays := chat.SendWindow{Start: "08:00", End: "24:00", Days: []int{1}}
	require.Empty(t, mondays.Problem())
	require.Empty(t, chat.SendWindow{Start: "08:00", End: "20:00", Days: []int{1, 2, 3, 4, 5, 6, 7}}.Problem())
	require.True(t, at(8, 8, 0).Equal(mondays.Next(at(2, 0, 0))))
	require.True(t, at(1, 23, 59).Equal(mondays.Next(at(1, 23, 59))))
	for name, invalid := range map[string]chat.SendWindow{
		"no days": {Start: "08:00", End: "20:00"}, "day 8": {Start: "08:00", End: "20:00", Days: []int{8}}, "day 0": {Start: "08:00", End: "20:00", Days: []int{0}},
		"backwards": {Start: "20:00", End: "08:00", Days: []int{1}}, "empty": {Start: "08:00", End: "08:00", Days: []int{1}}, "no time": {Days: []int{1}},
		"no start": {End: "20:00", Days: []int{1}}, "no end": {Start: "08:00", Days: []int{1}}, "an end without a clock": {Start: "08:00", End: "noon", Days: []int{1}},
		"25 hours": {Start: "08:00", End: "25:00", Days: []int{1}}, "too many": {Start: "08:00", End: "20:00", Days: []int{1, 2, 3, 4, 5, 6, 7, 1}},
	} {
		require.NotEmpty(t, invalid.Problem(), name)
	}
}

// Where clocks change at midnight, a Sunday of the year has no 00:00. It is a Sunday nevertheless.
func TestSendWindowWithoutMidnight(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		zone   string
		sunday time.Time // its first moment
	}{
		"Santiago": {"America/Santiago", time.Date(2027, 9, 5, 4, 0, 0, 0, time.UTC)},
		"Havana":   {"America/Havana", time.Date(2027, 3, 14, 5, 0, 0, 0, time.UTC)},
	} {
		zone := chat.LoadZone(tc.zone)
		saturday := tc.sunday.Add(-3 * time.Hour).In(zone)
		require.Equal(t, time.Saturday, saturday.Weekday(), name)
		require.Equal(t, "01:00", tc.sunday.In(zone).Format("15:04"), name)
		sundays := chat.SendWindow{Start: "09:00", End: "20:00", Days: []int{7}}
		require.Equal(t, tc.sunday.Add(8*time.Hour).In(zone), sundays.Next(saturday), name)
		saturdays := chat.SendWindow{Start: "09:00", End: "10:00", Days: []int{6}}
		require.Equal(t, tc.sunday.Add(6*24*time.Hour+8*time.Hour).In(zone), saturdays.Next(saturday), name)
		require.Equal(t, tc.sunday.In(zone), chat.SendWindow{Start: "00:00", End: "20:00", Days: []int{7}}.Next(saturday), name)
		require.Equal(t, tc.sunday.In(zone), chat.SendWindow{Start: "00:30", End: "20:00", Days: []int{7}}.Next(saturday), name)
	}
}

func TestDeclines(t *testing.T) {
	t.Parallel()
	for answer, declines := range map[string]bool{"não": true, "NAO.": true, "n": true, "sair": true, "sim": false, "1": false, "não sei": false, "": false} {
		require.Equal(t, declines, chat.Declines(answer, []string{"SAIR"}), answer)
	}
}
