package fhir_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/fhir"
)

// "`address-…` absent on purpose stated": each search parameter that R4 defines is either
// served, with R4's type, or named among those that are not, in the capability statement too.
func TestSearchParametersOfR4AreServedOrStated(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/r4.json")
	require.NoError(t, err)
	var definitions map[string]struct {
		Params map[string][2]string `json:"params"` // type, expression
	}
	require.NoError(t, json.Unmarshal(raw, &definitions))
	custom := map[string][]string{fhir.TypeAppointment: {"subject"}, fhir.TypeCommunication: {"date"}} // not of R4
	for _, restResource := range fhir.NewCapabilityStatement(people.Base, "1.0.0", "2026-11-23").Rest[0].Resource {
		defined := definitions[restResource.Type].Params
		require.Greater(t, len(defined), 10)
		var served []string
		for _, param := range restResource.SearchParam {
			served = append(served, param.Name)
			if !slices.Contains(custom[restResource.Type], param.Name) {
				require.Contains(t, defined, param.Name, restResource.Type)
				require.Equal(t, defined[param.Name][0], param.Type, "%s?%s", restResource.Type, param.Name)
			}
		}
		_, stated, found := strings.Cut(restResource.Documentation, "Not served, because the clinic does not have it or has it as free text: ")
		require.True(t, found)
		unserved := strings.Split(strings.TrimSuffix(stated, "."), ", ")
		for name := range defined {
			require.NotEqual(t, slices.Contains(served, name), slices.Contains(unserved, name), "%s?%s", restResource.Type, name)
		}
		for _, name := range unserved {
			require.Contains(t, defined, name, restResource.Type)
		}
	}
}
