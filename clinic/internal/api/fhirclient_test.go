package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// "Checked with `fhir-kit-client`": a client that knows nothing but FHIR reads, searches, leafs
// through pages, follows references, runs operations and understands refusals.
func TestFHIRKitClient(t *testing.T) {
	t.Parallel()
	chart := clinictest.NewChart(t)
	type refusal struct {
		Status             int
		ResourceType, Code string
	}
	var result struct {
		FHIRVersion                                                       string
		CanSearch, Birthdate                                              bool
		Name, ETag, Resolved                                              string
		Unchanged, Everything                                             int
		First, Second, Back, ByForm, VRead, Compartment, EverythingByPost []string
		Missing, Unknown, Refused                                         refusal
	}
	runNode(t, "client.mjs", map[string]any{
		"base": chart.Hub.Base + "/fhir", "headers": map[string]string{"X-Integration-Key": chart.NewKey("patient.read").Token}, "patient": chart.PatientID, "appointment": chart.VisitID,
	}, &result)
	patient := "Patient/" + chart.PatientID
	require.Equal(t, "4.0.1", result.FHIRVersion)
	require.True(t, result.CanSearch)
	require.True(t, result.Birthdate)
	require.Equal(t, "Édson da Silva", result.Name)
	require.NotEmpty(t, result.ETag)
	require.Equal(t, 304, result.Unchanged)
	require.Equal(t, []string{"Appointment/" + chart.CancelledAppointmentID, patient}, result.First)
	require.Equal(t, []string{"Appointment/" + chart.VisitID, patient}, result.Second)
	require.Equal(t, result.First, result.Back)
	require.Equal(t, []string{patient}, result.ByForm)
	require.Equal(t, []string{"Encounter/" + chart.VisitID}, result.VRead)
	require.Empty(t, result.Compartment, "a key of no product sees no interactions")
	require.Equal(t, chart.PatientID, result.Resolved)
	require.Equal(t, 7, result.Everything, "without the very restricted record and the clinic's own note")
	require.Equal(t, []string{"Encounter/" + chart.VisitID}, result.EverythingByPost)
	require.Equal(t, refusal{404, "OperationOutcome", "not-found"}, result.Missing)
	require.Equal(t, refusal{404, "OperationOutcome", "not-found"}, result.Unknown)
	require.Equal(t, refusal{405, "OperationOutcome", "not-supported"}, result.Refused)
}
