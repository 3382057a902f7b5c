package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/importfile"
	"integrationhub/hub/hubtest/moduletest"
)

func TestPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	created := clinic.AddStaff().OK(201, "POST", "/patients", object{
		"name": " Ana Souza ", "phone": "(11) 98765-4321", "email": "ana@example.com", "cpf": clinictest.CPF, "birth_date": "1990-05-17",
		"clinic_id": "0190b5a2-0000-7000-8000-000000000000", "balance_due": 7, "status": "active",
	})
	id := created["id"].(string)
	require.Equal(t, "Ana Souza", created["name"])
	require.Equal(t, "+5511987654321", created["phone"])
	require.Equal(t, "***.***.***-09", created["cpf"])
	require.Equal(t, "1990-05-17", created["birth_date"])
	require.EqualValues(t, 0, created["balance_due"])
	require.Nil(t, created["last_appointment"])
	require.Equal(t, created, clinic.Get("/patients/"+id))

	// A part of the fields; null empties.
	updated := clinic.OK(200, "PUT", "/patients/"+id, object{"email": nil, "name": "Ana Lima"})
	require.Equal(t, "Ana Lima", updated["name"])
	require.Nil(t, updated["email"])
	require.Equal(t, created["phone"], updated["phone"])
	require.Equal(t, created["cpf"], updated["cpf"])

	other := clinic.OK(201, "POST", "/patients", object{"name": "Édson Lima"})["id"].(string)
	names := func(page object) (list []string) {
		for _, item := range moduletest.Items(page) {
			list = append(list, item["name"].(string))
		}
		return list
	}
	require.Equal(t, []string{"Ana Lima", "Édson Lima"}, names(clinic.Get("/patients")))
	require.Equal(t, []string{"Édson Lima"}, names(clinic.SearchPatients("EDSON")))
	require.Equal(t, []string{"Ana Lima"}, names(clinic.SearchPatients("98765-4321")))
	require.Empty(t, names(clinic.SearchPatients("%")))
	page := clinic.Get("/patients?per_page=1&page=2")
	require.EqualValues(t, 2, page["total"])
	require.Equal(t, "Édson Lima", page["items"].([]any)[0].(object)["name"])

	// Nobody is deleted: the law has the records kept.
	clinic.OK(204, "DELETE", "/patients/"+other, nil)
	require.Equal(t, "inactive", clinic.Get("/patients/" + other)["status"])
	require.Equal(t, []string{"Édson Lima"}, names(clinic.Get("/patients?status=inactive")))

	// Front desks put patients away and bring them back, by either way.
	desk := clinic.AddStaff()
	desk.OK(204, "DELETE", "/patients/"+id, nil)
	require.Equal(t, "active", desk.OK(200, "PUT", "/patients/"+id, object{"status": "active"})["status"])
	require.Equal(t, "inactive", desk.OK(200, "PUT", "/patients/"+id, object{"status": "inactive"})["status"])
	require.Equal(t, "active", desk.OK(200, "PUT", "/patients/"+other, object{"status": "active"})["status"])
}

func TestBadPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	for location, bad := range map[string][]object{
		"body.name":       {{"name": ""}, {"name": " "}, {"name": strings.Repeat("x", 121)}, {"name": "-"}, {"name": "N/A"}, {"name": "NULL"}, {"name": "🙂"}, {}},
		"body.phone":      {{"name": "A", "phone": "123"}, {"name": "A", "phone": "0800-FLOWERS"}, {"name": "A", "phone": "+1234567890123456"}},
		"body.email":      {{"name": "A", "email": "nobody"}, {"name": "A", "email": "A <a@example.com>"}},
		"body.cpf":        {{"name": "A", "cpf": "123.456.789-08"}, {"name": "A", "cpf": "111.111.111-11"}, {"name": "A", "cpf": "1234567890"}, {"name": "A", "cpf": "x"}},
		"body.birth_date": {{"name": "A", "birth_date": "17/05/1990"}, {"name": "A", "birth_date": "2999-01-01"}, {"name": "A", "birth_date": "1990-02-30"}},
		"body.status":     {{"name": "A", "status": "anonymized"}, {"name": "A", "status": "x"}},
	} {
		for _, body := range bad {
			clinic.Invalid(location, "POST", "/patients", body)
		}
	}
	require.Empty(t, clinic.Items("/patients"))
	require.Empty(t, clinic.Events())

	// One CPF, one patient; another clinic may have the same person.
	clinic.OK(201, "POST", "/patients", object{"name": "A", "cpf": "12345678909"})
	clinic.Refused(409, "cpf_taken", "POST", "/patients", object{"name": "B", "cpf": clinictest.CPF})
	other := clinic.OK(201, "POST", "/patients", object{"name": "B"})["id"].(string)
	clinic.Refused(409, "cpf_taken", "PUT", "/patients/"+other, object{"cpf": clinictest.CPF})
	clinic.AnotherClinic().OK(201, "POST", "/patients", object{"name": "A", "cpf": clinictest.CPF})
}

// Names are stored as imports read them, so that a file of the clinic's own changes none. A name
// that was stored before stays until it is changed.
func TestPatientNames(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	for sent, want := range map[string]string{" Ana  Souza ": "Ana Souza", "Ana\u00a0\u2003Lima": "Ana Lima", "Null Souza": "Null Souza"} {
		patient := clinic.OK(201, "POST", "/patients", object{"name": sent})
		require.Equal(t, want, patient["name"])
		require.Equal(t, want, importfile.CleanName(want))
		require.Equal(t, "Bia Reis", clinic.OK(200, "PUT", "/patients/"+patient["id"].(string), object{"name": "Bia   Reis"})["name"])
	}
	id := clinic.AddPatient(clinictest.Phone)
	clinic.Exec(`update clinic.patients set name = 'N/A' where clinic_id = $1 and phone is not null`)
	require.Equal(t, "N/A", clinic.OK(200, "PUT", "/patients/"+id, object{"email": "ana@example.com"})["name"])
	require.Equal(t, "N/A", clinic.OK(200, "PUT", "/patients/"+id, object{"name": "N/A", "email": "ana@example.org"})["name"], "as it was")
	require.Contains(t, fmt.Sprint(clinic.Refused(422, "validation_failed", "PUT", "/patients/"+id, object{"name": "Null"})), "stands for no name")
	clinic.Invalid("body.name", "PUT", "/patients/"+id, object{"name": "n/a"})
}

func TestRevealedCPF(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	staff := clinic.AddStaff()
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": clinictest.CPF})["id"].(string)
	path := "/patients/" + id + "?reveal=cpf"
	shown := func() int {
		return clinic.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'patients.reveal-cpf'`)
	}
	clinic.Refused(403, "reveal_forbidden", "GET", path, nil) // off by default
	clinic.OK(200, "PUT", "/clinic", object{"reveal_cpf": true})
	staff.Refused(403, "reveal_forbidden", "GET", path, nil)
	require.Zero(t, shown())
	require.Equal(t, clinictest.CPF, clinic.Get(path)["cpf"])
	require.Equal(t, 1, shown())
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from hub.audit where tenant_id = $1 and action = 'patients.reveal-cpf' and resource_id = $2 and ip is not null`, id))
	require.Equal(t, "***.***.***-09", clinic.Get("/patients/" + id)["cpf"])
	clinic.NewKey("patient.search").Refused(401, "unauthorized", "GET", path, nil)
	require.Equal(t, 1, shown())
}
