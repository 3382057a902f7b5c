package care_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/care"
)

// Years 1900 to 9998 as written, with an offset; the seconds may be missing.
func TestParseInstant(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"2026-01-02T03:04:05Z":      time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		"2026-01-02T00:04:05-03:00": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		"2026-01-02T00:04-03:00":    time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
		"1900-01-01T00:00:00Z":      time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC),
		"9998-12-31T23:59:59Z":      time.Date(9998, 12, 31, 23, 59, 59, 0, time.UTC),
		"1900-01-01T00:00:00+01:00": time.Date(1899, 12, 31, 23, 0, 0, 0, time.UTC),
		"9998-12-31T23:59:59-01:00": time.Date(9999, 1, 1, 0, 59, 59, 0, time.UTC),
	} {
		instant, ok := care.ParseInstant(text)
		require.True(t, ok, text)
		require.Equal(t, want, instant, text)
	}
	for _, text := range []string{
		"", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04Z", "1899-12-31T23:59:59Z", "1899-12-31T23:30-01:00", "9999-01-01T00:00:00Z", "0001-01-01T00:00Z",
	} {
		_, ok := care.ParseInstant(text)
		require.False(t, ok, text)
	}
}

// Without an offset a time counts in the zone, by the offset that it has that day.
func TestParseLocalTime(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	for text, want := range map[string]time.Time{
		"2026-01-02T03:04:05": time.Date(2026, 1, 2, 8, 4, 5, 0, time.UTC), "2026-07-02T03:04": time.Date(2026, 7, 2, 7, 4, 0, 0, time.UTC),
		"2026-01-02T03:04:05.5": time.Date(2026, 1, 2, 8, 4, 5, 500_000_000, time.UTC), "1900-01-01T00:00:00": time.Date(1900, 1, 1, 5, 0, 0, 0, time.UTC),
		"9998-12-31T23:59:59": time.Date(9999, 1, 1, 4, 59, 59, 0, time.UTC),
	} {
		instant, ok := care.ParseLocalTime(text, zone)
		require.True(t, ok, text)
		require.Equal(t, want, instant, text)
	}
	for _, text := range []string{"", "2026-01-02", "2026-01-02T03", "2026-01-02 03:04", "2026-01-02T03:04:05Z", "2026-01-02T03:04-03:00", "1899-12-31T23:59:59", "9999-01-01T00:00"} {
		_, ok := care.ParseLocalTime(text, zone)
		require.False(t, ok, text)
	}
}

// What JSON cannot represent becomes the nearest instant that it can.
func TestClampInstant(t *testing.T) {
	t.Parallel()
	earliest, latest := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, instant := range []time.Time{earliest, latest, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} {
		require.Equal(t, instant, care.ClampInstant(instant))
		require.Equal(t, instant, care.ClampInstant(instant.In(time.FixedZone("", 3600))))
	}
	require.Equal(t, earliest, care.ClampInstant(earliest.Add(-time.Second)))
	require.Equal(t, latest, care.ClampInstant(latest.Add(time.Second)))
}

func TestAppointmentStatusIsValid(t *testing.T) {
	t.Parallel()
	for status, want := range map[care.AppointmentStatus]bool{
		"scheduled": true, "confirmed": true, "completed": true, "cancelled": true, "no_show": true, "": false, "Scheduled": false, "paid": false,
	} {
		require.Equal(t, want, status.IsValid(), status)
	}
}

func TestAmountBounds(t *testing.T) {
	t.Parallel()
	for amount, want := range map[care.Amount]string{
		0: "0.00", 1: "0.01", -1: "-0.01", 99: "0.99", 100: "1.00", math.MaxInt64: "92233720368547758.07", math.MinInt64: "-92233720368547758.08",
	} {
		require.Equal(t, want, amount.String())
	}
}

// A code in lower case beside a dash is part of a UUID or of another identifier.
func TestRedactBesideDashes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"f321": "***", "f321.": "***.", "f321-bbfd": "f321-bbfd", "bbfd-f321": "bbfd-f321", "bbfd-f321-9b5d": "bbfd-f321-9b5d", "x f321 y": "x *** y", "f321 -": "*** -", "- f321": "- ***",
	} {
		require.Equal(t, want, care.Redact(text))
	}
}

// The limit counts characters, not bytes.
func TestTruncateAtItsLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc", "çãé": "çãé", "çãéõ": "çãé", "ab𝄞": "ab𝄞", "ab𝄞𝄞": "ab𝄞"} {
		require.Equal(t, want, care.Truncate(text, 3))
	}
}
