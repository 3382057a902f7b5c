package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/moduletest"
)

// Characters that nobody sees make no other patient, neither in imports nor by hand.
func TestInvisibleCharactersInNames(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	jose := clinic.OK(201, "POST", "/patients", object{"name": "José\u200b Lima", "phone": "+5511988887777"})
	require.Equal(t, "José Lima", jose["name"])
	changed := clinic.OK(200, "PUT", "/patients/"+jose["id"].(string), object{"name": "\u200eJosé Li\u00adma"})
	require.Equal(t, "José Lima", changed["name"])
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;telefone;email\nJos\u00ade\u200b Lima;\u200e(11) 98888-7777;jose@example.com\nAna\u200b Reis;11 97777-6666;\nAna Reis;11 97777-6666;\n"), 1, 1, 1, 0)
	require.Len(t, moduletest.Items(clinic.SearchPatients("Lima")), 1)
	found := moduletest.Items(clinic.SearchPatients("Reis"))
	require.Len(t, found, 1)
	require.Equal(t, "Ana Reis", found[0]["name"])
	emoji := clinic.OK(201, "POST", "/patients", object{"name": "Bia 👩\u200d🚀"})
	require.Equal(t, "Bia 👩\u200d🚀", emoji["name"])
}
