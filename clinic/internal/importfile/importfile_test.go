package importfile_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/hub/module/table"
)

// thisYear is the year in which the tests import.
const thisYear = 2026

// readTable reads a whole table, and again from every place where a row begins: both
// must tell the same.
func readTable(t *testing.T, text string) []importfile.Row {
	t.Helper()
	head, at, err := importfile.ReadHeader(strings.NewReader(text), thisYear)
	require.NoError(t, err)
	return readFrom(t, text, head, at)
}

func readFrom(t testing.TB, text string, head *importfile.Header, at importfile.Position) []importfile.Row {
	t.Helper()
	r := importfile.NewReader(iotest.OneByteReader(strings.NewReader(text[at.Offset:])), at, head)
	var rows []importfile.Row
	for {
		from := r.Position()
		row, err := r.Next()
		again, errAgain := importfile.NewReader(strings.NewReader(text[from.Offset:]), from, head).Next()
		require.Equal(t, err, errAgain)
		require.Equal(t, row, again, "going on at %v", from)
		if errors.Is(err, io.EOF) {
			require.EqualValues(t, len(text), r.Position().Offset)
			return rows
		}
		require.NoError(t, err)
		rows = append(rows, row)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	ana := importfile.Row{Line: 2, ExternalRef: "17", Name: "Ana Souza", Phone: "(11) 98765-4321", Email: "ana@example.com", CPF: "529.982.247-25", BirthDate: "1980-03-02"}
	for name, text := range map[string]string{
		"English":    "external_id,name,phone,email,cpf,birth_date\n17,Ana Souza,(11) 98765-4321,ana@example.com,529.982.247-25,1980-03-02\n",
		"Portuguese": "Código;Nome Completo;Telefone;E-mail;CPF;Data de Nascimento\r\n17;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;02/03/1980\r\n",
		"no end":     "id;nome;celular;email;cpf;nascimento;obs\n17;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;2/3/1980",
		"tabs":       "id\tnome\tcelular\temail\tcpf\tnascimento\n17\tAna Souza\t(11) 98765-4321\tana@example.com\t529.982.247-25\t1980-03-02 00:00:00\n",
		"quoted":     "\"id\";\"obs; etc\";\"nome\";\"celular\";\"email\";\"cpf\";\"nascimento\"\n\"17\";\"x\";\"Ana Souza\";\"(11) 98765-4321\";\"ana@example.com\";\"529.982.247-25\";\"02/03/1980\"\n",
	} {
		require.Equal(t, []importfile.Row{ana}, readTable(t, text), name)
	}
	sep := ana
	sep.Line = 3
	require.Equal(t, []importfile.Row{sep}, readTable(t, "sep=;\nid;nome;celular;email;cpf;nascimento\n17;Ana Souza;(11) 98765-4321;ana@example.com;529.982.247-25;02/03/1980\n"))
}

func TestCells(t *testing.T) {
	t.Parallel()
	rows := readTable(t, "nome;obs;telefone;celular;cpf\n"+
		"\"Ana \"\"Aninha\"\"\r\nSouza\";\"a;b\n\nc\";;11987654321\n"+ // rows may be shorter than the head
		"\n ; ;\n"+
		"Bia 5\"\" \"x\";;1;2;529982247\n"+
		"'=Caio;;;;'+55\n"+
		"''=Davi;;;;\n''7;;;;\n'Eva;;;;\n") // as exports write names that begin with an apostrophe
	require.Equal(t, []importfile.Row{
		{Line: 2, Name: `Ana "Aninha" Souza`, Phone: "11987654321"},
		{Line: 8, Name: `Bia 5"" "x"`, Phone: "1", OtherPhones: []string{"2"}, CPF: "00529982247"},
		{Line: 9, Name: "=Caio", CPF: "+55"},
		{Line: 10, Name: "'=Davi"}, {Line: 11, Name: "'7"}, {Line: 12, Name: "'Eva"},
	}, rows)
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for cells, want := range map[string]string{
		"Ana;1;2;3":                        "more cells",
		"An\x00a;;":                        "no text",
		"An\u0085a\u0007;;":                "no text",
		"An\xffa;;":                        "no text",
		"An\ufffda;;":                      "no text",
		"Ana;1980-03-02;\"abc":             "not closed",
		strings.Repeat("x", 70_000) + ";;": "longer",
	} {
		rows := readTable(t, "nome;nascimento;ativo\n"+cells+"\nBia;;sim\n")
		require.Len(t, rows, 2, cells[:min(len(cells), 20)])
		require.Contains(t, rows[0].Problem, want)
		require.Equal(t, importfile.Row{Line: 2, Problem: rows[0].Problem}, rows[0], "nothing of the line but where it is")
		require.Equal(t, importfile.Row{Line: 3, Name: "Bia", Status: "active"}, rows[1])
		for _, value := range []string{"abc"} {
			require.NotContains(t, rows[0].Problem, value)
		}
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"": importfile.ErrNoHeader, "telefone;cpf\n1;2\n": importfile.ErrNoNameColumn, "Ana;11987654321\n": importfile.ErrNoNameColumn,
		strings.Repeat("x", 200_000): importfile.ErrNoHeader, "\"nome": importfile.ErrNoHeader,
	} {
		_, _, err := importfile.ReadHeader(strings.NewReader(text), thisYear)
		require.ErrorIs(t, err, want)
	}
	broken := errors.New("broken")
	_, _, err := importfile.ReadHeader(iotest.ErrReader(broken), thisYear)
	require.ErrorIs(t, err, broken)
}

func TestFHIR(t *testing.T) {
	t.Parallel()
	text := `{"resourceType":"Patient","id":"a-1","active":true,"identifier":[{"system":"urn:x","value":"1"},{"system":"urn:oid:2.16.840.1.113883.13.237","value":"52998224725"}],
`
	text = strings.ReplaceAll(text, "\n", "") +
		`"name":[{"use":"nickname","text":"Aninha"},{"use":"official","given":["Ana","Maria"],"family":"Souza"}],` +
		`"telecom":[{"system":"phone","value":"1","use":"old","rank":1},{"system":"phone","value":"2","use":"home"},{"system":"phone","value":"+55 11 98765-4321","use":"mobile"},{"system":"email","value":"a@example.com","rank":2},{"system":"email","value":"ana@example.com","rank":1}],"birthDate":"1980-03-02","gender":"female"}` + "\n" +
		"\n" +
		`{"resourceType":"Patient","name":[{"text":"Bia \"B\"\nLima"}],"active":false}` + "\r\n" +
		`{"resourceType":"Observation","id":"x"}` + "\n" +
		`{"resourceType":"Patient","name":[{"text":"Bia"}],"birthDate":"1980-03"}` + "\n" +
		`{"resourceType":"Patient","name":"Ana"}` + "\n" +
		"{\"resourceType\":\"Patient\",\"id\":\"\xff\"}\n" +
		`{"resourceType":"Patient","id":"\u0000"}` + "\n" +
		`{"resourceType":"Patient","id":"` + strings.Repeat("x", 70_000) + `"}` + "\n" +
		`"` + "\n" +
		`{"resourceType":"Patient","id":"last"}`
	rows := readFrom(t, text, nil, importfile.Start)
	require.Equal(t, importfile.Row{Line: 1, ExternalRef: "a-1", Name: "Ana Maria Souza", Phone: "+55 11 98765-4321", Email: "ana@example.com", CPF: "52998224725", BirthDate: "1980-03-02", Status: "active"}, rows[0])
	require.Equal(t, importfile.Row{Line: 3, Name: `Bia "B" Lima`, Status: "inactive"}, rows[1])
	require.Equal(t, importfile.Row{Line: 5, Name: "Bia", PartialDate: "1980-03", Warnings: []string{"birth_date is not a whole date: left out"}}, rows[3])
	rows[3].Problem = "left out"
	for i, want := range []string{"resourceType", "left out", "not a FHIR resource", "not a FHIR resource", "no text", "longer", "not a FHIR resource"} {
		require.Equal(t, i+4, rows[i+2].Line)
		require.Contains(t, rows[i+2].Problem, want)
	}
	require.Equal(t, importfile.Row{Line: 11, ExternalRef: "last"}, rows[9])
	require.Len(t, rows, 10)
}

// Column headings of Brazilian programs, and rows as spreadsheets write them.
func TestHeadings(t *testing.T) {
	t.Parallel()
	ana := importfile.Row{Line: 2, ExternalRef: "17", Name: "Ana Souza", Phone: "11 98765-4321", Email: "ana@example.com", CPF: "529.982.247-25", BirthDate: "1980-03-02", Status: "active"}
	const row = "17;Ana Souza;11 98765-4321;ana@example.com;529.982.247-25;02/03/1980;Ativo"
	for _, head := range []string{
		"Código;Nome;Telefone;E-mail;CPF;Data de Nascimento;Situação", "Nº Prontuário;Nome Completo;Celular/WhatsApp;Email;CPF/CNPJ;Nascimento;Status",
		"COD.;CLIENTE;TEL. CELULAR;E-MAIL;Nº CPF;DT. NASC.;ATIVO", "Matri\u0301cula;Nome do cliente;Fone;Correio Eletro\u0302nico;CPF do paciente;Data de Nasc.;ativo",
		"id_paciente;nome_paciente;telefone 1;e-mail 1;cpf_paciente;data_nascimento;status", " ID ;\"Paciente\";Whatsapp;Mail;cpf;Anivers\u00e1rio;Situacao",
	} {
		require.Equal(t, []importfile.Row{ana}, readTable(t, head+"\n"+row+"\n"), head)
		require.Equal(t, []importfile.Row{ana}, readTable(t, head+"\n"+row+";; \n;;;;;;;;\n\n"), "cells that once held something: %s", head)
		further := ana
		further.Line = 4
		require.Equal(t, []importfile.Row{further}, readTable(t, "\r\n;;;\r\n"+head+"\n"+row), "a sheet that begins further down")
	}
	require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", Phone: "1", OtherPhones: []string{"9"}}, {Line: 3, Name: "Bia", Phone: "2"}, {Line: 4, Name: "Caio", Phone: "3"}},
		readTable(t, "nome;telefone;nome;telefone\nAna;1;Other;9\n;2;Bia;\nCaio;;;3\n"), "of columns with one name the first that says something")
	for _, day := range []string{"02/03/1980", "2/3/1980", "02-03-1980", "02.03.1980", "1980-03-02", "02/03/1980 00:00", "1980-03-02T00:00:00Z"} {
		require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", BirthDate: "1980-03-02"}}, readTable(t, "nome;nascimento\nAna;"+day+"\n"), day)
	}
}

// Variants of FHIR patients, and other resources in a file.
func TestFHIRVariants(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]importfile.Row{
		`"meta":{"profile":["x"]},"extension":[{"url":"u","valueString":"v"}],"text":{"div":"<div/>"},"name":[{"text":"Ana"}],"_birthDate":{"extension":[]}`: {Name: "Ana"},
		`"name":[{"family":"Souza","given":["Ana"],"prefix":["Dra."]}]`:                                                                                      {Name: "Ana Souza"},
		`"name":[{"given":["Ana"]},{"use":"old","text":"Lima"}]`:                                                                                             {Name: "Ana"},
		`"name":[{"use":"nickname","text":"Aninha"}]`:                                                                                                        {Name: "Aninha"},
		`"name":[{"text":" "},{"use":"usual","family":"Souza"}]`:                                                                                             {Name: "Souza"},
		`"active":false,"name":[{"text":"Ana"}]`:                                                                                                             {Name: "Ana", Status: "inactive"},
		`"active":true,"deceasedBoolean":false,"name":[{"text":"Ana"}]`:                                                                                      {Name: "Ana", Status: "active"},
		`"active":true,"deceasedBoolean":true,"name":[{"text":"Ana"}]`:                                                                                       {Name: "Ana", Status: "inactive"},
		`"deceasedDateTime":"2020-01","name":[{"text":"Ana"}]`:                                                                                               {Name: "Ana", Status: "inactive"},
		`"telecom":[{"system":"fax","value":"1"},{"system":"phone","value":"2","use":"work"},{"system":"email","value":"a@b.co"},{"system":"sms","value":"3","use":"mobile"},{"system":"url","value":"4"}]`: {Phone: "3", Email: "a@b.co"},
		`"identifier":[{"system":"http://rnds.saude.gov.br/fhir/r4/NamingSystem/cns","value":"7"},{"system":"http://rnds.saude.gov.br/fhir/r4/NamingSystem/cpf","value":"529.982.247-25"}]`:                 {CPF: "529.982.247-25"},
		`"identifier":[{"system":"urn:oid:2.16.840.1.113883.13.237","_value":{"extension":[{"url":"x","valueCode":"masked"}]}}]`:                                                                            {},
		`"name":null,"telecom":null,"birthDate":null,"active":null`: {},
	} {
		want.Line = 1
		require.Equal(t, []importfile.Row{want}, readFrom(t, `{"resourceType":"Patient",`+line+`}`, nil, importfile.Start), line)
	}
	rows := readFrom(t, `{"resourceType":"Bundle","entry":[]}`+"\n"+`{"resourceType":"Practitioner"}`+"\n{}\n", nil, importfile.Start)
	for i, want := range []string{"is a Bundle: write each Patient", "resourceType must be Patient", "resourceType must be Patient"} {
		require.Equal(t, i+1, rows[i].Line)
		require.Contains(t, rows[i].Problem, want)
	}
}

// endlessFile is a table that is never held whole.
type endlessFile struct{ left int }

func (e *endlessFile) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, bytes.Repeat([]byte("Ana Souza;11987654321;\"a\nb\";52998224725\n"), 100))
	e.left--
	return n, nil
}

// Memory use does not grow with the file.
func TestReaderMemory(t *testing.T) { //nolint:paralleltest // it measures the process's memory
	head, _, err := importfile.ReadHeader(strings.NewReader("nome;telefone;obs;cpf\n"), thisYear)
	require.NoError(t, err)
	r := importfile.NewReader(&endlessFile{left: 5000}, importfile.Start, head) // 20 MB
	var most uint64
	for n := 0; ; n++ {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if n%50_000 == 0 {
			runtime.GC()
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
	}
	require.Greater(t, r.Position().Offset, int64(15<<20))
	require.Less(t, most, uint64(8<<20), "MiB: "+strconv.Itoa(int(most>>20)))
}

// Whatever a file holds, reading ends, goes on from anywhere, and counts its lines.
func FuzzReader(f *testing.F) {
	f.Add("nome;cpf\nAna;\"1\n2\"\n")
	f.Add("nome\n\"\"\"\n\"x\"\"\n")
	f.Add("nome,a\r\n5\"\",\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 4096)] // what is read again from every row takes the square of the time
		if head, at, err := importfile.ReadHeader(strings.NewReader(text), thisYear); err == nil {
			readFrom(t, text, head, at)
		}
		readFrom(t, text, nil, importfile.Start)
		if in, err := table.Text(strings.NewReader(text)); err == nil {
			_, err := io.Copy(io.Discard, in)
			require.NoError(t, err)
		}
	})
}
