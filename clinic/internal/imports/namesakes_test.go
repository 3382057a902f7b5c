package imports_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// twoCPFs are valid, and of two people.
var twoCPFs = [2]string{"529.982.247-25", "111.444.777-35"}

// Two numbers of one list are two patients, however equal the rest is: a mother and a daughter
// of one name share a phone.
func TestImportOfNamesakesWithOtherNumbers(t *testing.T) {
	t.Parallel()
	hub := clinictest.NewClinic(t)
	for _, file := range []string{
		"codigo;nome;telefone\n1;Maria Silva;11987654321\n2;Maria Silva;11987654321\n",
		"codigo;nome;telefone;nascimento\n1;Maria Silva;11987654321;01/01/1980\n2;Maria Silva;11987654321;01/01/1980\n",
		"codigo;nome\n1;Maria Silva\n2;Maria Silva\n",
	} {
		for _, source := range []string{"", "Sistema A"} {
			clinic := hub.AnotherClinic()
			clinictest.RequireImportCounts(t, clinic.ImportFrom(source, "csv", file), 2, 0, 0, 0)
			clinictest.RequireImportCounts(t, clinic.ImportFrom(source, "csv", file), 0, 0, 2, 0)
			clinictest.RequireImportCounts(t, clinic.ImportFrom(source, "csv", "codigo;nome;email\n2;Maria Silva;daughter@example.com\n"), 0, 1, 0, 0)
			require.Len(t, clinic.Items("/patients"), 2)
		}
	}
	clinic := hub.AnotherClinic()
	got := clinic.Import("csv", "codigo;nome;telefone\n1;Maria Silva;11987654321\n2;Maria Silva;11987654321\n")
	require.Equal(t, []any{object{"line": 3.0, "warning": "made a new patient beside M. S., who has the same name and phone number: the external_id is another one"}}, got["warnings"])
	const fhir = `{"resourceType":"Patient","id":"%d","name":[{"text":"Eva Dias"}],"birthDate":"1990-01-01"}`
	clinictest.RequireImportCounts(t, clinic.Import("fhir-ndjson", fmt.Sprintf(fhir+"\n"+fhir+"\n", 7, 8)), 2, 0, 0, 0)
	// By CPF it is one person, and the second number is not stored.
	got = clinic.Import("csv", "codigo;nome;cpf\nA;Rui Reis;"+twoCPFs[0]+"\nC;Rui Reis;"+twoCPFs[0]+"\n")
	clinictest.RequireImportCounts(t, got, 1, 0, 1, 0)
	require.Equal(t, []any{object{"line": 3.0, "warning": "external_id is another one than that of R. R., who has this cpf: left out"}}, got["warnings"])
}

// Two people with the same name, phone number and birth date: a row that may be of either is
// refused, and so is nothing of it stored with the older.
func TestImportOfSeveralEqualPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	for _, cpf := range twoCPFs {
		clinic.OK(201, "POST", "/patients", object{"name": "Ana Lima", "phone": "11987654321", "birth_date": "1980-01-01", "cpf": cpf})
	}
	before := clinic.Items("/patients")
	got := clinic.Import("csv", "nome;telefone;email;cpf;nascimento;codigo\nAna Lima;11987654321;q@example.com;;01/01/1980;9\nAna Lima;11987654321;;;01/01/1980;\n")
	clinictest.RequireImportCounts(t, got, 0, 0, 1, 1)
	require.Equal(t, []any{object{"line": 2.0, "error": "2 patients have this name, phone number and birth date: add the CPF or the external_id"}}, got["errors"])
	require.Equal(t, before, clinic.Items("/patients"))
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;cpf;codigo\nAna Lima;"+twoCPFs[1]+";9\n"), 0, 1, 0, 0)
}

// What cannot be read is not missing: it may say that two namesakes are two people. Importing
// the file again changes nothing.
func TestImportOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	hub := clinictest.NewClinic(t)
	for _, file := range []string{
		"nome;telefone\nMaria Silva;98765-4321\nMaria Silva;91234-5678\n",
		"nome;telefone;nascimento\nMaria Silva;11987654321;2-mar-1955\nMaria Silva;11987654321;5-mai-1985\n",
		"nome;telefone;cpf\nMaria Silva;11987654321;1,23457E+10\nMaria Silva;11987654321;9,87654E+10\n",
	} {
		clinic := hub.AnotherClinic()
		got := clinic.Import("csv", file)
		clinictest.RequireImportCounts(t, got, 2, 0, 0, 0)
		require.Contains(t, fmt.Sprint(got["warnings"]), "made a new patient beside M. S., who has the same name: what was left out of this line may say that they differ", file)
		clinictest.RequireImportCounts(t, clinic.Import("csv", file), 0, 0, 2, 0)
	}
	clinic := hub.AnotherClinic()
	id := clinic.OK(201, "POST", "/patients", object{"name": "Maria Silva", "birth_date": "1980-01-01", "email": "first@example.com"})["id"].(string)
	before := clinic.Get("/patients/" + id)
	file := "nome;telefone;email;cpf;nascimento;codigo\nMaria Silva;91234-5678;second@example.com;" + twoCPFs[0] + ";01/01/1980;88\n"
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 1, 0, 0, 0)
	require.Equal(t, before, clinic.Get("/patients/"+id))
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 0, 0, 1, 0)
	// Two rows whose dates FHIR does not know are two patients as well.
	const fhir = `{"resourceType":"Patient","name":[{"text":"Eva Dias"}],"birthDate":"%s"}`
	clinictest.RequireImportCounts(t, clinic.Import("fhir-ndjson", fmt.Sprintf(fhir+"\n"+fhir+"\n", "1.2.1990", "3.4.1991")), 2, 0, 0, 0)
}

// A number that forms are filled with is like none: with it a name is not enough.
func TestFillerNumbersAreNoEvidence(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	file := "nome;telefone;email\nAna Souza;(11) 99999-9999;ana@example.com\nAna Souza;(11) 99999-9999;other@example.com\n"
	dryRun := clinic.UploadImportWith(object{"dry_run": "true"}, "csv", file)
	require.Equal(t, 202, dryRun.Status, dryRun.Text)
	clinictest.RequireImportCounts(t, clinic.WaitForImport(dryRun.Body["id"].(string)), 2, 0, 0, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 2, 0, 0, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 0, 0, 2, 0)
	require.Equal(t, "+5511999999999", clinic.Items("/patients")[0]["phone"], "it is stored as any other")

	// Nor does an erased patient keep a namesake with the number out.
	bia := clinic.OK(201, "POST", "/patients", object{"name": "Bia Lima", "phone": "+5511999999999"})["id"].(string)
	clinic.RequestDeletion(bia)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "nome;telefone\nBia Lima;(11) 99999-9999\n"), 1, 0, 0, 0)
}
