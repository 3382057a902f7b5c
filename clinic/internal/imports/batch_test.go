package imports_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// An import stores the errors of its first thousand lines that have one, and counts all.
func TestImportStoresAThousandErrors(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	got := clinic.Import("csv", "nome;cpf\n"+strings.Repeat(";11111111111\n", 1001)+"Bia;\n")
	clinictest.RequireImportCounts(t, got, 1, 0, 0, 1001)
	require.Len(t, got["errors"], 1000)
	require.EqualValues(t, 1001, got["errors"].([]any)[999].(object)["line"])
}

// The lines that are skipped because their patient was erased count among the thousand.
func TestImportStoresAThousandSkips(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.RequestDeletion(clinic.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": clinictest.CPF})["id"].(string))
	result := clinic.Import("csv", "nome;cpf\n"+strings.Repeat("Ana;"+clinictest.CPF+"\n", 990)+strings.Repeat(";11111111111\n", 8)+strings.Repeat("Ana;"+clinictest.CPF+"\n", 10))
	clinictest.RequireImportCounts(t, result, 0, 0, 1000, 8)
	require.Len(t, result["errors"], 1000)
	require.EqualValues(t, 1001, result["errors"].([]any)[999].(object)["line"])
}
