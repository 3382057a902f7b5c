package imports_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// encodeLatin1 encodes a text with one byte for each character, as Excel does in Brazil.
func encodeLatin1(text string) string {
	var b strings.Builder
	for _, c := range text {
		b.WriteByte(byte(c))
	}
	return b.String()
}

// encodeUTF16 encodes a text as Excel's "Unicode text": UTF-16 with a byte order mark.
func encodeUTF16(text string) string {
	b := []byte("\xff\xfe")
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return string(b)
}

// A table as Excel in Portuguese saves it, in each of its character sets.
func TestImportFromExcel(t *testing.T) {
	t.Parallel()
	const sheet = "Cód.;Nome do Paciente;Telefone (Celular);E-mail;CPF;Dt. Nasc.;Observações;Situação\r\n" +
		"7;\"José \r\nda Conceição\";(11) 98765-4321;jose@example.com;529.982.247-25;02/03/1980;\"toma \"\"AAS\"\";\r\nveio 2x\";Ativo\r\n" +
		"8;Mãe d'Água;11 91234-5678;;111.444.777-35;3/2/1975 00:00;;Inativo;;\r\n" +
		";;;;;;;\r\n" +
		"9;Íris Muñoz;+55 (21) 3456-7890;;;31-12-1990;;\r\n" +
		";;;;;;;\r\n\r\n\r\n"
	for name, file := range map[string]string{"Windows-1252": encodeLatin1(sheet), "UTF-8": "\xef\xbb\xbf" + sheet, "UTF-16": encodeUTF16(sheet), "Macintosh": encodeLatin1(strings.ReplaceAll(sheet, "\r\n", "\r"))} {
		clinic := clinictest.NewClinic(t)
		clinictest.RequireImportCounts(t, clinic.Import("csv", file), 3, 0, 0, 0)
		found := map[string][]any{}
		for _, item := range clinic.Items("/patients") {
			found[item["name"].(string)] = []any{item["phone"], item["email"], item["cpf"], item["birth_date"], item["status"]}
		}
		require.Equal(t, map[string][]any{
			"José da Conceição": {"+5511987654321", "jose@example.com", "***.***.***-25", "1980-03-02", "active"},
			"Mãe d'Água":        {"+5511912345678", nil, "***.***.***-35", "1975-02-03", "inactive"},
			"Íris Muñoz":        {"+552134567890", nil, nil, "1990-12-31", "active"},
		}, found, name)
	}
}

// A file of another format is refused with what to do about it, before anything is stored.
func TestUnsupportedFilesAreRefused(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	var workbook bytes.Buffer
	archive := zip.NewWriter(&workbook)
	sheet, err := archive.Create("xl/worksheets/sheet1.xml")
	require.NoError(t, err)
	_, err = sheet.Write([]byte("<worksheet/>"))
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	bundle, err := json.MarshalIndent(object{"resourceType": "Bundle", "entry": []any{}}, "", " ")
	require.NoError(t, err)
	for _, test := range []struct{ format, file, says string }{
		{"csv", "", "empty"},
		{"csv", "\xef\xbb\xbf \r\n\r\n", "is empty"},
		{"csv", "telefone;cpf\n11987654321;\n", "column called name (or nome)"},
		{"csv", "Ana Souza;11987654321\nBia;\n", "column called name (or nome)"},
		{"csv", "nome;telefone\n;\n", "holds no patients"},
		{"csv", workbook.String(), "save the sheet as CSV"},
		{"fhir-ndjson", workbook.String(), "save the sheet as CSV"},
		{"csv", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save the sheet as CSV"},
		{"csv", "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF"},
		{"csv", "<html><table><tr><td>nome</td></tr></table>", "is HTML"},
		{"csv", "nome\x00;cpf\x00\n", "is no text"},
		{"csv", `{"resourceType":"Patient"}`, "fhir-ndjson"},
		{"fhir-ndjson", clinictest.ImportTable, "one FHIR resource in JSON on each line"},
		{"fhir-ndjson", `[{"resourceType":"Patient"}]`, "one JSON array"},
		{"fhir-ndjson", string(bundle), "over several lines"},
	} {
		got := clinic.UploadImport(test.format, test.file)
		require.Equal(t, 422, got.Status, "%q: %s", test.file, got.Text)
		require.Equal(t, "validation_failed", got.Body["code"])
		require.Contains(t, fmt.Sprint(got.Body["errors"]), test.says, "%q", test.file)
		require.NotContains(t, got.Text, "Ana Souza", "values are not repeated")
	}
	require.Empty(t, clinic.Items("/imports"))
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.import_chunks where clinic_id = $1`))
}

// A patient exported by a clinic matches the same patient there, and is a new one elsewhere.
// CPFs are masked in between.
func TestImportOfOwnExport(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "phone": "+5511987654321", "email": "ana@example.com", "cpf": clinictest.CPF, "birth_date": "1980-03-02"})["id"].(string)
	namesake := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza"})["id"].(string)
	gone := clinic.AddPatient("+5511955554444")
	clinic.OK(200, "PUT", "/patients/"+namesake, object{"status": "inactive"})
	before := clinic.Get("/patients/" + id)
	var lines []string
	add := func(resource any) {
		raw, err := json.Marshal(resource)
		require.NoError(t, err)
		lines = append(lines, string(raw))
	}
	for _, text := range []string{id, namesake, gone} {
		add(clinic.Get("/fhir/Patient/" + text))
	}
	for _, entry := range clinic.Get("/patients/" + id + "/export?format=fhir")["entry"].([]any) {
		add(entry.(object)["resource"])
	}
	clinic.OK(202, "POST", "/patients/"+gone+"/deletion-request", nil)
	file := strings.Join(lines, "\n")
	sent := len(clinic.Events())
	got := clinic.Import("fhir-ndjson", file)
	clinictest.RequireImportCounts(t, got, 0, 0, 4, 0)
	require.Contains(t, fmt.Sprint(got["errors"]), "was erased")
	require.Equal(t, before, clinic.Get("/patients/"+id))
	require.Len(t, clinic.Items("/patients?status=inactive"), 1)
	require.Empty(t, clinic.EventTypes(sent), "nothing is published")

	other := clinic.AnotherClinic()
	clinictest.RequireImportCounts(t, other.Import("fhir-ndjson", strings.Join(lines[:2], "\n")), 2, 0, 0, 0)
	taken := other.Items("/patients?status=active")[0]
	for _, field := range []string{"name", "phone", "email", "birth_date", "status"} {
		require.Equal(t, before[field], taken[field], field)
	}
	require.Nil(t, taken["cpf"])
	require.NotEqual(t, id, taken["id"])
	require.Equal(t, "Ana Souza", other.Items("/patients?status=inactive")[0]["name"])
	changed := strings.ReplaceAll(lines[0], "ana@example.com", "souza@example.com")
	clinictest.RequireImportCounts(t, clinic.Import("fhir-ndjson", changed), 0, 1, 0, 0)
	require.Equal(t, "souza@example.com", clinic.Get("/patients/" + id)["email"])
}

// A stray quotation mark makes no patient of several people: its row is refused, and what it
// would have swallowed comes in where it is a whole row.
func TestImportOfStrayQuotationMarks(t *testing.T) {
	t.Parallel()
	hub := clinictest.NewClinic(t)
	clinic := hub.AnotherClinic()
	got := clinic.Import("csv", "nome;obs;telefone;nascimento;codigo\nAna;\"nota;11987654321;01/01/1950;1\nBia;ok;11987654322;02/02/1960;2\nand a note\nCaio;\"outra\";11987654323;03/03/1970;3\nDora;x;11987654324;04/04/1980;4\n")
	clinictest.RequireImportCounts(t, got, 3, 0, 0, 2)
	require.Equal(t, []any{
		object{"line": 2.0, "error": "has a quotation mark that is not closed, or a text behind one that is"},
		object{"line": 4.0, "error": "may be a part of the text above, whose quotation mark is not closed"},
	}, got["errors"])
	require.Equal(t, 5, clinic.QueryInt(`select full_rows_until from clinic.imports where clinic_id = $1`), "a run that goes on in the middle knows it")
	births := map[any]any{}
	for _, patient := range clinic.Items("/patients") {
		births[patient["name"]] = patient["birth_date"]
	}
	require.Equal(t, map[any]any{"Bia": "1960-02-02", "Caio": "1970-03-03", "Dora": "1980-04-04"}, births)

	// Nor is one of two rows of which the first lacks its last cells.
	clinic = hub.AnotherClinic()
	got = clinic.Import("csv", "nome;telefone;email\nAna;\"11987654321\nBruno;11987654322\";b@example.com\n\"Caio;11987654323\nDora\";11987654324;d@example.com\n\"Eva\nLima\";\"11987654325\n\";\n")
	clinictest.RequireImportCounts(t, got, 1, 0, 0, 2)
	require.Equal(t, []any{
		object{"line": 2.0, "error": "phone has a line break: check the quotation marks"}, object{"line": 4.0, "error": "name has a line break: check the quotation marks"},
	}, got["errors"])
	require.Equal(t, "Eva Lima", clinic.Items("/patients")[0]["name"])

	// The lines of a long text are no patients.
	clinic = hub.AnotherClinic()
	got = clinic.Import("csv", "nome;telefone;historico\nAna Lima;11987654321;\""+strings.Repeat("Consulta: paciente refere dor\n", 2500)+"\"\nBia Sá;11987654322;\"curta\"\nCaio Rey;11987654323;\n")
	clinictest.RequireImportCounts(t, got, 2, 0, 0, 1)
	require.Equal(t, []any{object{"line": 2.0, "error": "is longer than 65536 bytes"}}, got["errors"])
}
