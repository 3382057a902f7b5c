package fhir_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/fhir"
)

func TestParseParameters(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]url.Values{
		"":                              {},
		`{"resourceType":"Parameters"}`: {},
		`{"resourceType":"Parameters","parameter":[{"name":"_type","valueCode":"Patient"},{"valueCode":"Encounter","name":"_type"},{"name":"start","valueDate":"2026-03-02"}]}`: {
			"_type": {"Patient", "Encounter"}, "start": {"2026-03-02"},
		},
	} {
		params, ok := fhir.ParseParameters([]byte(body))
		require.True(t, ok, body)
		require.Equal(t, want, params, body)
	}
	for _, body := range []string{
		`{`, `{}`, `{"resourceType":"Patient"}`, `{"resourceType":"Parameters","parameter":{}}`,
		`{"resourceType":"Parameters","parameter":[{"name":"start"}]}`,
		`{"resourceType":"Parameters","parameter":[{"valueDate":"2026-03-02"}]}`,
		`{"resourceType":"Parameters","parameter":[{"valueDate":"2026-03-02","valueCode":"x"}]}`,
		`{"resourceType":"Parameters","parameter":[{"name":1,"valueDate":"2026-03-02"}]}`,
		`{"resourceType":"Parameters","parameter":[{"name":"start","valueInteger":1}]}`,
		`{"resourceType":"Parameters","parameter":[{"name":"start","resource":"x"}]}`,
		`{"resourceType":"Parameters","parameter":[{"name":"start","valueDate":"2026-03-02","id":"x"}]}`,
	} {
		_, ok := fhir.ParseParameters([]byte(body))
		require.False(t, ok, body)
	}
}

func TestParseEverythingQuery(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -3*3600)
	all, err := fhir.ParseEverythingQuery(url.Values{"start": {""}, "_format": {"json"}, "_pretty": {"true"}}, zone)
	require.NoError(t, err)
	require.True(t, all.Has(fhir.TypePatient))
	require.Equal(t, fhir.Range{}, all.Range)
	require.Empty(t, all.Encode())
	some, err := fhir.ParseEverythingQuery(url.Values{"start": {"2026-03-02"}, "end": {"2026-03-04"}, "_type": {"Patient,Encounter", "", "Appointment"}}, zone)
	require.NoError(t, err)
	require.True(t, some.Range.From.Equal(time.Date(2026, 3, 2, 0, 0, 0, 0, zone)))
	require.True(t, some.Range.To.Equal(time.Date(2026, 3, 5, 0, 0, 0, 0, zone)), "the day itself is within")
	require.True(t, some.Has(fhir.TypeEncounter))
	require.True(t, some.Has(fhir.TypeAppointment))
	require.False(t, some.Has(fhir.TypeCommunication))
	require.Equal(t, "_type=Patient%2CEncounter&_type=Appointment&end=2026-03-04&start=2026-03-02", some.Encode())
	for query, unsupported := range map[string]bool{"start=x": false, "end=2026-03-02&end=2026-03-02": false, "_count=1": true, "_since=2026": true} {
		requested, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = fhir.ParseEverythingQuery(requested, zone)
		var fault *fhir.ParameterError
		require.ErrorAs(t, err, &fault, query)
		name, _, _ := strings.Cut(query, "=")
		require.Equal(t, name, fault.Parameter)
		require.Equal(t, unsupported, fault.Unsupported, query)
	}
}

func TestParseExportQuery(t *testing.T) {
	t.Parallel()
	all, err := fhir.ParseExportQuery(url.Values{"_type": {""}, "_format": {"json"}, "_pretty": {"true"}})
	require.NoError(t, err)
	require.Nil(t, all.Types)
	require.True(t, all.Since.IsZero())
	require.Empty(t, all.Encode())
	for _, format := range []string{"application/fhir+ndjson", "application/fhir ndjson", "application/ndjson", "ndjson"} {
		some, err := fhir.ParseExportQuery(url.Values{"_type": {"Patient,Encounter", "Patient"}, "_since": {"2026-03-02T09:00:00 03:00"}, "_outputFormat": {format}})
		require.NoError(t, err, format)
		require.Equal(t, []string{"Patient", "Encounter"}, some.Types)
		require.True(t, some.Since.Equal(time.Date(2026, 3, 2, 6, 0, 0, 0, time.UTC)))
		require.Contains(t, some.Encode(), "_type=Patient%2CEncounter&_type=Patient")
	}
	for query, unsupported := range map[string]bool{
		"_since=2026-03-02": false, "_since=2026-03-02T09:00:00Z&_since=2026-03-02T09:00:00Z": false, "_type=Patient,": true, "_type=Group": true, "_outputFormat=csv": true, "patient=x": true,
	} {
		requested, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = fhir.ParseExportQuery(requested)
		var fault *fhir.ParameterError
		require.ErrorAs(t, err, &fault, query)
		name, _, _ := strings.Cut(query, "=")
		require.Equal(t, name, fault.Parameter)
		require.Equal(t, unsupported, fault.Unsupported, query)
	}
	progress := validJSON(t, fhir.NewProgress("3 of 5"))
	require.Equal(t, "3 of 5", pick(t, progress, "issue", 0, "diagnostics"))
}
