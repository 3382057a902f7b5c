package chat_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func TestNormalizeOpeningHours(t *testing.T) {
	t.Parallel()
	normalized, problem := chat.NormalizeOpeningHours([]chat.OpeningHours{
		{WeekdayEn: "monday", StartTime: "08:00", EndTime: "12:00"},
		{Weekday: "Monday", WeekdayEn: "monday", StartTime: "12:00", EndTime: "24:00"},
		{WeekdayEn: "sunday"},
	})
	require.Empty(t, problem)
	require.Equal(t, "Segunda-feira", normalized[0].Weekday)
	require.Equal(t, "Monday", normalized[1].Weekday)
	for name, valid := range map[string][]chat.OpeningHours{
		"the same hours on two days":       {{WeekdayEn: "monday", StartTime: "08:00", EndTime: "12:00"}, {WeekdayEn: "tuesday", StartTime: "08:00", EndTime: "12:00"}},
		"the afternoon before the morning": {{WeekdayEn: "monday", StartTime: "12:00", EndTime: "14:00"}, {WeekdayEn: "monday", StartTime: "08:00", EndTime: "12:00"}},
		"the longest name of a day":        {{Weekday: strings.Repeat("é", 30), WeekdayEn: "monday", StartTime: "08:00", EndTime: "12:00"}},
		"as many as there may be":          slices.Repeat([]chat.OpeningHours{{WeekdayEn: "sunday"}}, chat.MaxOpeningHours),
	} {
		normalized, problem := chat.NormalizeOpeningHours(valid)
		require.Empty(t, problem, name)
		require.Len(t, normalized, len(valid), name)
	}
	for name, invalid := range map[string][]chat.OpeningHours{
		"no day":                      {{StartTime: "08:00", EndTime: "12:00"}},
		"an unknown day":              {{WeekdayEn: "segunda", StartTime: "08:00", EndTime: "12:00"}},
		"no end":                      {{WeekdayEn: "monday", StartTime: "08:00"}},
		"no start":                    {{WeekdayEn: "monday", EndTime: "08:00"}},
		"an end before it":            {{WeekdayEn: "monday", StartTime: "12:00", EndTime: "08:00"}},
		"an empty stretch":            {{WeekdayEn: "monday", StartTime: "12:00", EndTime: "12:00"}},
		"an hour of 25":               {{WeekdayEn: "monday", StartTime: "08:00", EndTime: "25:00"}},
		"a start at 24":               {{WeekdayEn: "monday", StartTime: "24:00", EndTime: "24:00"}},
		"one digit":                   {{WeekdayEn: "monday", StartTime: "8:00", EndTime: "12:00"}},
		"an overlap":                  {{WeekdayEn: "monday", StartTime: "08:00", EndTime: "12:00"}, {WeekdayEn: "monday", StartTime: "11:59", EndTime: "13:00"}},
		"a long name of a day":        {{Weekday: strings.Repeat("é", 31), WeekdayEn: "monday", StartTime: "08:00", EndTime: "12:00"}},
		"a long name of a closed day": {{Weekday: strings.Repeat("é", 31), WeekdayEn: "sunday"}},
		"too many stretches":          make([]chat.OpeningHours, chat.MaxOpeningHours+1),
	} {
		_, problem := chat.NormalizeOpeningHours(invalid)
		require.NotEmpty(t, problem, name)
	}
}

func TestIsOpen(t *testing.T) {
	t.Parallel()
	hours := []chat.OpeningHours{{WeekdayEn: "monday", StartTime: "08:00", EndTime: "12:00"}, {WeekdayEn: "tuesday", StartTime: "20:00", EndTime: "24:00"}, {WeekdayEn: "sunday"}}
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for offset, open := range map[time.Duration]bool{
		-time.Minute: false, 7*time.Hour + 59*time.Minute: false, 8 * time.Hour: true, 12*time.Hour - time.Second: true, 12 * time.Hour: false,
		48*time.Hour - time.Second: true, 48 * time.Hour: false,
	} {
		require.Equal(t, open, chat.IsOpen(hours, monday.Add(offset)), offset)
	}
	require.True(t, chat.IsOpen(nil, monday))
}
