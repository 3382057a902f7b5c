package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A number without an area code is refused wherever patients, searches and imports have
// one, until the clinic has a default: then it is completed everywhere.
func TestNumbersWithoutAreaCode(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const local, whole = "98888-7772", "+5521988887772"
	id := clinic.AddPatient("+5511987654321")
	require.Nil(t, clinic.Get("/clinic")["default_area_code"])
	clinic.Invalid("body.phone", "POST", "/patients", object{"name": "Bia", "phone": local})
	clinic.Invalid("body.phone", "PUT", "/patients/"+id, object{"phone": local})
	key := clinic.NewKey()
	key.Invalid("query.phone", "GET", "/integrations/search/patients?phone="+local, nil)
	key.Invalid("body.patient_phone", "POST", "/integrations/action/log-interaction", object{"patient_phone": local, "interaction_type": "call"})
	messaging := clinic.ConnectPeer("messaging")
	messaging.Send("ignored", "message.received", object{"phone": local, "body": "Hello"})
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and phone is not null`), "it is nobody's number")

	for _, invalid := range []string{"", "1", "10", "011", "+5511", "xx"} {
		clinic.Invalid("body.default_area_code", "PUT", "/clinic", object{"default_area_code": invalid})
	}
	require.Equal(t, "21", clinic.OK(200, "PUT", "/clinic", object{"default_area_code": "21"})["default_area_code"])
	clinic.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua"})
	require.Equal(t, "21", clinic.Get("/clinic")["default_area_code"])
	require.Equal(t, whole, clinic.OK(201, "POST", "/patients", object{"name": "Bia", "phone": local})["phone"])
	require.Equal(t, whole, clinic.OK(200, "PUT", "/patients/"+id, object{"phone": "+55 " + local})["phone"])
	clinic.Invalid("body.phone", "PUT", "/patients/"+id, object{"phone": "212345678"})
	require.Equal(t, true, key.Get("/integrations/search/patients?phone=" + local)["found"])
	key.OK(200, "POST", "/integrations/action/log-interaction", object{"patient_phone": "8888-7772", "interaction_type": "call"})
	messaging.Send("accepted", "message.received", object{"phone": local, "body": "Hello"})
	messaging.Send("ignored", "message.received", object{"phone": "97777-0000", "body": "Hello"})
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and phone = '+5521977770000'`))
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;telefone\nCaio;9 7777-1234\n"), 1, 0, 0, 0)
	require.Equal(t, "+5521977771234", clinic.SearchPatients("Caio")["items"].([]any)[0].(object)["phone"])
	require.Nil(t, clinic.OK(200, "PUT", "/clinic", object{"default_area_code": nil})["default_area_code"])
	clinic.Invalid("body.phone", "POST", "/patients", object{"name": "Bia", "phone": local})
}
