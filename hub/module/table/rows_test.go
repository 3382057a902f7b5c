package table_test

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/table"
)

// readRows reads all rows behind the first line, and each once more from where it begins.
func readRows(t testing.TB, text string) (rows []table.Row) {
	t.Helper()
	header, _, _ := strings.Cut(text, "\n")
	headings, separator := table.SplitHeader(header)
	position := table.Position{Offset: int64(len(header) + 1), Line: 2}
	open := func(in io.Reader, at table.Position) *table.Rows {
		return table.NewRows(in, at, separator, len(headings), 64<<10)
	}
	reader := open(iotest.HalfReader(strings.NewReader(text[position.Offset:])), position)
	for {
		row, err := reader.Next()
		if len(rows) < 10 {
			again, errAgain := open(strings.NewReader(text[position.Offset:]), position).Next()
			require.Equal(t, row, again, "going on at %v", position)
			require.Equal(t, err, errAgain)
		}
		if errors.Is(err, io.EOF) {
			return rows
		}
		require.NoError(t, err)
		rows, position = append(rows, row), reader.Position()
	}
}

// said returns rows for comparison: the line, and the cells or what is wrong.
func said(rows []table.Row) (texts []string) {
	for _, row := range rows {
		text := strings.Join(row.Cells, "|")
		if row.Problem != "" {
			text = "! " + strings.Fields(row.Problem)[0] + " " + strings.Fields(row.Problem)[1]
		}
		texts = append(texts, fmt.Sprintf("%d %s", row.Line, text))
	}
	return texts
}

// A stray quotation mark never makes one row of several people.
func TestStrayQuotationMarks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		// The mark is closed in a row below, and a text follows it.
		"nome;obs;telefone\nAna;\"nota;1\nBia;ok;2\nCaio;\"outra\";3\nDora;x;4\n": {"2 ! has a", "3 Bia|ok|2", "4 Caio|outra|3", "5 Dora|x|4"},
		"nome;telefone\n\"Ana;1\nBia;2\n\"Caio\";3\nDora;4\n":                     {"2 ! has a", "3 Bia|2", "4 Caio|3", "5 Dora|4"},
		"nome;obs;telefone\nAna;\" ;1\nBia;ok;2\nCaio;\" ;3\n":                    {"2 ! has a", "3 Bia|ok|2", "4 ! has a"},
		"nome,obs,telefone\r\nAna,\"x,1\r\nBia,ok,2\r\nCaio,\"y\",3\r\n":          {"2 ! has a", "3 Bia|ok|2", "4 Caio|y|3"},
		// Two stray marks close each other.
		"nome;obs;telefone\nDora;\";1\nEva;\";2\nFay;x;3\n": {"2 ! to line", "4 Fay|x|3"},
		// It is never closed: rows count where they are whole.
		"nome;obs;telefone\nAna;\"nota;1\nBia;ok;2\nand a note\nCaio;3\nDora;tv 32\";4\nEva;;5":        {"2 ! to line", "7 Eva||5"},
		"nome;obs;telefone\nAna;\"nota;1\nBia;ok;2\nand a note\nCaio;3\nDora;tv 32\" x;4\nEva;y\" z;5": {"2 ! has a", "3 Bia|ok|2", "4 ! may be", "5 ! may be", "6 ! may be", "7 Eva|y\" z|5"},
		"nome;obs;telefone\nAna;\"nota;1\nBia;ok;2\nand a note\nCaio;3\nDora;tv 32;4\nEva;;5":          {"2 ! has a", "3 Bia|ok|2", "4 ! may be", "5 ! may be", "6 Dora|tv 32|4", "7 Eva||5"},
		"nome\n\"Ana\nBia\n": {"2 ! has a", "3 Bia"},
		// A text behind the mark in its own line spoils no other.
		"nome;obs;telefone\nAna;\"a\"b;1\nBia;2\n": {"2 ! has a", "3 Bia|2"},
		// What is well-formed stays so.
		"nome;obs;telefone\nAna;\"a \"\"b\"\";\nc\";1\nBia \"B\";tv 32\";2\nCaio;\"\"\n\"\";;\n;\n\"\n\";\nDora": {"2 Ana|a \"b\";\nc|1", "4 Bia \"B\"|tv 32\"|2", "5 Caio|", "10 Dora"},
	} {
		require.Equal(t, want, said(readRows(t, text)), text)
	}
}

// However the marks of a file are set, reading it takes time by its length: these rows never
// end, and each text is closed and opened again by the next line.
func TestRowsThatNeverEnd(t *testing.T) {
	t.Parallel()
	file := "name;number\n" + strings.Repeat("a\";\"\"\"b\n", 400_000)
	rows := table.NewRows(strings.NewReader(file[len("name;number\n"):]), table.Position{Line: 2}, ';', 2, 16<<10)
	start, count := time.Now(), 0
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || row.Problem == "" { // a call of require for each row takes longer than reading it
			require.Fail(t, "a row is read", "%v %+v", err, row)
		}
		count++
	}
	require.Equal(t, 400_000, count)
	require.Less(t, time.Since(start), time.Minute, "a thousandth of what a search from each row takes")
	_, _, err := table.ReadHeaderLine(newReader("\""+strings.Repeat("\n", 200_000)), table.Start, 256<<10)
	require.ErrorIs(t, err, table.ErrEndlessHeader)
}

// A text of many lines is one cell, however long: beyond the limit its row is refused, and no
// line of it becomes a row.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	const end = "\nBia;2;x\n"
	note := strings.Repeat("Consulta: paciente refere dor\n", 2000)
	require.Equal(t, []string{"2 Ana|1|" + note, "2003 Bia|2|x"}, said(readRows(t, "nome;telefone;obs\nAna;1;\""+note+"\""+end))[:2])
	long := strings.Repeat(note, 10)
	require.Equal(t, []string{"2 ! is longer", "20003 Bia|2|x"}, said(readRows(t, "nome;telefone;obs\nAna;1;\""+long+"\""+end)))
	// One without an end in sight: its lines are refused as they are no whole rows.
	endless := readRows(t, "nome;telefone;obs\nAna;1;\""+strings.Repeat(note, 20)+"\""+end)
	require.Equal(t, "2 ! has a", said(endless)[0])
	for _, row := range endless[1 : len(endless)-1] {
		require.NotEmpty(t, row.Problem)
	}
	require.Equal(t, []string{"Bia", "2", "x"}, endless[len(endless)-1].Cells)
	line := strings.Repeat("x", 2<<20)
	require.Equal(t, []string{"2 ! is longer", "3 Bia|2|x"}, said(readRows(t, "nome;telefone;obs\n"+line+end)))
}

// What a spreadsheet writes is read as it was, whatever the cells hold.
func TestWrittenTables(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", `"`, ";", "\n", " ", "é", `""`, ";;", "x\ny"}
	for range 500 {
		var file strings.Builder
		writer := csv.NewWriter(&file)
		writer.Comma = ';'
		var want [][]string
		for range 1 + random.IntN(5) {
			cells := []string{"row", "", "", ""}
			for i := range cells {
				for range random.IntN(4) {
					cells[i] += pieces[random.IntN(len(pieces))]
				}
			}
			want = append(want, cells)
			require.NoError(t, writer.Write(cells))
		}
		writer.Flush()
		rows := readRows(t, "a;b;c;d\n"+file.String())
		require.Len(t, rows, len(want), file.String())
		for i, row := range rows {
			if row.Problem == "" {
				require.Equal(t, want[i], row.Cells, file.String())
			} else {
				require.Contains(t, row.Problem, "looks like several rows", file.String())
			}
		}
	}
}

// Whatever a file holds, reading ends, and goes on from anywhere.
func FuzzRows(f *testing.F) {
	f.Add("a;b\n\"1\n2\";x\n")
	f.Add("a\n\"\"\"\n\"x\"\"\n")
	f.Add("a,b\r\n\"\r\n5\"\"\",\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 4096)]
		if strings.Contains(text, "\n") {
			readRows(t, text)
		}
	})
}

// The headings end with their line, unless that is within quotation marks.
func TestHeaderLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a;b\nc\n": "a;b\n", "a;\"b\nc\";d\r\nx": "a;\"b\nc\";d\r\n", "a;b 2\";c\nx\"\n": "a;b 2\";c\n", "a": "a", "\"a\"": "\"a\"",
	} {
		line, next, err := table.ReadHeaderLine(newReader(text), table.Start, 100)
		require.NoError(t, err, text)
		require.Equal(t, want, line)
		require.Equal(t, table.Position{Offset: int64(len(want)), Line: 1 + strings.Count(want, "\n")}, next)
	}
	for text, want := range map[string]error{"": io.EOF, "a;\"b": table.ErrEndlessHeader, strings.Repeat("a", 101) + "\n": table.ErrEndlessHeader} {
		_, _, err := table.ReadHeaderLine(newReader(text), table.Start, 100)
		require.ErrorIs(t, err, want, text)
	}
	headings, separator := table.SplitHeader("a;\"b;\"\"c\"\n")
	require.Equal(t, []string{"a", `b;"c`}, headings)
	require.Equal(t, byte(';'), separator)
}

func newReader(text string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(text), 16) }
