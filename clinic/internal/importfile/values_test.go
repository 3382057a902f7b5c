package importfile_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/hub/module/table"
)

// Dates as spreadsheets and people write them. A year of two digits is the last one up to
// the import's.
func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1980-03-02": "1980-03-02", "1980-3-2": "1980-03-02", "1980/03/02": "1980-03-02", "1980.03.02": "1980-03-02", "1980/3/2 00:00:00": "1980-03-02",
		"2/3/1980": "1980-03-02", "02-03-1980": "1980-03-02", "02.03.1980": "1980-03-02", "1980-03-02T10:00": "1980-03-02",
		"2/3/80": "1980-03-02", "02-03-80": "1980-03-02", "2.3.80": "1980-03-02", "2/3/26": "2026-03-02", "2/3/27": "1927-03-02", "2/3/00": "2000-03-02", "2/3/99": "1999-03-02",
		"29/2/24": "2024-02-29", "29/2/28": "1928-02-29", "29/2/00": "2000-02-29",
		"29282": "1980-03-02", "29282.0": "1980-03-02", "29282,0": "1980-03-02", "10000": "1927-05-18", "2101": "1905-10-01", "99999": "2173-10-13",
	} {
		require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", BirthDate: want}}, readTable(t, "nome;nascimento\nAna;"+text+"\n"), text)
	}
	for _, year := range []string{"1850", "1980", "2100"} {
		require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", PartialDate: year, Warnings: []string{"birth_date is not a whole date: left out"}}},
			readTable(t, "nome;nascimento\nAna;"+year+"\n"))
	}
	for _, text := range []string{"31/02/1980", "29/2/27", "0000-03-02", "03/25/1980", "1849", "100000", "-29282", "29282.5", "29282.00", "mar 80", "2/3", "2/3/180"} {
		rows := readTable(t, "nome;nascimento\nAna;"+text+"\n")
		require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", HasUnreadableDate: true, Warnings: []string{"birth_date must be like 1980-03-02 or 02/03/1980: left out"}}}, rows, text)
		require.NotContains(t, rows[0].Warnings[0], text)
	}
	require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", Warnings: []string{"status must be active or inactive: left out"}}}, readTable(t, "nome;ativo\nAna;talvez\n"))
}

func TestFHIRBirthDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]importfile.Row{
		"1980-03-02": {Line: 1, BirthDate: "1980-03-02"},
		"1980-03":    {Line: 1, PartialDate: "1980-03", Warnings: []string{"birth_date is not a whole date: left out"}},
		"1980":       {Line: 1, PartialDate: "1980", Warnings: []string{"birth_date is not a whole date: left out"}},
		"1980-13":    {Line: 1, HasUnreadableDate: true, Warnings: []string{"birth_date must be a date like 1980-03-02: left out"}},
		"1980-02-30": {Line: 1, HasUnreadableDate: true, Warnings: []string{"birth_date must be a date like 1980-03-02: left out"}},
		"02/03/1980": {Line: 1, HasUnreadableDate: true, Warnings: []string{"birth_date must be a date like 1980-03-02: left out"}},
	} {
		require.Equal(t, []importfile.Row{want}, readFrom(t, `{"resourceType":"Patient","birthDate":"`+text+`"}`, nil, importfile.Start), text)
	}
}

// The id of a FHIR patient belongs to the system of the identifier with the same value.
func TestFHIRSource(t *testing.T) {
	t.Parallel()
	for identifiers, want := range map[string]importfile.Row{
		`{"system":"https://a.example/patients","value":"17"}`:                                    {Source: "https://a.example/patients"},
		`{"system":"https://a.example/patients","value":"18"}`:                                    {},
		`{"system":"https://a.example","value":"17"},{"system":"https://b.example","value":"17"}`: {Source: "https://a.example"},
		`{"system":"https://saude.gov.br/fhir/sid/cpf","value":"17"}`:                             {CPF: "17"},
		`{"system":"https://rnds-fhir.saude.gov.br/NamingSystem/cpf","value":"000.000.000-00"}`:   {Warnings: []string{"cpf is a placeholder: left out"}},
	} {
		want.Line, want.ExternalRef = 1, "17"
		require.Equal(t, []importfile.Row{want}, readFrom(t, `{"resourceType":"Patient","id":"17","identifier":[`+identifiers+`]}`, nil, importfile.Start), identifiers)
	}
}

// What stands for nothing is left out, with a warning; what only looks like it is not.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	const head = "código;nome;telefone;email;cpf;nascimento;situação\n"
	for column, texts := range map[string][]string{
		"external_id": {"-", "N/A"},
		"phone":       {"-", "n/a", "Não informado", "(00) 00000-0000", "(11) 00000-0000", "0", "--", "sem telefone", "NULL"},
		"email":       {"-", "N/A", "não possui", ".", "sem e-mail", "#N/D"},
		"cpf":         {"000.000.000-00", "0", "00000000000", "sem CPF", "---.---.---/--", "0.0"},
		"birth_date":  {"00/00/0000", "0000-00-00", "//", "0", "não consta"},
		"status":      {"-", "?"},
	} {
		place := map[string]int{"external_id": 0, "phone": 2, "email": 3, "cpf": 4, "birth_date": 5, "status": 6}[column]
		for _, text := range texts {
			cells := []string{"", "Ana", "", "", "", "", ""}
			cells[place] = text
			require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", Warnings: []string{column + " is a placeholder: left out"}}}, readTable(t, head+strings.Join(cells, ";")+"\n"), text)
		}
	}
	require.Equal(t, []importfile.Row{{Line: 2, ExternalRef: "0", Name: "Ana", Phone: "(11) 90000-0001", Email: "n@a", CPF: "000.000.000-0x"}}, readTable(t, head+"0;Ana;(11) 90000-0001;n@a;000.000.000-0x;;\n"))
	require.Equal(t, []importfile.Row{{Line: 2, Warnings: []string{"name is a placeholder: left out"}}}, readTable(t, head+";não informado;;;;;\n"))
	require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana"}}, readTable(t, "nome;obs\nAna;N/A\n"), "of columns that are not used nobody cares")
	require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", Email: "a@b.co", Warnings: []string{"email is a placeholder: left out"}}}, readTable(t, "nome;email;mail;email 1\nAna;-;N/A;a@b.co\n"), "each is said once")
}

// Spreadsheets write whole numbers with ".0".
func TestDecimals(t *testing.T) {
	t.Parallel()
	require.Equal(t, []importfile.Row{{Line: 2, ExternalRef: "17", Name: "Ana", Phone: "11987654321", CPF: "00998224725"}}, readTable(t, "id;nome;fone;cpf\n17.0;Ana;11987654321.0;998224725,0\n"))
	for _, text := range []string{"1.00", "1.5", "a.0", ".0", ",0", "1.0.0", "1.0a"} {
		require.Equal(t, text, readTable(t, "id;nome\n"+text+";Ana\n")[0].ExternalRef)
	}
}

// Of several numbers the mobile comes first, whatever its column is called.
func TestPhoneColumns(t *testing.T) {
	t.Parallel()
	const mobile, other, landline, foreign = "(11) 98888-7777", "(21) 97777-6666", "(11) 3333-4444", "+1 212 555 1234"
	for _, test := range []struct {
		head, cells, best string
		others            []string
	}{
		{"telefone;celular", landline + ";" + mobile, mobile, []string{landline}},
		{"celular;telefone", landline + ";" + mobile, mobile, []string{landline}},
		{"Telefone;Telefone 2", landline + ";" + mobile, mobile, []string{landline}},
		{"Celular;Celular 2", mobile + ";" + other, mobile, []string{other}},
		{"home_phone;phone", landline + ";" + "(11) 3333-5555", "(11) 3333-5555", []string{landline}},
		{"home_phone;mobile", mobile + ";" + landline, mobile, []string{landline}},
		{"phone;mobile", landline + ";" + foreign, foreign, []string{landline}},
		{"phone;telefone 2", landline + ";" + foreign, landline, []string{foreign}},
		{"home_phone;telefone", foreign + ";" + landline, landline, []string{foreign}},
		{"celular;telefone", "123;" + landline, landline, []string{"123"}},
		{"celular;telefone", "-;" + landline, landline, nil},
		{"telefone;celular", mobile + ";" + mobile, mobile, nil},
		{"telefone;celular;telefone 2", mobile + ";" + landline + ";" + landline, mobile, []string{landline}},
		{"telefone;celular", "3333-4444;98888-7777", "98888-7777", []string{"3333-4444"}},
		{"telefone;telefone 2", "(11) 5888-7777;(11) 6888-7777", "(11) 6888-7777", []string{"(11) 5888-7777"}}, // without its ninth digit
		{"telefone;telefone 2", "+5512345;" + landline, landline, []string{"+5512345"}},
		{"telefone;telefone 2", "+55123456;" + mobile, mobile, []string{"+55123456"}},
	} {
		row := readTable(t, "nome;"+test.head+"\nAna;"+test.cells+"\n")[0]
		require.Equal(t, test.best, row.Phone, test.cells)
		require.Equal(t, test.others, row.OtherPhones, test.cells)
	}
	var head, cells strings.Builder
	for i := range 20 {
		head.WriteString(";telefone")
		fmt.Fprintf(&cells, ";12%d", i)
	}
	require.Len(t, readTable(t, "nome"+head.String()+"\nAna"+cells.String()+"\n")[0].OtherPhones, 10)
}

func TestNameColumns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ head, cells, name, civil string }{
		{"nome;sobrenome", "Ana;Souza", "Ana Souza", ""},
		{"sobrenome;nome", "Souza;Ana", "Ana Souza", ""},
		{"nome;sobrenome", "Ana Souza;SOUZA", "Ana Souza", ""},
		{"nome;sobrenome", "Ana Desouza;Souza", "Ana Desouza Souza", ""},
		{"nome;sobrenome", "Conceição;conceicao", "Conceição", ""},
		{"nome;sobrenome", ";Souza", "Souza", ""},
		{"nome;sobrenome", "Ana;", "Ana", ""},
		{"First Name;Last Name", "Ana;Souza", "Ana Souza", ""},
		{"nome;nome social", "João Souza;Maria Souza", "Maria Souza", "João Souza"},
		{"nome;sobrenome;Nome Social", "João;Souza;Maria Souza", "Maria Souza", "João Souza"},
		{"nome;nome social", "João Souza;", "João Souza", ""},
		{"nome;nome social", "João Souza;-", "João Souza", ""},
		{"nome;nome social", "João Souza;João Souza", "João Souza", ""},
	} {
		row := readTable(t, test.head+"\n"+test.cells+"\n")[0]
		require.Equal(t, test.name, row.Name, test.cells)
		require.Equal(t, test.civil, row.CivilName, test.cells)
	}
	_, _, err := importfile.ReadHeader(strings.NewReader("sobrenome;nome social\n"), thisYear)
	require.ErrorIs(t, err, importfile.ErrNoNameColumn)
}

// The columns of a table, and what each is used for.
func TestColumns(t *testing.T) {
	t.Parallel()
	head, _, err := importfile.ReadHeader(strings.NewReader("Prontuário; Nome ;Sobrenome;Nome Social;Celular 2;home_phone;Telefone 2;E-mail;CPF Nº;Nasc.;Situação;Observações;\n"), thisYear)
	require.NoError(t, err)
	require.Equal(t, []importfile.Column{
		{Heading: "Prontuário", Field: "external_id"}, {Heading: "Nome", Field: "name"}, {Heading: "Sobrenome", Field: "family_name"}, {Heading: "Nome Social", Field: "social_name"},
		{Heading: "Celular 2", Field: "phone"}, {Heading: "home_phone", Field: "phone"}, {Heading: "Telefone 2", Field: "phone"}, {Heading: "E-mail", Field: "email"},
		{Heading: "CPF Nº", Field: "cpf"}, {Heading: "Nasc.", Field: "birth_date"}, {Heading: "Situação", Field: "status"}, {Heading: "Observações"}, {},
	}, head.Columns())
}

// UTF-16 is recognized without its mark, where it is mostly Latin text.
func TestUTF16WithoutMark(t *testing.T) {
	t.Parallel()
	encode := func(text string, order binary.AppendByteOrder) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	read := func(file string) string {
		in, err := table.Text(strings.NewReader(file))
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		return string(text)
	}
	for _, text := range []string{"nome;cpf\nJosé “Zé” Conceição;1\n", "n", "nome" + strings.Repeat("日", 3), strings.Repeat("nome;€", 500)} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			require.Equal(t, text, read(encode(text, order)))
		}
	}
	for _, file := range []string{"nome\x00;cpf\x00\n", "\x00nome", "nome\x00", "n\x00m\x00\x00;", "n\x00日x", "abcd"} {
		require.Equal(t, file, read(file))
	}
	require.NoError(t, importfile.CheckFormat(strings.NewReader(encode("nome;cpf\n", binary.LittleEndian)), importfile.CSV))
}
