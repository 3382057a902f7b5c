package imports_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Of a file's errors the first thousand are kept; all are counted.
func TestImportKeepsSoManyErrors(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	got := clinic.Import("csv", "nome;cpf\n"+strings.Repeat("Ana;11111111111\n", 1001)+"Bia;\n")
	clinictest.RequireImportCounts(t, got, 1, 0, 0, 1001)
	require.Len(t, got["errors"], 1000)
	require.EqualValues(t, 1001, got["errors"].([]any)[999].(object)["line"])
}
