package imports_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/hub/hubtest/moduletest"
)

// An upload by staff is refused before its body is read.
func TestStaffUploadIsRefusedEarly(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	long := "nome\n" + strings.Repeat("Ana Souza\n", 200_000)
	for name, file := range map[string]string{"long": long, "short": "nome\nAna\n"} {
		got := clinic.AddStaff().UploadImport("csv", file)
		require.Equal(t, 403, got.Status, "%s: %s", name, got.Text)
		require.Equal(t, "admin_only", got.Body["code"])
	}
	require.Equal(t, 413, clinic.As("nobody").UploadImport("csv", long).Status)
}

// Media types ignore case, boundaries do not.
func TestMediaTypesIgnoreCase(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.OK(201, "POST", "/patients", object{"name": "Ana"}, "Content-Type", "APPLICATION/JSON")
	const form = "--aB\r\nContent-Disposition: form-data; name=\"format\"\r\n\r\ncsv\r\n--aB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nnome\nBia\n\r\n--aB--\r\n"
	for _, media := range []string{"multipart/form-data; boundary=aB", "MULTIPART/Form-Data; boundary=aB"} {
		clinic.OK(202, "POST", "/imports", form, "Content-Type", media)
	}
	require.Equal(t, 415, clinic.Call("POST", "/imports", form, "Content-Type", "MULTIPART/mixed; boundary=aB").Status)
}

// patientTable returns a CSV file of n patients.
func patientTable(n int) string {
	var b strings.Builder
	b.WriteString("id;nome;telefone;cpf;nascimento\n")
	for i := range n {
		fmt.Fprintf(&b, "%d;Paciente %d;+55119%08d;%s;%02d/%02d/19%02d\n", i, i, 60_000_000+i, cpfNumber(i), i%28+1, i%12+1, i%90+10)
	}
	return b.String()
}

// cpfNumber returns a valid CPF for a number.
func cpfNumber(n int) string {
	digits := fmt.Sprintf("%09d", 100_000_000+n*7919%800_000_000)
	for length := 9; length <= 10; length++ {
		sum := 0
		for i := range length {
			sum += int(digits[i]-'0') * (length + 1 - i)
		}
		digits += fmt.Sprint(sum * 10 % 11 % 10)
	}
	return digits
}

func TestImport(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	got := clinic.Import("csv", clinictest.ImportTable)
	clinictest.RequireImportCounts(t, got, 3, 0, 0, 0)
	require.EqualValues(t, 3, got["total"])
	require.Equal(t, []any{}, got["errors"])
	require.Equal(t, "csv", got["format"])

	patients := map[string]object{}
	for _, item := range clinic.Items("/patients") {
		patients[item["name"].(string)] = item
	}
	require.Len(t, patients, 3)
	ana := patients["Ana Souza"]
	require.Equal(t, "+5511987654321", ana["phone"])
	require.Equal(t, "ana@example.com", ana["email"])
	require.Equal(t, "***.***.***-25", ana["cpf"])
	require.Equal(t, "1980-03-02", ana["birth_date"])
	require.Equal(t, "active", ana["status"])
	require.Equal(t, "1975-12-31", patients["Caio Lima"]["birth_date"])
	require.Nil(t, patients["José Conceição"]["phone"])

	events := clinic.Events()
	require.Len(t, events, 3)
	for _, e := range events {
		require.Equal(t, "patient.created", e.Type)
		for _, cpf := range []string{"529.982", "529982"} { // an id may have three of its digits
			require.NotContains(t, fmt.Sprint(e.Data), cpf)
		}
	}

	// The same file again: nothing new, nothing published.
	clinictest.RequireImportCounts(t, clinic.Import("csv", clinictest.ImportTable), 0, 0, 3, 0)
	require.Len(t, clinic.Events(), 3)

	// A file that knows more: the patients change, and what it leaves out stays.
	more := strings.ReplaceAll(strings.ReplaceAll(clinictest.ImportTable, "ana@example.com", "souza@example.com"), ";;jose@", ";21 3456-7890;jose@")
	clinictest.RequireImportCounts(t, clinic.Import("csv", strings.ReplaceAll(more, "529.982.247-25", "")), 0, 2, 1, 0)
	changed := map[string]any{}
	for _, e := range clinic.Events()[3:] {
		require.Equal(t, "patient.updated", e.Type)
		changed[fmt.Sprint(e.Data["changed_fields"])] = e.Data["patient_id"]
	}
	require.Equal(t, map[string]any{"[email]": ana["id"], "[phone]": patients["José Conceição"]["id"]}, changed)
	require.Equal(t, "***.***.***-25", clinic.Get("/patients/" + ana["id"].(string))["cpf"])

	list := clinic.Items("/imports")
	require.Len(t, list, 3)
	require.Equal(t, "done", list[0]["status"])
	var files, matches int
	require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select (select count(*) from clinic.import_chunks where clinic_id = $1), (select count(*) from clinic.import_matches where clinic_id = $1 and after_hmac is not null) + (select count(*) from clinic.import_matches where clinic_id = $1 and after_hmac is null)`, clinic.ID).Scan(&files, &matches))
	require.Zero(t, files, "what was read is not kept")
	require.Equal(t, 5, matches, "what was changed is kept for a day")
}

// A patient is matched by the reference, else by the CPF, else by phone, name and birth date,
// however the patient was created.
func TestImportMatchesPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "cpf": "529.982.247-25"})
	clinic.OK(201, "POST", "/patients", object{"name": "José Conceição", "phone": "+5511987654321", "birth_date": "1980-03-02"})
	clinic.OK(201, "POST", "/patients", object{"name": "Bia", "birth_date": "1990-01-01"})
	const file = "id,name,phone,cpf,birth_date\n" +
		"a,Ana S. Souza,11 3333-4444,52998224725,\n" + // by the tax id
		",JOSE CONCEICAO,(11) 8765-4321,,1980-03-02\n" + // without the ninth digit, as people write it
		",Jose Conceicao,(11) 98765-4321,,1981-03-02\n" + // a son of the same name
		",bia,,,1990-01-01\n" +
		",Bia,,,1991-01-01\n"
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 2, 3, 0, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", file), 0, 0, 5, 0)
	clinictest.RequireImportCounts(t, clinic.Import("csv", "id,name,birth_date\na,ANA S. SOUZA,\n"), 0, 1, 0, 0) // by the reference
	require.Len(t, clinic.Items("/patients"), 5)
}

// Errors name the line and no values. The other lines are imported.
func TestImportErrors(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	clinic.OK(201, "POST", "/patients", object{"name": "Rui", "cpf": "111.444.777-35"})
	got := clinic.Import("csv", `id,nome,telefone,email,cpf,nascimento
1,Ana,11987654321,,529.982.247-25,
2,Bia,123,bia,529.982.247-26,31/02/1980
3,,,,,
4,Caio,letters,not mail,111.111.111-11,2999-01-01
5,Davi,,,52998224725,
1,Ana,11987654321,,52998224725,
6,Eva,,,,1,2,3
1,Rui,,,11144477735,
`+"7,Gi\x01l,,,,\n")
	clinictest.RequireImportCounts(t, got, 3, 0, 1, 5)
	said := map[float64]string{}
	for _, fieldError := range got["errors"].([]any) {
		said[fieldError.(object)["line"].(float64)] = fieldError.(object)["error"].(string)
	}
	require.Equal(t, map[float64]string{
		4:  "name must not be empty",
		6:  "cpf is that of A., and this line is about D.: the name differs",
		8:  "has more cells than the first line has columns",
		9:  "external_id is that of A., cpf is that of R.",
		10: "has characters that are no text",
	}, said)
	// What is wrong with another field than the name leaves that field out.
	require.EqualValues(t, 2, got["warned"])
	require.Equal(t, []any{
		object{"line": 3.0, "warning": "birth_date must be like 1980-03-02 or 02/03/1980: left out; phone must be a phone number of 8 to 15 digits: left out; email must be an e-mail address: left out; cpf must be a CPF: 11 digits with the right check digits: left out"},
		object{"line": 5.0, "warning": "phone must be a phone number of 8 to 15 digits: left out; email must be an e-mail address: left out; cpf must be a CPF: 11 digits with the right check digits: left out; birth_date must not be in the future: left out"},
	}, got["warnings"])
	bia := moduletest.Items(clinic.SearchPatients("Bia"))[0]
	require.Equal(t, []any{nil, nil, nil, nil}, []any{bia["phone"], bia["email"], bia["cpf"], bia["birth_date"]})
	again := clinic.Import("csv", "id,nome,cpf\n1,Ana,390.533.447-05\n")
	require.Contains(t, fmt.Sprint(again["errors"]), "external_id is that of A., and this line is about A.: the CPF differs")
	for _, value := range []string{"529982247", "529.982", "not mail", "letters"} {
		require.NotContains(t, clinic.Hub.Log(), value)
	}
}

// A batch's changes, its events and the import's progress are one transaction.
func TestImportBatchIsAtomic(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	clinic.Hub.FailPublishing.Store(true)
	created := clinic.UploadImport("csv", clinictest.ImportTable)
	require.Equal(t, 202, created.Status, created.Text)
	id := created.Body["id"].(string)
	require.Eventually(t, func() bool {
		var tried bool
		require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select exists (select from hub.jobs where job = 'import-file' and key = $1 and tries > 0)`, id).Scan(&tried))
		return tried
	}, clinictest.Timeout, clinictest.Tick)
	require.Empty(t, clinic.Items("/patients"))
	require.Empty(t, clinic.Events())
	require.EqualValues(t, 0, clinic.Get("/imports/" + id)["processed"])
	clinic.Hub.FailPublishing.Store(false)
	clinictest.RequireImportCounts(t, clinic.WaitForImport(id), 3, 0, 0, 0)
	require.Len(t, clinic.Events(), 3)
}

// Each batch is visible as soon as it is committed.
func TestImportProgress(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const total = 250 // two batches and a half
	held := map[int]pgx.Tx{}
	for _, n := range []int{120, 220} { // each batch after the first changes a patient that is held
		id := clinic.OK(201, "POST", "/patients", object{"name": fmt.Sprintf("PACIENTE %d", n), "cpf": cpfNumber(n)})["id"]
		tx, err := clinic.Hub.Host.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		_, err = tx.Exec(t.Context(), `select from clinic.patients where clinic_id = $1 and id = $2 for update`, clinic.ID, id)
		require.NoError(t, err)
		held[n] = tx
	}
	created := clinic.UploadImport("csv", patientTable(total))
	require.Equal(t, 202, created.Status, created.Text)
	path := "/imports/" + created.Body["id"].(string)
	seen := []float64{0}
	reaches := func(processed int) object {
		var got object
		require.Eventually(t, func() bool {
			got = clinic.Get(path)
			require.EqualValues(t, total, got["total"])
			seen = append(seen, got["processed"].(float64))
			return got["processed"] == float64(processed)
		}, clinictest.Timeout, clinictest.Tick)
		require.IsNonDecreasing(t, seen)
		return got
	}
	for _, step := range []struct{ processed, release int }{{100, 120}, {200, 220}} {
		got := reaches(step.processed)
		require.Equal(t, "running", got["status"])
		require.Nil(t, got["finished_at"])
		require.InDelta(t, got["processed"], got["created"].(float64)+got["updated"].(float64), 0)
		require.Equal(t, "running", clinic.Items("/imports")[0]["status"])
		require.NoError(t, held[step.release].Rollback(t.Context()))
	}
	reaches(total)
	clinictest.RequireImportCounts(t, clinic.WaitForImport(created.Body["id"].(string)), total-2, 2, 0, 0)
}

func TestImportFHIR(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	file := `{"resourceType":"Patient","id":"x1","identifier":[{"system":"urn:oid:2.16.840.1.113883.13.237","value":"52998224725"}],"name":[{"given":["Ana"],"family":"Souza"}],"telecom":[{"system":"phone","value":"+5511987654321"}],"birthDate":"1980-03-02"}
{"resourceType":"Observation"}
{"resourceType":"Patient","id":"x2","active":false,"name":[{"text":"Caio"}]}
`
	got := clinic.Import("fhir-ndjson", file)
	clinictest.RequireImportCounts(t, got, 2, 0, 0, 1)
	require.Equal(t, []any{object{"line": 2.0, "error": "resourceType must be Patient: no other resources are imported"}}, got["errors"])
	clinictest.RequireImportCounts(t, clinic.Import("fhir-ndjson", file), 0, 0, 2, 1)
	require.Equal(t, "***.***.***-25", moduletest.Items(clinic.SearchPatients("Souza"))[0]["cpf"])
	require.Equal(t, "inactive", clinic.Items("/patients?status=inactive")[0]["status"])
}

func TestImportRefusals(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	require.Equal(t, 401, clinic.As("").UploadImport("csv", clinictest.ImportTable).Status)
	require.Equal(t, 403, clinic.AddStaff().UploadImport("csv", clinictest.ImportTable).Status)
	require.Equal(t, 401, clinic.NewKey().UploadImport("csv", clinictest.ImportTable).Status)
	for format, file := range map[string]string{"xlsx": clinictest.ImportTable, "csv": "telefone\n1\n", "fhir-ndjson": "\n\n"} {
		require.Equal(t, 422, clinic.UploadImport(format, file).Status, format)
	}
	require.Equal(t, 422, clinic.UploadImport("csv", "").Status)
	require.Equal(t, 422, clinic.UploadImport("csv", "nome\n\n").Status)
	require.Equal(t, 415, clinic.UploadImport("csv", clinictest.ImportTable, "Content-Encoding", "gzip").Status, "what it unpacks to has no bounds")
	clinic.Refused(415, "unsupported_media_type", "POST", "/imports", object{"file": "x"})

	// Longer than other bodies, for those who are known; and not endless.
	long := "nome;obs\n" + strings.Repeat("Ana;"+strings.Repeat("x", 50_000)+"\n", 100) // 5 MB
	clinictest.RequireImportCounts(t, clinic.Import("csv", long), 1, 0, 99, 0)
	require.Equal(t, 413, clinic.As("").UploadImport("csv", long).Status)
	require.Equal(t, 413, clinic.As("x").UploadImport("csv", long).Status)
	require.Equal(t, 413, clinic.UploadImport("csv", strings.Repeat(long, 4)).Status)

	// Test data stay apart, and so do other clinics.
	id := clinic.InEnvironment("test").UploadImport("csv", clinictest.ImportTable).Body["id"].(string)
	clinic.InEnvironment("test").WaitForImport(id)
	require.Len(t, clinic.InEnvironment("test").Items("/patients"), 3)
	clinic.Refused(404, "not_found", "GET", "/imports/"+id, nil)
	require.Equal(t, http.StatusNotFound, clinic.AnotherClinic().InEnvironment("test").Call("GET", "/imports/"+id, nil).Status)
}

// A line with many numbers that cannot be read has one warning about them.
func TestWarningsAreNotRepeated(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	done := clinic.Import("csv", "nome"+strings.Repeat(";telefone", 8)+"\nAna Souza;1;2;3;4;5;6;7;8\n")
	require.Equal(t, []any{object{"line": 2.0, "warning": "phone must be a phone number of 8 to 15 digits: left out"}}, done["warnings"])
}

// Imports of a clinic that are not finished are few: the next ones of others have their turn soon.
func TestUnfinishedImportsAreLimited(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	other := clinic.AnotherClinic()
	const file = "nome;telefone\nAna Souza;11987654321\n"
	clinic.Import("csv", file)
	clinic.Exec(`insert into clinic.imports (clinic_id, env, id, format, status, created_at) select $1, 'live', gen_random_uuid(), 'csv', case when n % 2 = 0 then 'running' else 'pending' end, now() from generate_series(1, 5) n`)
	refused := clinic.UploadImport("csv", file)
	require.Equal(t, 429, refused.Status, refused.Text)
	require.Contains(t, refused.Text, "too_many_imports")
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.imports where clinic_id = $1 and status = 'done'`))
	other.Import("csv", file)
	clinic.InEnvironment("test").Import("csv", file)
	clinic.Exec(`update clinic.imports set status = 'failed' where clinic_id = $1 and status = 'running'`)
	require.Equal(t, 202, clinic.UploadImport("csv", file).Status)
}

func TestManyColumns(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	refused := clinic.UploadImport("csv", "nome"+strings.Repeat(";telefone", 500)+"\nAna Souza\n")
	require.Equal(t, 422, refused.Status, refused.Text)
	require.Contains(t, refused.Text, "at most 500 columns")
	clinic.Import("csv", "nome"+strings.Repeat(";telefone", 499)+"\nAna Souza\n")
}

// A patient whose CPF cannot be decrypted any more fails its own line only.
func TestImportOfAPatientWithAnUnreadableCPF(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.OK(201, "POST", "/patients", object{"name": "Ana Souza", "cpf": clinictest.CPF})["id"].(string)
	clinic.Exec(`update clinic.patients set cpf_enc = 'broken' where clinic_id = $1 and id = $2`, id)
	got := clinic.Import("csv", "nome;cpf;celular\nAna Souza;"+clinictest.CPF+";11987654321\nBia;;11987654322\nCaio;;11987654323\n")
	clinictest.RequireImportCounts(t, got, 2, 0, 0, 1)
	require.Equal(t, []any{object{"line": 2.0, "error": "what is stored of this patient cannot be decrypted; who runs the hub can say why"}}, got["errors"])
}
