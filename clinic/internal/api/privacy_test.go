package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Query strings are in no log line, whatever the response.
func TestAddressesAreNotLogged(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Zuleica Prado", "phone": "+5511987654321"})["id"].(string)
	key := clinic.NewKey()
	paths := []string{
		"/integrations/search/patients?phone=%2B5511987654321", "/integrations/search/patients?phone=(11)+98765-4321", "/integrations/search/patients?phone=Zuleica",
		"/integrations/search/patients?phone=11987654321&name=Zuleica&birth_date=1980-05-17",
		"/fhir/Patient?name=Zuleica", "/fhir/Patient?phone=11987654321", "/fhir/Patient?phone=Zuleica", "/patients?search=Zuleica",
	}
	ask := func() (statuses []int) {
		for _, path := range paths {
			who := key
			if strings.HasPrefix(path, "/patients") {
				who = clinic
			}
			statuses = append(statuses, who.Call("GET", path, nil).Status)
			for _, stranger := range []*clinictest.Clinic{clinic.As(""), clinic.NewKey("message.send"), clinic.As("cli_live_x")} {
				require.Contains(t, []int{401, 403}, stranger.Call("GET", path, nil).Status, path)
			}
		}
		return statuses
	}
	require.Equal(t, []int{200, 200, 422, 200, 200, 200, 400, 422}, ask())
	require.Equal(t, []string{id}, BundleIDs(key.OK(200, "GET", paths[4], nil)))
	for _, statement := range []string{`alter table clinic.patients rename to elsewhere`, `alter table clinic.elsewhere rename to patients`} {
		_, err := clinic.Hub.Host.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
		if strings.HasSuffix(statement, "elsewhere") {
			require.Equal(t, []int{500, 500, 422, 500, 500, 500, 400, 422}, ask())
		}
	}
	log := clinic.Hub.Log()
	for _, action := range []string{"/integrations/search/patients", "fhir.search-patients"} {
		require.Contains(t, log, action, "what failed is in the log")
	}
	for _, private := range []string{"98765", "uleica", "phone=", "name=", "search="} {
		require.NotContains(t, log, private)
	}
}
