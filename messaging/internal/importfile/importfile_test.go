package importfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/importfile"
)

func TestRead(t *testing.T) {
	t.Parallel()
	columns, rows, err := importfile.Read([]byte("\xef\xbb\xbfsep=;\r\nNome Completo;Telefone;E-mail;Cidade\r\n"+
		"Ana \"Aninha\";+55 (11) 98765-4321;ana@example.com;SP\r\n"+
		";;;\r\n"+
		"\"Bia;\nLima\";5511987654322;N/A;\r\n"+
		"-;11 98765-4323;bia@;\r\n"+
		"\"Caio;5511987654324;;\r\n"+
		"Davi;0000000000;;\r\n"+
		"Eva;;eva@example.com;\r\n"+
		"Fay;5,51E+12;;\r\n"+
		"Gil;5511987654325;;;;x\r\n"), "55")
	require.NoError(t, err)
	require.Equal(t, []importfile.Column{{Heading: "Nome Completo", Field: "name"}, {Heading: "Telefone", Field: "number"}, {Heading: "E-mail", Field: "email"}, {Heading: "Cidade"}}, columns)
	require.Equal(t, []importfile.Row{
		{Line: 3, Name: `Ana "Aninha"`, Number: "5511987654321", Email: "ana@example.com"},
		{Line: 5, Name: "Bia; Lima", Number: "5511987654322"},
		{Line: 7, Number: "5511987654323", Warning: "email is no e-mail address and was left out"},
		{Line: 8, Problem: "has a quotation mark that is not closed"},
		{Line: 9, Problem: "number must be digits with country code"},
		{Line: 10, Name: "Eva", Email: "eva@example.com", Problem: "has no number"},
		{Line: 11, Problem: "number must be digits with country code"},
		{Line: 12, Name: "Gil", Number: "5511987654325", Problem: "has more cells than the first line has columns"},
	}, rows)
}

func TestCharacterSets(t *testing.T) {
	t.Parallel()
	utf16 := "\xff\xfe"
	for _, b := range []byte("nome,n\xfamero\nJo\xe3o,5511987654321") { // Latin-1 with a zero behind each byte
		utf16 += string([]byte{b, 0})
	}
	for name, file := range map[string]string{
		"UTF-8":        "nome,número\nJoão,5511987654321\n",
		"Windows-1252": "nome,n\xfamero\nJo\xe3o,5511987654321\n",
		"UTF-16":       utf16,
	} {
		_, rows, err := importfile.Read([]byte(file), "")
		require.NoError(t, err, name)
		require.Equal(t, []importfile.Row{{Line: 2, Name: "João", Number: "5511987654321"}}, rows, name)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]error{
		"":                                importfile.ErrEmpty,
		"name,number\n":                   importfile.ErrEmpty,
		"name,email\nAna,a@example.com\n": importfile.ErrNoNumber,
		"5511987654321\n":                 importfile.ErrNoNumber,
		"PK\x03\x04":                      importfile.ErrNoCSV,
		"%PDF-1.4":                        importfile.ErrNoCSV,
		"<html>":                          importfile.ErrNoCSV,
		"number\n5511\x00":                importfile.ErrNoCSV,
	} {
		_, _, err := importfile.Read([]byte(file), "")
		require.ErrorIs(t, err, want, "%q", file)
	}
}

// Lines without quotation marks are split as a CSV reader splits them.
func TestUnquotedLines(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{",", ";", "\t"} {
		text := strings.NewReplacer("|", separator).Replace("nome|número|email|note\nAna|5511987654321|ana@example.com|\n Bia |5511987654322||x\r\n|5511987654323\n\"Eva\"|5511987654324||\n")
		_, rows, err := importfile.Read([]byte(text), "")
		require.NoError(t, err)
		require.Equal(t, []importfile.Row{
			{Line: 2, Name: "Ana", Number: "5511987654321", Email: "ana@example.com"}, {Line: 3, Name: "Bia", Number: "5511987654322"},
			{Line: 4, Number: "5511987654323"}, {Line: 5, Name: "Eva", Number: "5511987654324"},
		}, rows, "%q", separator)
	}
}

// A row of a large file takes little memory: a file may have a million.
func TestMemoryOfRows(t *testing.T) {
	t.Parallel()
	file := []byte("name,number\n" + strings.Repeat("Ana,5511987654321\n", 20_000))
	measured := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			_, rows, err := importfile.Read(file, "")
			require.NoError(b, err)
			require.Len(b, rows, 20_000)
		}
	})
	perRow := measured.AllocedBytesPerOp() / 20_000
	t.Logf("%d bytes a row", perRow)
	require.Less(t, perRow, int64(2000))
}
