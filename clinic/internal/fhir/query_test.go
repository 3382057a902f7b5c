package fhir_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
)

func TestParseDateRanges(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -3*3600)
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, zone) }
	for value, want := range map[string]fhir.Range{
		"2026":                           {From: day(2026, 1, 1), To: day(2027, 1, 1)},
		"2026-02":                        {From: day(2026, 2, 1), To: day(2026, 3, 1)},
		"2026-03-02":                     {From: day(2026, 3, 2), To: day(2026, 3, 3)},
		"eq2026-03-02":                   {From: day(2026, 3, 2), To: day(2026, 3, 3)},
		"gt2026-03-02":                   {From: day(2026, 3, 3)},
		"sa2026-03-02":                   {From: day(2026, 3, 3)},
		"ge2026-03-02":                   {From: day(2026, 3, 2)},
		"lt2026-03-02":                   {To: day(2026, 3, 2)},
		"eb2026-03-02":                   {To: day(2026, 3, 2)},
		"le2026-03-02":                   {To: day(2026, 3, 3)},
		"2026-03-02T09:30":               {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute), To: day(2026, 3, 2).Add(9*time.Hour + 31*time.Minute)},
		"ge2026-03-02T12:30:00Z":         {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute)},
		"le2026-03-02T12:30:00.250Z":     {To: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute + 251*time.Millisecond)},
		"gt2026-03-02T12:30:00.000Z":     {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute + time.Millisecond)},
		"2026-03-02T09:30:15":            {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute + 15*time.Second), To: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute + 16*time.Second)},
		"2026-03-02T12:30Z":              {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute), To: day(2026, 3, 2).Add(9*time.Hour + 31*time.Minute)},
		"le2026-03-02T12:30:00.0000005Z": {To: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute + 1500*time.Nanosecond)},
		"le2026-03-02T12:30:00.909Z":     {To: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute + 910*time.Millisecond)},
		"1000":                           {From: day(1000, 1, 1), To: day(1001, 1, 1)},
		"lt1000-01-01T00:00:00-03:00":    {To: day(1000, 1, 1)},
		"ge2026-03-02T14:30:00 02:00":    {From: day(2026, 3, 2).Add(9*time.Hour + 30*time.Minute)}, // a plus that nobody escaped
	} {
		got, err := fhir.ParseDateRanges([]string{value}, zone, time.Time{})
		require.NoError(t, err, value)
		require.Len(t, got, 1)
		require.Len(t, got[0], 1)
		require.True(t, want.From.Equal(got[0][0].From) && want.To.Equal(got[0][0].To), "%s: %v", value, got)
	}
	both, err := fhir.ParseDateRanges([]string{"ge2026-03-02", "2026-04-01,2026-04-03"}, zone, time.Time{})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{len(both[0]), len(both[1])}, "all of the values, one of the alternatives")
	require.True(t, both[1][1].From.Equal(day(2026, 4, 3)))
	for _, wrong := range []string{"", "ge", "tomorrow", "nx2026-03-02", "ap", "02/03/2026", "2026-13-01", "xx2026-03-02", "lt0001", "0999", "0999-12-31T23:59:59Z", "a2026-03-02", "{e2026-03-02", "zz2026-03-02", "2026-03-02,x", "2026-04-05T12"} {
		_, err := fhir.ParseDateRanges([]string{wrong}, zone, time.Time{})
		require.Error(t, err, wrong)
		if len(wrong) > len("ge") {
			require.NotContains(t, err.Error(), wrong, "no submitted value")
		}
	}
}

// What begins with a small letter has a prefix.
func TestUnknownPrefixes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"aa2026-03-02": "has a prefix", "zz2026-03-02": "has a prefix", "`a2026-03-02": "must be a date", "{a2026-03-02": "must be a date", "zz": "must be a date",
	} {
		_, err := fhir.ParseDateRanges([]string{value}, time.UTC, time.Time{})
		require.ErrorContains(t, err, want, value)
	}
}

// ne leaves out what the value contains. ap takes a tenth of the gap between now and the value
// on both sides, however long the gap is.
func TestParseDateRangesOfTwoSides(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 12, 0, 0, 0, 0, time.UTC)
	day := func(text string) time.Time {
		parsed, err := time.Parse("2006-01-02T15", text)
		require.NoError(t, err)
		return parsed
	}
	for value, want := range map[string][]fhir.Range{
		"ne2026-03-02": {{To: day("2026-03-02T00")}, {From: day("2026-03-03T00")}},
		"ap2026-03-01": {{From: day("2026-02-28T00"), To: day("2026-03-03T00")}},
		"ap2026-03-22": {{From: day("2026-03-21T00"), To: day("2026-03-24T00")}},
		"ap2026-03-12": {{From: day("2026-03-12T00"), To: day("2026-03-13T00")}},
		"ap2026":       {{From: day("2026-01-01T00"), To: day("2027-01-01T00")}},
		"ap1026-03-12": {{From: day("0926-03-11T19").Add(12 * time.Minute), To: day("1126-03-13T04").Add(48 * time.Minute)}},
	} {
		got, err := fhir.ParseDateRanges([]string{value}, time.UTC, now)
		require.NoError(t, err)
		require.Len(t, got[0], len(want), value)
		for i, r := range want {
			require.True(t, r.From.Equal(got[0][i].From) && r.To.Equal(got[0][i].To), "%s: %v", value, got)
		}
	}
	now = now.Add(9 * time.Second)
	for value, want := range map[string]fhir.Range{ // of the tenth, whole seconds
		"ap2026-03-12T00:00:00": {From: now.Add(-9 * time.Second), To: now.Add(-8 * time.Second)},
		"ap2026-03-11T23:59:58": {From: now.Add(-12 * time.Second), To: now.Add(-9 * time.Second)},
		"ap2026-03-12T00:00:19": {From: now.Add(9 * time.Second), To: now.Add(12 * time.Second)},
		"ap2026-03-12T00:00:09": {From: now, To: now.Add(time.Second)},
	} {
		got, err := fhir.ParseDateRanges([]string{value}, time.UTC, now)
		require.NoError(t, err)
		require.True(t, want.From.Equal(got[0][0].From) && want.To.Equal(got[0][0].To), "%s: %v", value, got)
	}
	whole := fhir.Range{From: day("2026-03-02T00"), To: day("2026-03-04T00")}
	require.Equal(t, whole, fhir.WholeDays(whole))
	touched := fhir.WholeDays(fhir.Range{From: day("2026-03-02T13"), To: day("2026-03-04T01")})
	require.Equal(t, fhir.Range{From: day("2026-03-02T00"), To: day("2026-03-05T00")}, touched)
	require.Equal(t, fhir.Range{}, fhir.WholeDays(fhir.Range{}), "an open side stays open")
}

// A day is found by the instant at which it begins, in every zone and however its clocks
// change, and by its date.
func TestToDays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, day, begins string }{
		{"America/Sao_Paulo", "2026-02-03", "2026-02-03T03:00:00.000Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z"}, // clocks skip midnight
		{"America/Sao_Paulo", "2018-02-18", "2018-02-18T03:00:00.000Z"}, // the hour before comes twice
		{"America/Havana", "2025-11-02", "2025-11-02T04:00:00.000Z"},    // midnight comes twice
		{"Pacific/Kiritimati", "2026-02-03", "2026-02-02T10:00:00.000Z"},
		{"Pacific/Kiritimati", "1994-12-31", "1994-12-31T10:00:00.000Z"}, // left out: as the next day
		{"Pacific/Niue", "2026-02-03", "2026-02-03T11:00:00.000Z"},
		{"UTC", "2026-02-03", "2026-02-03T00:00:00.000Z"},
	} {
		zone, err := time.LoadLocation(test.zone)
		require.NoError(t, err)
		day, err := time.Parse(time.DateOnly, test.day)
		require.NoError(t, err)
		document, _ := people.DocumentReference(fhir.RecordRow{ID: thing, PatientID: someone, Date: day, Zone: zone, Sensitivity: care.Normal})
		require.Equal(t, test.begins, document.Date, "%s in %s", test.day, test.zone)
		begins, err := time.Parse(time.RFC3339, test.begins)
		require.NoError(t, err)
		for value, found := range map[string]bool{
			test.begins: true, "ge" + test.begins: true, "le" + test.begins: true, "gt" + test.begins: false, "lt" + test.begins: false, "sa" + test.begins: false,
			"lt" + begins.Add(12*time.Hour).Format(time.RFC3339): true, "ge" + begins.Add(12*time.Hour).Format(time.RFC3339): false,
			"gt" + begins.Add(30*time.Minute).Format(time.RFC3339): false, "gt" + begins.Add(-30*time.Minute).Format(time.RFC3339): true,
			"le" + begins.Add(-time.Second).Format(time.RFC3339): false, "eb" + begins.Add(time.Second).Format(time.RFC3339): true,
			test.day: true, "ge" + test.day: true, "le" + test.day: true, "gt" + test.day: false, "lt" + test.day: false, test.day[:7]: true, "lt" + test.day[:4]: false,
		} {
			if test.day == "1994-12-31" && !strings.Contains(value, "T") {
				continue // no instant is of that day
			}
			ranges, err := fhir.ParseDateRanges([]string{value}, zone, time.Time{})
			require.NoError(t, err)
			days := fhir.ToDays(ranges[0][0], zone)
			got := (days.From.IsZero() || !day.Before(days.From)) && (days.To.IsZero() || day.Before(days.To))
			require.Equal(t, found, got, "%s in %s, asked for %s: %v", test.day, test.zone, value, days)
		}
	}
}

// Unsupported modifiers are refused. Unknown parameters are dropped, or refused if strict.
func TestParseSearchParams(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"patient=a&foo=b&_sort=name&status=&x.y=1": "patient=a", "_sort=-date,_id": "_sort=-date%2C_id", "status:not=a": "status%3Anot=a", "_id=a&_id:not=b": "_id=a&_id%3Anot=b", "_include=Appointment:patient&_include=Appointment:slot": "_include=Appointment%3Apatient", "patient:Patient=a": "patient%3APatient=a", "date=a&date=b": "date=a&date=b", "": "",
	} {
		asked, err := url.ParseQuery(query)
		require.NoError(t, err)
		used, ignored, err := fhir.ParseSearchParams(fhir.TypeAppointment, asked, false)
		require.NoError(t, err, query)
		require.Equal(t, want, used.Encode(), query)
		switch {
		case strings.Contains(query, "foo"):
			require.Equal(t, []string{"_sort", "foo", "x.y"}, ignored)
		case strings.Contains(query, "slot"):
			require.Equal(t, []string{"_include"}, ignored, "one of the values")
		default:
			require.Empty(t, ignored, query)
		}
	}
	for query, wrong := range map[string]fhir.ParameterError{
		"patient:Group=a": {Parameter: "patient:Group", Unsupported: true}, "date:not=a": {Parameter: "date:not", Unsupported: true}, "foo:bar=a": {Parameter: "foo:bar", Unsupported: true},
		"patient:=a": {Parameter: "patient:", Unsupported: true}, "patient:Patient.name=a": {Parameter: "patient:Patient.name", Unsupported: true},
		"_has:Encounter:patient:date=a": {Parameter: "_has:Encounter:patient:date", Unsupported: true}, "_count=1&_count=2": {Parameter: "_count"}, "status=%00": {Parameter: "status"},
		"status=%ff": {Parameter: "status"}, "status=" + strings.Repeat("a,", 200): {Parameter: "status"}, strings.Repeat("status=a&", 11): {Parameter: "status"},
	} {
		asked, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, _, err = fhir.ParseSearchParams(fhir.TypeAppointment, asked, false)
		var fault *fhir.ParameterError
		require.ErrorAs(t, err, &fault, query)
		require.Equal(t, wrong.Parameter, fault.Parameter, query)
		require.Equal(t, wrong.Unsupported, fault.Unsupported, query)
	}
	for _, query := range []string{
		strings.Repeat("status=a&", 10), "status=" + strings.Repeat("a,", 199), "_elements=" + strings.Repeat("a,", 199), strings.Repeat("_include=*&", 10),
	} {
		asked, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, _, err = fhir.ParseSearchParams(fhir.TypeAppointment, asked, true)
		require.NoError(t, err, query)
	}
	for _, query := range []string{"_elements=" + strings.Repeat("a,", 200), strings.Repeat("_include=*&", 11), "_elements=a&_elements=b"} {
		asked, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, _, err = fhir.ParseSearchParams(fhir.TypeAppointment, asked, false)
		require.ErrorContains(t, err, "can be given", query)
	}
	for query, want := range map[string]string{
		"_sort=name": "_sort has a value that is not supported: _id, _lastUpdated, date are", "_include=x": "_include has a value that is not supported: *, Appointment:patient, Appointment:subject, Appointment:actor are",
		"_revinclude=*": "_revinclude has a value that is not supported: Encounter:appointment are", "date:exact=a": "date:exact has a modifier that is not supported; there are only _id:not, patient:Patient,",
	} {
		asked, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, _, err = fhir.ParseSearchParams(fhir.TypeAppointment, asked, true)
		require.ErrorContains(t, err, want)
	}
	for name, want := range map[string]string{
		"azAZ09_-:.": "azAZ09_-:.", "a{b": "a…", "a`b": "a…", "a@b": "a…", "a[b": "a…", "a/b": "a…", strings.Repeat("a", 60): strings.Repeat("a", 60), strings.Repeat("a", 61): strings.Repeat("a", 60) + "…",
	} {
		var fault *fhir.ParameterError
		_, _, err := fhir.ParseSearchParams(fhir.TypeAppointment, url.Values{name: {"a"}}, true)
		require.ErrorAs(t, err, &fault)
		require.Equal(t, want, fault.Parameter)
	}
	for _, name := range []string{"family", "_total", "patient.name", "sent"} {
		_, _, err := fhir.ParseSearchParams(fhir.TypeAppointment, url.Values{name: {"a"}}, true)
		require.ErrorContains(t, err, name+" is not supported: _id, _lastUpdated, patient,")
	}
	_, _, err := fhir.ParseSearchParams(fhir.TypeAppointment, url.Values{"a 529.982.247-25": {"a"}}, true)
	require.NotContains(t, err.Error(), "529")
}

func TestParseReferences(t *testing.T) {
	t.Parallel()
	base := "https://hub.example.com/clinic/fhir"
	for _, form := range []string{someone.String(), "Patient/" + someone.String(), base + "/Patient/" + someone.String()} {
		require.Equal(t, []uuid.UUID{someone}, fhir.ParseReferences([]string{form}, fhir.TypePatient, base), form)
	}
	for _, form := range []string{"Patient/x", "Group/" + someone.String(), "https://elsewhere.example.com/Patient/" + someone.String(), ""} {
		require.Equal(t, []uuid.UUID{}, fhir.ParseReferences([]string{form}, fhir.TypePatient, base), "none is not all")
	}
	require.Equal(t, []uuid.UUID{someone, thing}, fhir.ParseIDs([]string{someone.String() + ",x," + thing.String()}))
	require.Equal(t, []uuid.UUID{thing}, fhir.ParseIDs([]string{someone.String() + "," + thing.String(), thing.String() + ",x"}), "all of the values")
	require.Equal(t, []uuid.UUID{}, fhir.ParseIDs([]string{someone.String(), thing.String()}))
	require.Nil(t, fhir.ParseIDs(nil), "no condition")
}

func TestParseToken(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]fhir.Token{
		"urn:x|52998224725": {System: "urn:x", Code: "52998224725", HasSystem: true}, "52998224725": {Code: "52998224725"}, "|52998224725": {Code: "52998224725", HasSystem: true},
		"urn:x|": {System: "urn:x", HasSystem: true}, `a\|b`: {Code: "a|b"}, `urn:x|a\,b`: {System: "urn:x", Code: "a,b", HasSystem: true},
	} {
		require.Equal(t, want, fhir.ParseToken(value), value)
	}
	require.Equal(t, []string{`a\,b`, "c", ""}, fhir.Alternatives(`a\,b,c,`))
	require.True(t, fhir.Token{Code: "a"}.IsOf("urn:x"), "of any system")
	require.True(t, fhir.Token{System: "urn:x", HasSystem: true}.IsOf("urn:y", "urn:x"))
	require.False(t, fhir.Token{HasSystem: true}.IsOf("urn:x"), "of none")
}
