package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A CPF that cannot be decrypted any more hinders no other change, and can be replaced.
func TestPatientsWithAnUnreadableCPF(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	add := func(name string, cpf any) string {
		return clinic.OK(201, "POST", "/patients", object{"name": name, "cpf": cpf})["id"].(string)
	}
	ana, bia, caio := add("Ana Souza", clinictest.CPF), add("Bia Souza", "529.982.247-25"), add("Caio Souza", nil)
	clinic.Exec(`update clinic.patients set cpf_enc = 'broken' where clinic_id = $1 and id = any($2)`, []string{ana, bia})

	changed := clinic.OK(200, "PUT", "/patients/"+ana, object{"email": "ana@example.com"})
	require.Equal(t, "ana@example.com", changed["email"])
	require.Equal(t, "***.***.***-09", changed["cpf"], "it is still found by its hash")
	clinic.Refused(409, "data_unreadable", "POST", "/patients/"+ana+"/merge", object{"into": caio})
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	clinic.Refused(409, "data_unreadable", "GET", "/patients/"+ana+"?reveal=cpf", nil)

	require.Nil(t, clinic.OK(200, "PUT", "/patients/"+bia, object{"cpf": nil})["cpf"])
	clinic.OK(200, "PUT", "/patients/"+ana, object{"cpf": clinictest.CPF})
	require.Equal(t, clinictest.CPF, clinic.Get("/patients/" + ana + "?reveal=cpf")["cpf"])
	clinic.OK(200, "POST", "/patients/"+ana+"/merge", object{"into": caio})
	require.Equal(t, clinictest.CPF, clinic.Get("/patients/" + caio + "?reveal=cpf")["cpf"])
}

// A merge whose state cannot be decrypted any more is not undone, and says so.
func TestUndoOfAnUnreadableMerge(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	add := func(name string) string {
		return clinic.OK(201, "POST", "/patients", object{"name": name})["id"].(string)
	}
	ana, bia := add("Ana Souza"), add("Ana Sousa")
	merge := clinic.OK(200, "POST", "/patients/"+ana+"/merge", object{"into": bia})["merge_id"].(string)
	clinic.Exec(`update clinic.patient_merges set state_enc = 'broken' where clinic_id = $1`)
	clinic.Refused(409, "data_unreadable", "POST", "/merges/"+merge+"/undo", nil)
}
