package fhir_test

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
)

func elements(t *testing.T, query string, resource fhir.Resource) []string {
	t.Helper()
	params, err := url.ParseQuery(query)
	require.NoError(t, err)
	subset, err := fhir.ParseSubset(params)
	require.NoError(t, err, query)
	var names []string
	for name := range validJSON(t, subset.Of(resource)) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestSubset(t *testing.T) {
	t.Parallel()
	patient := people.Patient(fhir.PatientRow{ID: someone, Name: "Ana", Phone: "+5511987654321", BirthDate: at, Active: true, UpdatedAt: at})
	whole := []string{"active", "birthDate", "id", "managingOrganization", "meta", "name", "resourceType", "telecom"}
	for query, want := range map[string][]string{
		"":                       whole,
		"_summary=false":         whole,
		"_summary=data":          whole,
		"_summary=true":          whole,
		"_elements=,":            whole,
		"_summary=text":          {"id", "meta", "resourceType"},
		"_elements=name":         {"id", "meta", "name", "resourceType"},
		"_elements=Patient.name": {"id", "meta", "name", "resourceType"},
		"_elements=name.text,%20Patient.telecom.value,Appointment.active,Patient,x&_summary=false": {"id", "meta", "name", "resourceType", "telecom"},
	} {
		require.Equal(t, want, elements(t, query, patient), query)
	}
	appointment := people.Appointment(fhir.AppointmentRow{ID: thing, PatientID: someone, StartsAt: at, Service: "Consulta", Status: care.Scheduled, CreatedAt: at})
	require.Equal(t, []string{"_end", "id", "meta", "participant", "resourceType", "serviceType", "start", "status"}, elements(t, "_summary=true", appointment))
	require.Equal(t, []string{"_end", "id", "meta", "participant", "resourceType", "status"}, elements(t, "_elements=end", appointment))
	require.Equal(t, []string{"id", "meta", "participant", "resourceType", "status"}, elements(t, "_summary=text", appointment), "R4 requires these")
}

func TestSubsetIsTagged(t *testing.T) {
	t.Parallel()
	subset, err := fhir.ParseSubset(url.Values{"_summary": {"true"}})
	require.NoError(t, err)
	got := validJSON(t, subset.Of(people.Patient(fhir.PatientRow{ID: someone, Name: "Ana", UpdatedAt: at})))
	require.Equal(t, "SUBSETTED", pick(t, got, "meta", "tag", 0, "code"))
	require.Equal(t, "2026-03-02T12:30:00.123Z", pick(t, got, "meta", "lastUpdated"))
	require.False(t, subset.OnlyCounts())
	subset, err = fhir.ParseSubset(url.Values{"_summary": {"count"}})
	require.NoError(t, err)
	require.True(t, subset.OnlyCounts())
}

// A summary has no data of attachments. The resource that it was made from keeps them.
func TestSubsetOfDocument(t *testing.T) {
	t.Parallel()
	document, ok := people.DocumentReference(fhir.RecordRow{ID: thing, PatientID: someone, Date: at, Zone: time.UTC, Content: "text", Sensitivity: care.Normal})
	require.True(t, ok)
	subset, err := fhir.ParseSubset(url.Values{"_summary": {"true"}})
	require.NoError(t, err)
	attachment := pick(t, validJSON(t, subset.Of(document)), "content", 0, "attachment")
	require.NotContains(t, attachment, "data")
	require.Contains(t, attachment, "contentType")
	require.Equal(t, []byte("text"), document.Content[0].Attachment.Data)
}

func TestSubsetErrors(t *testing.T) {
	t.Parallel()
	for query, parameter := range map[string]string{
		"_summary=yes": "_summary", "_summary=true&_elements=name": "_elements", "_summary=data&_elements=name": "_elements", "_summary=count&_elements=name": "_elements",
	} {
		params, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = fhir.ParseSubset(params)
		var fault *fhir.ParameterError
		require.ErrorAs(t, err, &fault, query)
		require.Equal(t, parameter, fault.Parameter, query)
	}
}
