package importfile_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/importfile"
)

// read reads a whole table.
func read(file []byte, countryCode string) ([]importfile.Column, []importfile.Row, error) {
	reader, err := importfile.NewReader(bytes.NewReader(file), countryCode)
	if err != nil {
		return nil, nil, err
	}
	var rows []importfile.Row
	for {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return reader.Columns(), rows, nil
		}
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	columns, rows, err := read([]byte("\xef\xbb\xbfsep=;\r\nNome Completo;Telefone;E-mail;Cidade\r\n"+
		"Ana \"Aninha\";+55 (11) 98765-4321;ana@example.com;SP\r\n"+
		";;;\r\n"+
		"\"Bia\nLima\";5511987654322;N/A;\r\n"+
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
		{Line: 5, Name: "Bia Lima", Number: "5511987654322", Warning: "email is a placeholder and was left out"},
		{Line: 7, Number: "5511987654323", Warning: "name is a placeholder and was left out; email is no e-mail address and was left out"},
		{Line: 8, Problem: "has a quotation mark that is not closed, or a text behind one that is"},
		{Line: 9, Problem: "number must be digits with country code"},
		{Line: 10, Name: "Eva", Email: "eva@example.com", Problem: "has no number"},
		{Line: 11, Problem: "number must be digits with country code"},
		{Line: 12, Problem: "may be a part of the text above, whose quotation mark is not closed"},
	}, rows)
}

// What a row may say, up to its bounds.
func TestCells(t *testing.T) {
	t.Parallel()
	const number = "5511987654321"
	local := strings.Repeat("a", 254-len("@example.com"))
	for line, want := range map[string]importfile.Row{
		"Ana;" + number + ";" + local + "@example.com":  {Name: "Ana", Number: number, Email: local + "@example.com"},
		"Ana;" + number + ";" + local + "a@example.com": {Name: "Ana", Number: number, Warning: "email is no e-mail address and was left out"},
		"Ana;" + number + ";@example.com":               {Name: "Ana", Number: number, Warning: "email is no e-mail address and was left out"},
		"Ana;" + number + ";a@b@example.com":            {Name: "Ana", Number: number, Warning: "email is no e-mail address and was left out"},
		"Ana;" + number + ";a@.example.":                {Name: "Ana", Number: number, Warning: "email is no e-mail address and was left out"},
		"X;" + number + ";":                             {Number: number, Warning: "name is a placeholder and was left out"},
		"'-;" + number + ";null":                        {Number: number, Warning: "name is a placeholder and was left out; email is a placeholder and was left out"},
		"Ana;" + number + "; ; ;":                       {Name: "Ana", Number: number},
		"Ana;" + number + ";;x":                         {Name: "Ana", Number: number, Problem: "has more cells than the first line has columns"},
		"A\x01na;" + number + ";":                       {Problem: "has characters that are no text"},
		"A\uFFFDna;" + number + ";":                     {Problem: "has characters that are no text"},
		strings.Repeat("é", 120) + ";" + number + ";":   {Name: strings.Repeat("é", 120), Number: number},
		"Ana;99999999;":                                 {Problem: "number must be digits with country code"},
		"\"\nAna\";" + number + ";":                     {Name: "Ana", Number: number},
	} {
		_, rows, err := read([]byte("nome;telefone;email\n"+line+"\n"), "")
		require.NoError(t, err)
		want.Line = 2
		require.Equal(t, []importfile.Row{want}, rows, "%q", line)
	}
	_, rows, err := read([]byte("telefone\n\"\n\"\n"+number), "")
	require.NoError(t, err)
	require.Equal(t, []importfile.Row{{Line: 4, Number: number}}, rows, "a row of blank lines is none")
	_, rows, err = read([]byte("nome;contato;celular;telefone\n-;Ana;-;"+number+"\nBia;x;"+number+";N/A\n"), "")
	require.NoError(t, err)
	require.Equal(t, []importfile.Row{{Line: 2, Name: "Ana", Number: number}, {Line: 3, Name: "Bia", Number: number}}, rows, "another column says it")
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
		_, rows, err := read([]byte(file), "")
		require.NoError(t, err, name)
		require.Equal(t, []importfile.Row{{Line: 2, Name: "João", Number: "5511987654321"}}, rows, name)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]error{
		"":                                importfile.ErrEmpty,
		"name,email\nAna,a@example.com\n": importfile.ErrNoNumber,
		"5511987654321\n":                 importfile.ErrNoNumber,
		"PK\x03\x04":                      importfile.ErrNoCSV,
		"%PDF-1.4":                        importfile.ErrNoCSV,
		"<html>":                          importfile.ErrNoCSV,
		"number\n5511\x00":                importfile.ErrNoCSV,
		"number\n\x005511":                importfile.ErrNoCSV,
		strings.Repeat("x", 256<<10) + ";number\n5511987654321\n": importfile.ErrNoNumber, // behind 256 KiB
		strings.Repeat("x;", 500) + "number\n":                    importfile.ErrManyColumns,
	} {
		_, _, err := read([]byte(file), "")
		require.ErrorIs(t, err, want, "%q", file)
	}
}

// Lines without quotation marks are split as a CSV reader splits them.
func TestUnquotedLines(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{",", ";", "\t"} {
		text := strings.NewReplacer("|", separator).Replace("nome|número|email|note\nAna|5511987654321|ana@example.com|\n Bia |5511987654322||x\r\n|5511987654323\n\"Eva\"|5511987654324||\n")
		_, rows, err := read([]byte(text), "")
		require.NoError(t, err)
		require.Equal(t, []importfile.Row{
			{Line: 2, Name: "Ana", Number: "5511987654321", Email: "ana@example.com"}, {Line: 3, Name: "Bia", Number: "5511987654322"},
			{Line: 4, Number: "5511987654323"}, {Line: 5, Name: "Eva", Number: "5511987654324"},
		}, rows, "%q", separator)
	}
}

// Lines that are too long, or a quotation mark that is not closed, spoil their own line only.
func TestLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	_, rows, err := read([]byte("name;number\n"+long+";5511987654321\n"+strings.Repeat(";", 1<<20)+"\nAna;5511987654322\n\"Bia\n"+long[:1<<19]+"\";5511987654323\n\""+long+";5511987654321\nCaio;5511987654324\n"), "")
	require.NoError(t, err)
	const tooLong, notClosed = "is longer than 16384 bytes", "has a quotation mark that is not closed, or a text behind one that is"
	require.Equal(t, []importfile.Row{
		{Line: 2, Problem: tooLong}, {Line: 3, Problem: tooLong}, {Line: 4, Name: "Ana", Number: "5511987654322"}, {Line: 5, Problem: tooLong}, {Line: 7, Problem: notClosed},
		{Line: 8, Name: "Caio", Number: "5511987654324"},
	}, rows)
}

// A row has at most 16 KiB, with the end of its line.
func TestLongestRows(t *testing.T) {
	t.Parallel()
	const number, limit = "5511987654321", 16<<10 - 1
	cell := func(length int) string { return strings.Repeat("x", length-len(";"+number)) + ";" + number }
	for text, want := range map[string][]importfile.Row{
		cell(limit):     {{Line: 2, Name: strings.Repeat("x", 120), Number: number, Warning: "name is longer than 120 characters and was cut"}},
		cell(limit + 1): {{Line: 2, Problem: "is longer than 16384 bytes"}},
		`"Ana` + strings.Repeat("\n", 99) + `";` + number: {{Line: 2, Name: "Ana", Number: number}},
	} {
		_, rows, err := read([]byte("name;number\n"+text+"\n"), "")
		require.NoError(t, err)
		require.Equal(t, want, rows, "%.20q", text)
	}
}

// What identifies a contact goes over no lines: the mark was closed in the row of another.
func TestLineBreaksInCells(t *testing.T) {
	t.Parallel()
	_, rows, err := read([]byte("nome;telefone;email\nAna;\"5511987654321\nBruno;5511987654322\";b@example.com\n\"Caio;5511987654323\nDora\";5511987654324;d@example.com\nEva;\"5511987654325\n\";\n"), "")
	require.NoError(t, err)
	require.Equal(t, []importfile.Row{
		{Line: 2, Problem: "number has a line break: check the quotation marks"},
		{Line: 4, Problem: "name has a line break: check the quotation marks"},
		{Line: 6, Name: "Eva", Number: "5511987654325"},
	}, rows)
}

// A quotation mark inside a cell is text: rows do not vanish between two of them.
func TestMarksInsideCells(t *testing.T) {
	t.Parallel()
	_, rows, err := read([]byte("nome;telefone;obs\nBia;5511987654322;tv 32\"\nCaio \"C\";5511987654323;x\nDora \"D;5511987654324;x\nEva;5511987654325;tv 40\"\n"), "")
	require.NoError(t, err)
	require.Equal(t, []importfile.Row{
		{Line: 2, Name: "Bia", Number: "5511987654322"}, {Line: 3, Name: `Caio "C"`, Number: "5511987654323"}, {Line: 4, Name: `Dora "D`, Number: "5511987654324"}, {Line: 5, Name: "Eva", Number: "5511987654325"},
	}, rows)
}

// A long file takes no more memory than a short one: this one would take four megabytes.
// It runs alone: what other tests hold would count.
func TestMemoryOfRows(t *testing.T) { //nolint:paralleltest // see above
	const lines = 300_000
	file, err := os.Create(filepath.Join(t.TempDir(), "contacts.csv"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	out := bufio.NewWriter(file)
	_, _ = out.WriteString("number\n")
	for i := range lines {
		_, _ = out.WriteString("5511" + strconv.Itoa(900_000_000+i) + "\n")
	}
	require.NoError(t, out.Flush())
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	_, err = file.Seek(0, io.SeekStart)
	require.NoError(t, err)
	before, peak := heap(), uint64(0)
	reader, err := importfile.NewReader(file, "")
	require.NoError(t, err)
	count := 0
	for ; ; count++ {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || row.Problem != "" { // a call of require for each row takes longer than reading it
			require.Fail(t, "a row is not read", "%v %+v", err, row)
		}
		if count%30_000 == 0 {
			peak = max(peak, heap())
		}
	}
	require.Equal(t, lines, count)
	t.Logf("%d KiB more than before", (int64(peak)-int64(before))>>10)
	require.Less(t, int64(peak)-int64(before), int64(2<<20), "a reader looks ahead by 1 MiB")
}
