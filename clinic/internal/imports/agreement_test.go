package imports_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/clinictest/families"
)

// A child who is registered under the mother's CPF does not become the mother: the line is
// refused with both names' initials and the reason, and nothing is created from it.
func TestImportDoesNotMixPeople(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	mother := clinic.OK(201, "POST", "/patients", object{"name": "Maria de Souza", "cpf": clinictest.CPF, "birth_date": "1980-03-02", "phone": clinictest.Phone})
	before := clinic.Get("/patients/" + mother["id"].(string))
	got := clinic.Import("csv", "nome;cpf;nascimento;celular\nBia Souza;"+clinictest.CPF+";05/06/2012;(11) 90000-0001\nMaria Souza;"+clinictest.CPF+";05/06/2012;\nMaria Clara Souza;"+clinictest.CPF+";;\n")
	clinictest.RequireImportCounts(t, got, 0, 0, 0, 3)
	require.Equal(t, []any{
		object{"line": 2.0, "error": "cpf is that of M. S., and this line is about B. S.: the name and the birth date differ"},
		object{"line": 3.0, "error": "cpf is that of M. S., and this line is about M. S.: the birth date differs"},
		object{"line": 4.0, "error": "cpf is that of M. S., and this line is about M. C. S.: the names differ in words, and there is no birth date on both sides"},
	}, got["errors"])
	require.Equal(t, before, clinic.Get("/patients/"+mother["id"].(string)))
	require.Len(t, clinic.Items("/patients"), 1)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;cpf;nascimento\nMaria Clara de Souza;"+clinictest.CPF+";02/03/1980\n"), 0, 1, 0, 0)
	// A date without its day can contradict, too.
	partial := `{"resourceType":"Patient","name":[{"text":"Maria Clara Souza"}],"birthDate":"1981","identifier":[{"system":"https://saude.gov.br/sid/cpf","value":"` + clinictest.CPF + `"}]}`
	clinictest.RequireImportCounts(t, clinic.Import("fhir-ndjson", partial), 0, 0, 0, 1)
}

// Two lists that both number from 1 live beside each other if they are named; without
// their names the second list's lines are refused.
func TestImportSources(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const own, other = "id;nome;nascimento\n1;Ana Souza;02/03/1980\n2;Bia Lima;02/03/1981\n", "id;nome;nascimento\n1;Caio Reis;02/03/1982\n2;Davi Sá;02/03/1983\n"
	clinictest.RequireImportCounts(t, clinic.Import("csv", own), 2, 0, 0, 0)
	got := clinic.Import("csv", other)
	clinictest.RequireImportCounts(t, got, 0, 0, 0, 2)
	require.Contains(t, fmt.Sprint(got["errors"]), "external_id is that of A. S., and this line is about C. R.: the name and the birth date differ")
	require.Empty(t, got["source"])

	got = clinic.ImportFrom("Other Clinic ", "csv", other)
	clinictest.RequireImportCounts(t, got, 2, 0, 0, 0)
	require.Equal(t, "other clinic", got["source"])
	clinictest.RequireImportCounts(t, clinic.ImportFrom("OTHER clinic", "csv", other), 0, 0, 2, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", own), 0, 0, 2, 0)
	// A patient can have a number in each list, and is found by it, whatever is missing.
	clinictest.RequireImportCounts(t, clinic.ImportFrom("other clinic", "csv", "id;nome;nascimento\n7;Ana Souza;02/03/1980\n"), 0, 1, 0, 0)
	clinictest.RequireImportCounts(t, clinic.ImportFrom("other clinic", "csv", "id;nome;celular\n7;Ana Souza;(11) 98888-7777\n"), 0, 1, 0, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "id;nome;email\n1;Ana Souza;ana@example.com\n"), 0, 1, 0, 0)
	require.Len(t, clinic.Items("/patients"), 4)
	ana := clinic.SearchPatients("Ana Souza")["items"].([]any)[0].(object)
	require.Equal(t, []any{"+5511988887777", "ana@example.com"}, []any{ana["phone"], ana["email"]})
	exported := clinic.Get("/patients/" + ana["id"].(string) + "/export")
	require.Equal(t, "1", exported["external_ref"])
	require.Equal(t, []any{object{"source": "other clinic", "external_id": "7"}}, exported["references"])

	// FHIR names the system of an id.
	const fhir = `{"resourceType":"Patient","id":"1","name":[{"text":"Eva Dias"}],"birthDate":"1990-01-01","identifier":[{"system":"https://Third.example","value":"1"}]}`
	clinictest.RequireImportCounts(t, clinic.Import("fhir-ndjson", fhir), 1, 0, 0, 0)
	clinictest.RequireImportCounts(t, clinic.Import("fhir-ndjson", fhir), 0, 0, 1, 0)
	clinictest.RequireImportCounts(t, clinic.ImportFrom("https://third.example", "csv", "id;nome\n1;Eva Dias\n"), 0, 0, 1, 0)

	// Who was erased stays so, by the number in either list.
	clinic.RequestDeletion(ana["id"].(string))
	clinictest.RequireImportCounts(t, clinic.ImportFrom("other clinic", "csv", "id;nome\n7;Ana Souza\n"), 0, 0, 1, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "id;nome\n7;Ana Lima\n"), 1, 0, 0, 0)
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.import_matches where clinic_id = $1 and patient_id = $2`, ana["id"]))
	require.Equal(t, 422, clinic.UploadImportWith(object{"source": "list of 529.982.247-25"}, "csv", own).Status)
}

// Without an identifier, a patient is the same by name, phone number and birth date. Where
// that does not show it, a new patient comes in beside, with a warning.
func TestImportBesideNamesakes(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.OK(201, "POST", "/patients", object{"name": "José Souza", "phone": clinictest.Phone})
	got := clinic.Import("csv", "nome;celular;nascimento\nJosé Souza;11987654321;02/03/2001\n")
	clinictest.RequireImportCounts(t, got, 1, 0, 0, 0)
	require.Equal(t, []any{object{"line": 2.0, "warning": "made a new patient beside J. S., who has the same name and phone number: neither a CPF nor a birth date shows that they are the same"}}, got["warnings"])
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;celular;nascimento\nJosé Souza;11987654321;02/03/2001\n"), 0, 0, 1, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;celular\nJosé Souza;11987654321\n"), 0, 0, 1, 0)
	got = clinic.Import("csv", "nome;celular;email\nJosé Souza;11987654321;jose@example.com\n")
	clinictest.RequireImportCounts(t, got, 0, 0, 0, 1)
	require.Contains(t, fmt.Sprint(got["errors"]), "2 patients have this name and phone number")
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;email\nRui;a@example.com\nRui;b@example.com\nRui;a@example.com\nRui;\n"), 2, 0, 2, 0)
}

// Social names: the patient is called by it, and is found by either name.
func TestImportSocialNames(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "João Souza", "cpf": clinictest.CPF})["id"].(string)
	const file = "nome;nome social;cpf\nJoão Souza;Maria Souza;" + clinictest.CPF + "\n"
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 0, 1, 0, 0)
	require.Equal(t, "Maria Souza", clinic.Get("/patients/" + id)["name"])
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 0, 0, 1, 0)
}

// The same as TestPatientsAreNeverMixed, with files, batches and the database.
func TestFilesNeverMixPatients(t *testing.T) {
	t.Parallel()
	hub := clinictest.NewClinic(t)
	for seed := range uint64(4) {
		clinic, scenario := hub.AnotherClinic(), families.New(10_000+seed)
		entered := map[string]int{}
		for _, row := range scenario.ByHand {
			body := object{"name": row.Name}
			for name, value := range map[string]string{"phone": row.Phone, "email": row.Email, "cpf": row.CPF, "birth_date": row.BirthDate} {
				if value != "" {
					body[name] = value
				}
			}
			if got := clinic.Call("POST", "/patients", body); got.Status == 201 {
				entered[got.Body["id"].(string)] = row.Person
			} else {
				require.Equal(t, "cpf_taken", got.Body["code"])
			}
		}
		for _, file := range scenario.Imports {
			clinic.ImportFrom(file.Source, "csv", file.CSV())
		}
		rows, err := clinic.Hub.Host.Pool.Query(t.Context(), `select p.id::text, p.name, coalesce(p.cpf_last2, ''), coalesce(p.birth_date::text, ''), coalesce(p.external_ref, ''),
			coalesce((select reference from clinic.patient_references r where r.patient_id = p.id), '') from clinic.patients p where clinic_id = $1`, clinic.ID)
		require.NoError(t, err)
		count := 0
		for rows.Next() {
			var id, own, other string
			patient := families.Patient{EnteredFor: -1, Refs: map[string]string{}}
			require.NoError(t, rows.Scan(&id, &patient.Name, &patient.CPF, &patient.BirthDate, &own, &other))
			for source, number := range map[string]string{"": own, "other clinic": other} {
				if number != "" {
					patient.Refs[source] = number
				}
			}
			if person, ok := entered[id]; ok {
				patient.EnteredFor = person
			}
			require.NoError(t, scenario.Check(patient), "seed %d", 10_000+seed)
			count++
		}
		require.Greater(t, count, 4)
	}
}

// The first word of a name may be an initial, if enough of the name is left to say who it is.
func TestImportOfNamesThatBeginWithAnInitial(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "codigo;nome;email\n1;Ana Maria Souza;\n2;Bruno Souza;\n3;Carla Dias;\n"), 3, 0, 0, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "codigo;nome;email\n1;A. Maria Souza;ana@example.com\n2;A. Souza;a@example.com\n3;C. D.;c@example.com\n"), 0, 1, 0, 2)
	found := map[any]any{}
	for _, item := range clinic.Items("/patients") {
		found[item["name"]] = item["email"]
	}
	require.Equal(t, map[any]any{"Ana Maria Souza": "ana@example.com", "Bruno Souza": nil, "Carla Dias": nil}, found)
}
