package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub"
)

func TestTestDataIsSeparate(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	sandbox := clinic.InEnvironment("test")
	live := clinic.OK(201, "POST", "/patients", object{"name": "Ana", "phone": "+5511987654321", "cpf": clinictest.CPF})["id"].(string)
	test := sandbox.OK(201, "POST", "/patients", object{"name": "Test", "phone": "+5511987654321", "cpf": clinictest.CPF})["id"].(string)
	sandbox.Refused(404, "not_found", "GET", "/patients/"+live, nil)
	clinic.Refused(404, "not_found", "GET", "/patients/"+test, nil)
	require.Len(t, sandbox.Items("/patients"), 1)
	liveKey, testKey := clinic.NewKey(), sandbox.NewKey()
	require.Contains(t, testKey.Token, "cli_test_")
	testKey.Headers = nil
	require.Equal(t, live, liveKey.Get("/integrations/search/patients?phone=%2B5511987654321")["patient"].(object)["id"])
	require.Equal(t, test, testKey.Get("/integrations/search/patients?phone=%2B5511987654321")["patient"].(object)["id"])
	for _, path := range []string{"records", "appointments"} {
		testKey.Refused(404, "not_found", "GET", "/integrations/search/"+path+"?patient_id="+live, nil)
	}
	environments := map[string]hub.Environment{}
	for _, e := range clinic.Events() {
		environments[e.Data["name"].(string)] = e.Environment
	}
	require.Equal(t, map[string]hub.Environment{"Ana": "live", "Test": "test"}, environments)
	clinic.InEnvironment("both").Invalid("header.X-Environment", "GET", "/patients", nil)
}
