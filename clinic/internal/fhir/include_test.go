package fhir_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/care"
	"integrationhub/clinic/internal/fhir"
)

func TestIncludes(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"*", "Appointment:patient", "Appointment:subject", "Appointment:actor"}, fhir.Includes(fhir.TypeAppointment))
	require.Nil(t, fhir.Includes(fhir.TypePatient), "a patient refers to nothing")
	require.Equal(t, []string{"Encounter:appointment"}, fhir.RevIncludes(fhir.TypeAppointment))
	require.Empty(t, fhir.RevIncludes(fhir.TypeEncounter))
	require.Contains(t, fhir.RevIncludes(fhir.TypePatient), "Communication:subject")
}

func TestParseIncludes(t *testing.T) {
	t.Parallel()
	patient := fhir.Include{Type: "Appointment", Param: "patient", Target: "Patient"}
	subject := fhir.Include{Type: "Appointment", Param: "subject", Target: "Patient"}
	actor := fhir.Include{Type: "Appointment", Param: "actor", Target: "Patient"}
	visits := fhir.Include{Type: "Encounter", Param: "appointment", Target: "Appointment", Reverse: true}
	for query, want := range map[string][]fhir.Include{
		"_include=Appointment:patient":                                      {patient},
		"_include=Appointment:patient:Patient&_include=Appointment:patient": {patient},
		"_include=*&_include=Appointment:actor":                             {patient, subject, actor},
		"_revinclude=Encounter:appointment&_include=Appointment:subject":    {subject, visits},
		"_revinclude=*":                      nil,
		"_include=Appointment:patient:Group": nil,
		"_include=Encounter:appointment":     nil,
		"_revinclude=Appointment:patient&_include=Appointment:date&_sort=_id": nil,
	} {
		params, err := url.ParseQuery(query)
		require.NoError(t, err)
		require.Equal(t, want, fhir.ParseIncludes(fhir.TypeAppointment, params), query)
	}
	used, ignored, err := fhir.ParseSearchParams(fhir.TypePatient, url.Values{"_include": {"*"}}, false)
	require.NoError(t, err)
	require.Empty(t, used)
	require.Equal(t, []string{"_include"}, ignored, "a patient refers to nothing")
}

func TestReferencedID(t *testing.T) {
	t.Parallel()
	row := fhir.AppointmentRow{ID: thing, PatientID: someone, StartsAt: at, Status: care.Completed}
	document, ok := people.DocumentReference(fhir.RecordRow{ID: thing, PatientID: someone, Date: at, Zone: time.UTC})
	require.True(t, ok)
	for _, test := range []struct {
		resource fhir.Resource
		param    string
		want     uuid.UUID
	}{
		{people.Appointment(row), "actor", someone},
		{people.Encounter(row), "patient", someone},
		{people.Encounter(row), "appointment", thing},
		{document, "subject", someone},
		{people.Communication(fhir.InteractionRow{ID: thing, PatientID: someone}), "patient", someone},
	} {
		require.Equal(t, test.want.String(), fhir.ReferencedID(test.resource, test.param), "%T %s", test.resource, test.param)
	}
	require.Empty(t, fhir.ReferencedID(people.Patient(fhir.PatientRow{ID: someone}), "patient"))
}

func TestParseSort(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]fhir.SortTerm{
		"":          nil,
		"date":      {{Param: "date"}},
		"-date,_id": {{Param: "date", Descending: true}, {Param: "_id"}},
	} {
		terms, ok := fhir.ParseSort(fhir.TypeAppointment, value)
		require.True(t, ok, value)
		require.Equal(t, want, terms, value)
	}
	for _, value := range []string{"patient", "date,-date", "date,", "--date", "name"} {
		_, ok := fhir.ParseSort(fhir.TypeAppointment, value)
		require.False(t, ok, value)
	}
}
