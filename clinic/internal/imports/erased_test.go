package imports_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A file that is imported again does not bring erased patients back.
func TestErasedPatientsAreNotImported(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	file := strings.Join([]string{
		"external_id;nome;telefone;email;cpf;nascimento",
		"1;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;02/03/1980",
		"2;Bia Lima;(11) 98765-1111;;;", ";Caio Reis;(11) 98765-2222;;;", ";Davi Sá;;;709.481.400-38;", "5;Eva Dias;(11) 98765-4321;;;",
	}, "\n")
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 5, 0, 0, 0)
	for _, item := range clinic.Items("/patients") {
		if item["name"] != "Eva Dias" {
			clinic.RequestDeletion(item["id"].(string))
		}
	}
	again := clinic.Import("csv", file)
	clinictest.RequireImportCounts(t, again, 0, 0, 5, 0)
	require.Len(t, again["errors"], 4)
	require.Contains(t, again["errors"].([]any)[0].(object)["error"], "was erased")
	require.Len(t, clinic.Items("/patients"), 1)
	clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": clinictest.Phone, "cpf": "529.982.247-25"}) // she came back
	clinictest.RequireImportCounts(t, clinic.Import("csv", strings.Join(strings.Split(file, "\n")[:2], "\n")), 0, 1, 0, 0)
	clinic.AnotherClinic().Import("csv", file)
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.forgotten where clinic_id = $1 and env = 'test'`))
}

// Erased patients are recognized by an earlier name, number, address or CPF too.
func TestErasedPatientsAreRecognizedByEarlierContacts(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const head = "external_id;nome;telefone;email;cpf\n"
	for _, test := range []struct {
		line   string
		change object
	}{
		{";Ana Souza;(11) 97777-0001;;", object{"phone": "+5511988880001"}},
		{";Bia Lima;(11) 97777-0002;;", object{"name": "Beatriz Reis"}},
		{";Caio Sá;;caio@example.com;", nil},
		{";Davi Dias;;davi@example.com;", object{"email": "Dias@example.com", "name": "D. Dias"}},
		{";Fábio Luz;;;709.481.400-38", object{"cpf": "529.982.247-25", "name": "F. Luz"}},
	} {
		clinictest.RequireImportCounts(t, clinic.Import("csv", head+test.line), 1, 0, 0, 0)
		id := clinic.Items("/patients?status=active")[0]["id"].(string)
		if test.change != nil {
			clinic.OK(200, "PUT", "/patients/"+id, test.change)
		}
		clinic.RequestDeletion(id)
		again := clinic.Import("csv", head+test.line)
		clinictest.RequireImportCounts(t, again, 0, 0, 1, 0)
		require.Len(t, again["errors"], 1, test.line)
		require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.earlier_contacts where clinic_id = $1`))
	}
}
