package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/moduletest"
)

// A country code that was written twice makes no number of it.
func TestDoubledCountryCodes(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	for _, phone := range []string{"+55+5511987654321", "55 55 11 98765-4321", "555511987654321"} {
		clinic.Invalid("body.phone", "POST", "/patients", object{"name": "Rui", "phone": phone})
		clinic.Invalid("body.phone", "PUT", "/patients/"+id, object{"phone": phone})
		imported := clinic.Import("csv", "nome;telefone\nRui;"+phone+"\n")
		require.Equal(t, "phone must be a phone number of 8 to 15 digits: left out", imported["warnings"].([]any)[0].(object)["warning"], phone)
	}
	require.Nil(t, moduletest.Items(clinic.SearchPatients("Rui"))[0]["phone"])
	require.Equal(t, "+5555987654321", clinic.OK(201, "POST", "/patients", object{"name": "Eva", "phone": "55 98765-4321"})["phone"], "an area that looks like the country")
}
