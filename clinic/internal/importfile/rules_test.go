package importfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/importfile"
)

// Of names and contacts with the same rank the first is used; a rank of 0 is none.
func TestFHIRRanks(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]importfile.Row{
		`"name":[{"text":"Ana"},{"text":"Bia"}]`:                                                                                                            {Name: "Ana"},
		`"name":[{"use":"old","text":"Ana"},{"use":"nickname","text":"Bia"}]`:                                                                               {Name: "Ana"},
		`"name":[{"use":"usual","text":"Ana"},{"use":"official","text":"Bia"}]`:                                                                             {Name: "Bia"},
		`"telecom":[{"system":"phone","value":"1"},{"system":"phone","value":"2"}]`:                                                                         {Phone: "1"},
		`"telecom":[{"system":"phone","value":"1","rank":0},{"system":"phone","value":"2","rank":9}]`:                                                       {Phone: "2"},
		`"telecom":[{"system":"phone","value":"1","rank":2,"use":"mobile"},{"system":"phone","value":"2","rank":1}]`:                                        {Phone: "2"},
		`"telecom":[{"system":"phone","value":"1","rank":3,"use":"home"},{"system":"phone","value":"2","rank":3,"use":"mobile"}]`:                           {Phone: "2"},
		`"telecom":[{"system":"phone","value":"1","rank":3},{"system":"phone","value":"2","rank":2}]`:                                                       {Phone: "2"},
		`"telecom":[{"system":"phone","value":"1","rank":-1},{"system":"phone","value":"2","rank":1}]`:                                                      {Phone: "2"},
		`"telecom":[{"system":"phone","value":"1","use":"home"},{"system":"phone","value":"2","use":"mobile"},{"system":"sms","value":"3","use":"mobile"}]`: {Phone: "2"},
	} {
		want.Line = 1
		require.Equal(t, []importfile.Row{want}, readFrom(t, `{"resourceType":"Patient",`+members+`}`, nil, importfile.Start), members)
	}
}

// Numbers of 8 to 10 digits are CPFs without their leading zeros; others stay as they are.
func TestCPFsOfSpreadsheets(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"1234567": "1234567", "12345678": "00012345678", "1234567890": "01234567890", "12345678901": "12345678901", "123456789012": "123456789012", "12345678a": "12345678a", "1234-5678": "1234-5678",
	} {
		require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", CPF: want}}, readTable(t, "nome;cpf\nAna;"+cell+"\n"))
	}
}

// The separator is what the first line has most of, outside of quotation marks; of equals,
// the first of comma, semicolon, tab and bar.
func TestSeparators(t *testing.T) {
	t.Parallel()
	for head, row := range map[string]string{
		"nome,cpf": "Ana,1", "nome;cpf": "Ana;1", "nome\tcpf": "Ana\t1", "nome|cpf": "Ana|1",
		"nome,cpf,obs;x": "Ana,1,;", "nome;cpf;obs,x": "Ana;1;,", "x;y,nome,cpf": ";,Ana,1", `"a;b;c;d",nome,cpf`: ",Ana,1", "nome;cpf;\"a,b,c,d\"": "Ana;1;",
		"cpf,nome,a|b": "1,Ana,", "nome,a;b": "",
	} {
		if row == "" { // one of each: the comma, so that the column of names is found
			_, _, err := importfile.ReadHeader(strings.NewReader(head+"\n"), thisYear)
			require.NoError(t, err, head)
			continue
		}
		require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", CPF: "1"}}, readTable(t, head+"\n"+row+"\n"), head)
	}
}

// Headings keep letters and digits to the last of them.
func TestHeadingCharacters(t *testing.T) {
	t.Parallel()
	// "whatsapp", "telefone1", "id", and what is none for a z, a 0 or a 9 in it.
	for heading, known := range map[string]bool{"{telefone1}": true, "telefone0": false, "telefone9": false, "telefonez": false, "telefonea": false, "telefone": true, "/telefone:": true} {
		rows := readTable(t, "nome;"+heading+"\nAna;1\n")
		require.Equal(t, known, rows[0].Phone == "1", heading)
	}
}

// Rows with more cells than columns are refused unless what is left over is empty, and an
// apostrophe goes only where it marks a formula.
func TestRowBounds(t *testing.T) {
	t.Parallel()
	rows := readTable(t, "nome;obs\nAna;\nBia;;\nCaio;x;y\n';\n'=Davi;\n'\"Eva\";'\n'＝Gil;\n")
	require.Equal(t, []importfile.Row{
		{Line: 2, Name: "Ana"}, {Line: 3, Name: "Bia"}, {Line: 4, Problem: "has more cells than the first line has columns"}, {Line: 5, Warnings: []string{"name is a placeholder: left out"}}, {Line: 6, Name: "=Davi"}, {Line: 7, Name: `'"Eva"`}, {Line: 8, Name: "＝Gil"},
	}, rows)
	// A line ends where quotation marks are closed, and an escaped one does not close them.
	rows = readTable(t, "nome;obs\n\"a\"\"\";b\n\"\";c\nAna;\"\"\"\"\n\"x\"\"\ny\";\nBia;\"\"")
	require.Equal(t, []importfile.Row{{Line: 2, Name: `a"`}, {Line: 3}, {Line: 4, Name: "Ana"}, {Line: 5, Name: `x" y`}, {Line: 7, Name: "Bia"}}, rows)
}

// An apostrophe before a number is the spreadsheet's, in every column.
func TestNumbersMarkedAsText(t *testing.T) {
	t.Parallel()
	rows := readTable(t, "nome;cpf;nascimento;telefone;codigo\nAna;'52998224725;'02/03/1980;'11987654321;'0017\n")
	require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", CPF: "52998224725", BirthDate: "1980-03-02", Phone: "11987654321", ExternalRef: "0017"}}, rows)
}

// The longest row there is, and one byte more.
func TestLongestRow(t *testing.T) {
	t.Parallel()
	const end = ";x\n"
	for _, ending := range []string{"", "Bia;\n"} {
		longest := strings.Repeat("a", importfile.MaxLine-len(end)) + end
		rows := readTable(t, "nome;obs\n"+longest+ending)
		require.Empty(t, rows[0].Problem)
		require.Len(t, rows[0].Name, importfile.MaxLine-len(end))
		rows = readTable(t, "nome;obs\na"+longest+ending)
		require.Contains(t, rows[0].Problem, "is longer than 65536 bytes")
		require.Empty(t, rows[0].Name)
	}
}
