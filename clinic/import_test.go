package clinic_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// upload sends a file to be imported; headers come in pairs.
func (p *practice) upload(format, file string, headers ...string) answer {
	p.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "patients")
	require.NoError(p.t, err)
	_, err = io.WriteString(part, file)
	require.NoError(p.t, err)
	require.NoError(p.t, form.WriteField("format", format))
	require.NoError(p.t, form.Close())
	got, err := p.try("POST", "/imports", body.String(), append([]string{"Content-Type", form.FormDataContentType()}, headers...)...)
	require.NoError(p.t, err)
	return got
}

// Media types have no case, boundaries have.
func TestMediaTypesInCapitals(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	p.ok(201, "POST", "/patients", object{"name": "Ana"}, "Content-Type", "APPLICATION/JSON")
	const form = "--aB\r\nContent-Disposition: form-data; name=\"format\"\r\n\r\ncsv\r\n--aB\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nnome\nBia\n\r\n--aB--\r\n"
	for _, media := range []string{"multipart/form-data; boundary=aB", "MULTIPART/Form-Data; boundary=aB"} {
		p.ok(202, "POST", "/imports", form, "Content-Type", media)
	}
	require.Equal(t, 415, p.call("POST", "/imports", form, "Content-Type", "MULTIPART/mixed; boundary=aB").status)
}

// imported uploads a file and gives how it stands once all of it has been read.
func (p *practice) imported(format, file string) object {
	p.t.Helper()
	made := p.upload(format, file)
	require.Equal(p.t, 202, made.status, made.text)
	return p.settled(made.body["id"].(string))
}

func (p *practice) settled(id string) object {
	p.t.Helper()
	var got object
	require.Eventually(p.t, func() bool {
		got = p.get("/imports/" + id)
		return got["status"] == "done"
	}, soon, tick)
	require.NotNil(p.t, got["finished_at"])
	require.Equal(p.t, got["total"], got["processed"])
	return got
}

// people are so many patients in a table.
func people(n int) string {
	var b strings.Builder
	b.WriteString("id;nome;telefone;cpf;nascimento\n")
	for i := range n {
		fmt.Fprintf(&b, "%d;Paciente %d;+55119%08d;%s;%02d/%02d/19%02d\n", i, i, 60_000_000+i, taxID(i), i%28+1, i%12+1, i%90+10)
	}
	return b.String()
}

// taxID is a CPF with the right check digits.
func taxID(n int) string {
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

// counts requires what came of the lines of an import.
func counts(t *testing.T, got object, created, updated, skipped, failed int) {
	t.Helper()
	require.Equal(t, []any{float64(created), float64(updated), float64(skipped), float64(failed)},
		[]any{got["created"], got["updated"], got["skipped"], got["failed"]}, "%v", got)
}

const table = `external_id;nome;telefone;email;cpf;nascimento
1;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;02/03/1980
2;"Caio
Lima";11 91234-5678;;;1975-12-31
3;José Conceição;;jose@example.com;;
`

func TestImport(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	got := p.imported("csv", table)
	counts(t, got, 3, 0, 0, 0)
	require.EqualValues(t, 3, got["total"])
	require.Equal(t, []any{}, got["errors"])
	require.Equal(t, "csv", got["format"])

	patients := map[string]object{}
	for _, one := range p.items("/patients") {
		patients[one["name"].(string)] = one
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

	events := p.sent()
	require.Len(t, events, 3)
	for _, e := range events {
		require.Equal(t, "patient.created", e.kind)
		require.NotContains(t, fmt.Sprint(e.data), "529")
	}

	// The same file again: nothing new, nobody is told.
	counts(t, p.imported("csv", table), 0, 0, 3, 0)
	require.Len(t, p.sent(), 3)

	// A file that knows more: the patients change, and what it leaves out stays.
	more := strings.ReplaceAll(strings.ReplaceAll(table, "ana@example.com", "souza@example.com"), ";;jose@", ";21 3456-7890;jose@")
	counts(t, p.imported("csv", strings.ReplaceAll(more, "529.982.247-25", "")), 0, 2, 1, 0)
	changed := map[string]any{}
	for _, e := range p.sent()[3:] {
		require.Equal(t, "patient.updated", e.kind)
		changed[fmt.Sprint(e.data["changed_fields"])] = e.data["patient_id"]
	}
	require.Equal(t, map[string]any{"[email]": ana["id"], "[phone]": patients["José Conceição"]["id"]}, changed)
	require.Equal(t, "***.***.***-25", p.get("/patients/" + ana["id"].(string))["cpf"])

	list := p.items("/imports")
	require.Len(t, list, 3)
	require.Equal(t, "done", list[0]["status"])
	var files, matches int
	require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select (select count(*) from clinic.import_chunks where clinic_id = $1), (select count(*) from clinic.import_matches where clinic_id = $1)`, p.id).Scan(&files, &matches))
	require.Zero(t, files, "what was read is not kept")
	require.Zero(t, matches)
}

// A patient is found by the reference, else by the tax id, else by phone, name and
// day of birth; whoever made it.
func TestImportFindsPatients(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	p.ok(201, "POST", "/patients", object{"name": "Ana Souza", "cpf": "529.982.247-25"})
	p.ok(201, "POST", "/patients", object{"name": "José Conceição", "phone": "+5511987654321", "birth_date": "1980-03-02"})
	p.ok(201, "POST", "/patients", object{"name": "Bia", "birth_date": "1990-01-01"})
	const file = "id,name,phone,cpf,birth_date\n" +
		"a,Ana S. Souza,11 3333-4444,52998224725,\n" + // by the tax id
		",JOSE CONCEICAO,(11) 8765-4321,,1980-03-02\n" + // without the ninth digit, as people write it
		",Jose Conceicao,(11) 98765-4321,,1981-03-02\n" + // a son of the same name
		",bia,,,1990-01-01\n" +
		",Bia,,,1991-01-01\n"
	counts(t, p.imported("csv", file), 2, 3, 0, 0)
	counts(t, p.imported("csv", file), 0, 0, 5, 0)
	counts(t, p.imported("csv", "id,name,birth_date\na,Ana Lima,\n"), 0, 1, 0, 0) // by the reference
	require.Len(t, p.items("/patients"), 5)
}

// What is wrong is said by line, without values; the others are taken in.
func TestImportErrors(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	p.ok(201, "POST", "/patients", object{"name": "Rui", "cpf": "111.444.777-35"})
	got := p.imported("csv", `id,nome,telefone,email,cpf,nascimento
1,Ana,11987654321,,529.982.247-25,
2,Bia,123,bia,529.982.247-26,31/02/1980
3,,,,,
4,Caio,letters,not mail,111.111.111-11,2999-01-01
5,Davi,,,52998224725,
1,Ana,11987654321,,52998224725,
6,Eva,,,,1,2,3
1,Rui,,,11144477735,
`+"7,Gi\x01l,,,,\n")
	counts(t, got, 1, 0, 1, 7)
	said := map[float64]string{}
	for _, one := range got["errors"].([]any) {
		said[one.(object)["line"].(float64)] = one.(object)["error"].(string)
	}
	require.Equal(t, map[float64]string{
		3:  "birth_date must be like 1980-03-02 or 02/03/1980",
		4:  "name must not be empty",
		5:  "phone must be a phone number of 8 to 15 digits; email must be an e-mail address; cpf must be a CPF: 11 digits with the right check digits; birth_date must not be in the future",
		6:  "tells another thing of a patient that an earlier line was about",
		8:  "has more cells than the first line has columns",
		9:  "cpf is another patient's",
		10: "has characters that are no text",
	}, said)
	again := p.imported("csv", "id,nome,cpf\n1,Ana,390.533.447-05\n")
	require.Contains(t, fmt.Sprint(again["errors"]), "external_id is another patient's")
	for _, value := range []string{"529982247", "529.982", "not mail", "letters"} {
		require.NotContains(t, p.hub.Log(), value)
	}
}

// What a batch changes, its events and how far the import is are one transaction.
func TestImportIsWholeOrNot(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	p.hub.FailPublishing.Store(true)
	made := p.upload("csv", table)
	require.Equal(t, 202, made.status, made.text)
	id := made.body["id"].(string)
	require.Eventually(t, func() bool {
		var tried bool
		require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select exists (select from hub.jobs where job = 'import' and key = $1 and tries > 0)`, id).Scan(&tried))
		return tried
	}, soon, tick)
	require.Empty(t, p.items("/patients"))
	require.Empty(t, p.sent())
	require.EqualValues(t, 0, p.get("/imports/" + id)["processed"])
	p.hub.FailPublishing.Store(false)
	counts(t, p.settled(id), 3, 0, 0, 0)
	require.Len(t, p.sent(), 3)
}

// How far an import is can be seen while it runs: each batch as soon as it is in.
func TestImportProgress(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	const total = 250 // two batches and a half
	held := map[int]pgx.Tx{}
	for _, n := range []int{120, 220} { // each batch after the first changes a patient that is held
		id := p.ok(201, "POST", "/patients", object{"name": "Somebody", "cpf": taxID(n)})["id"]
		tx, err := p.hub.Host.Pool.Begin(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
		_, err = tx.Exec(t.Context(), `select from clinic.patients where clinic_id = $1 and id = $2 for update`, p.id, id)
		require.NoError(t, err)
		held[n] = tx
	}
	made := p.upload("csv", people(total))
	require.Equal(t, 202, made.status, made.text)
	path := "/imports/" + made.body["id"].(string)
	seen := []float64{0}
	reaches := func(processed int) object {
		var got object
		require.Eventually(t, func() bool {
			got = p.get(path)
			require.EqualValues(t, total, got["total"])
			seen = append(seen, got["processed"].(float64))
			return got["processed"] == float64(processed)
		}, soon, tick)
		require.IsNonDecreasing(t, seen)
		return got
	}
	for _, step := range []struct{ processed, release int }{{100, 120}, {200, 220}} {
		got := reaches(step.processed)
		require.Equal(t, "running", got["status"])
		require.Nil(t, got["finished_at"])
		require.InDelta(t, got["processed"], got["created"].(float64)+got["updated"].(float64), 0)
		require.Equal(t, "running", p.items("/imports")[0]["status"])
		require.NoError(t, held[step.release].Rollback(t.Context()))
	}
	reaches(total)
	counts(t, p.settled(made.body["id"].(string)), total-2, 2, 0, 0)
}

func TestImportFHIR(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	file := `{"resourceType":"Patient","id":"x1","identifier":[{"system":"urn:oid:2.16.840.1.113883.13.237","value":"52998224725"}],"name":[{"given":["Ana"],"family":"Souza"}],"telecom":[{"system":"phone","value":"+5511987654321"}],"birthDate":"1980-03-02"}
{"resourceType":"Observation"}
{"resourceType":"Patient","id":"x2","active":false,"name":[{"text":"Caio"}]}
`
	got := p.imported("fhir-ndjson", file)
	counts(t, got, 2, 0, 0, 1)
	require.Equal(t, []any{object{"line": 2.0, "error": "resourceType must be Patient: no other resources are imported"}}, got["errors"])
	counts(t, p.imported("fhir-ndjson", file), 0, 0, 2, 1)
	require.Equal(t, "***.***.***-25", itemsOf(p.search("Souza"))[0]["cpf"])
	require.Equal(t, "inactive", p.items("/patients?status=inactive")[0]["status"])
}

func TestImportRefusals(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	require.Equal(t, 401, p.as("").upload("csv", table).status)
	require.Equal(t, 403, p.staff().upload("csv", table).status)
	require.Equal(t, 401, p.key().upload("csv", table).status)
	for format, file := range map[string]string{"xlsx": table, "csv": "telefone\n1\n", "fhir-ndjson": "\n\n"} {
		require.Equal(t, 422, p.upload(format, file).status, format)
	}
	require.Equal(t, 422, p.upload("csv", "").status)
	require.Equal(t, 422, p.upload("csv", "nome\n\n").status)
	require.Equal(t, 415, p.upload("csv", table, "Content-Encoding", "gzip").status, "what it unpacks to has no bounds")
	p.refused(415, "unsupported_media_type", "POST", "/imports", object{"file": "x"})

	// Longer than other bodies, for those who are known; and not endless.
	long := "nome;obs\n" + strings.Repeat("Ana;"+strings.Repeat("x", 50_000)+"\n", 100) // 5 MB
	counts(t, p.imported("csv", long), 1, 0, 99, 0)
	require.Equal(t, 413, p.as("").upload("csv", long).status)
	require.Equal(t, 413, p.as("x").upload("csv", long).status)
	require.Equal(t, 413, p.upload("csv", strings.Repeat(long, 4)).status)

	// Test data stay apart, and so do other clinics.
	id := p.on("test").upload("csv", table).body["id"].(string)
	p.on("test").settled(id)
	require.Len(t, p.on("test").items("/patients"), 3)
	p.refused(404, "not_found", "GET", "/imports/"+id, nil)
	require.Equal(t, http.StatusNotFound, p.another().on("test").call("GET", "/imports/"+id, nil).status)
}
