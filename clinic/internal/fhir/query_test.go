package fhir_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/fhir"
)

func TestRanges(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -3*3600)
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, zone) }
	for value, want := range map[string]fhir.Range{
		"2026":                        {From: day(2026, 1, 1), To: day(2027, 1, 1)},
		"2026-02":                     {From: day(2026, 2, 1), To: day(2026, 3, 1)},
		"2026-03-02":                  {From: day(2026, 3, 2), To: day(2026, 3, 3)},
		"eq2026-03-02":                {From: day(2026, 3, 2), To: day(2026, 3, 3)},
		"gt2026-03-02":                {From: day(2026, 3, 3)},
		"sa2026-03-02":                {From: day(2026, 3, 3)},
		"ge2026-03-02":                {From: day(2026, 3, 2)},
		"lt2026-03-02":                {To: day(2026, 3, 2)},
		"eb2026-03-02":                {To: day(2026, 3, 2)},
		"le2026-03-02":                {To: day(2026, 3, 3)},
		"2026-03-02T09:30":            {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute), To: day(2026, 3, 2).Add(9*time.Hour + 31*time.Minute)},
		"ge2026-03-02T12:30:00Z":      {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute)},
		"le2026-03-02T12:30:00.250Z":  {To: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute + 251*time.Millisecond)},
		"ge2026-03-02T14:30:00 02:00": {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute)}, // a plus that nobody escaped
	} {
		got, err := fhir.Ranges([]string{value}, zone)
		require.NoError(t, err, value)
		require.True(t, want.From.Equal(got.From) && want.To.Equal(got.To), "%s: %v", value, got)
	}
	both, err := fhir.Ranges([]string{"ge2026-03-02", "lt2026-04-01", "lt2026-05-01", "ge2026-01-01"}, zone)
	require.NoError(t, err)
	require.True(t, both.From.Equal(day(2026, 3, 2)) && both.To.Equal(day(2026, 4, 1)))
	for _, wrong := range []string{"", "ge", "tomorrow", "ne2026-03-02", "ap2026", "02/03/2026", "2026-13-01", "xx2026-03-02"} {
		_, err := fhir.Ranges([]string{wrong}, zone)
		require.Error(t, err, wrong)
		if wrong != "" && wrong != "ge" {
			require.NotContains(t, err.Error(), wrong, "no submitted value")
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	base := "https://hub.example.com/clinic/fhir"
	for _, form := range []string{someone.String(), "Patient/" + someone.String(), base + "/Patient/" + someone.String()} {
		id, ok := fhir.PatientID(form, base)
		require.True(t, ok)
		require.Equal(t, someone, id)
	}
	_, ok := fhir.PatientID("Patient/x", base)
	require.False(t, ok)
	require.Equal(t, []uuid.UUID{someone, thing}, fhir.IDs([]string{someone.String() + ",x", thing.String()}))
	require.NotNil(t, fhir.IDs(nil), "none is not all")
	for value, want := range map[string][2]string{
		"urn:x|52998224725": {"urn:x", "52998224725"}, "52998224725": {"", "52998224725"}, "|52998224725": {"", "52998224725"},
	} {
		system, code := fhir.Token(value)
		require.Equal(t, want, [2]string{system, code})
	}
}
