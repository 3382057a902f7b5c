package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// An encrypted value opens only in its own row, not when copied to another one of the same
// clinic.
func TestSealedValuesAreBoundToTheirRows(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	ana := clinic.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": clinictest.CPF})["id"].(string)
	gil := clinic.OK(201, "POST", "/patients", object{"name": "Gil", "cpf": "529.982.247-25"})["id"].(string)
	first := clinic.OK(201, "POST", "/patients/"+ana+"/records", object{"date": "2026-03-02", "type": "x", "content": "What Ana said"})["id"]
	clinic.OK(201, "POST", "/patients/"+gil+"/records", object{"date": "2026-03-02", "type": "x", "content": "What Gil said"})
	require.Equal(t, clinictest.CPF, clinic.Get("/patients/" + ana + "?reveal=cpf")["cpf"])
	require.Equal(t, "What Gil said", clinic.Items("/patients/" + gil + "/records")[0]["content"])

	clinic.Exec(`update clinic.records r set content_enc = (select o.content_enc from clinic.records o where o.clinic_id = $1 and o.id = $2) where clinic_id = $1 and patient_id = $3`, first, gil)
	clinic.Exec(`update clinic.patients r set cpf_enc = (select o.cpf_enc from clinic.patients o where o.clinic_id = $1 and o.id = $2) where clinic_id = $1 and id = $3`, ana, gil)
	for path, status := range map[string]int{"/records": 500, "?reveal=cpf": 409} {
		got := clinic.Call("GET", "/patients/"+gil+path, nil)
		require.Equal(t, status, got.Status, got.Text)
		require.NotContains(t, got.Text, "Ana")
		require.NotContains(t, got.Text, clinictest.CPF)
		require.Equal(t, 200, clinic.Call("GET", "/patients/"+ana+path, nil).Status, "its own row's is as it was")
	}
}
