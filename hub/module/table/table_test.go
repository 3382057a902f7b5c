package table_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/table"
)

func TestCharsets(t *testing.T) {
	t.Parallel()
	const text = "nome;obs\nJosé Conceição;€ “x” 𝄞\n"
	wide := func(mark string, high, low int) string {
		b := []byte(mark)
		for _, unit := range utf16.Encode([]rune(text)) {
			pair := [2]byte{byte(unit >> 8), byte(unit)}
			b = append(b, pair[high], pair[low])
		}
		return string(b)
	}
	for name, entry := range map[string][2]string{
		"UTF-8":           {text, text},
		"with a mark":     {"\xef\xbb\xbf" + text, text},
		"little":          {wide("\xff\xfe", 1, 0), text},
		"big":             {wide("\xfe\xff", 0, 1), text},
		"little, no mark": {wide("", 1, 0), text},
		"big, no mark":    {wide("", 0, 1), text},
		"long":            {strings.Repeat(text, 40), strings.Repeat(text, 40)},
		"Latin-1":         {"nome\nJos\xe9 Concei\xe7\xe3o\n", "nome\nJosé Conceição\n"},
		"Windows-1252":    {"\x80 \x93x\x94 \xe9", "€ “x” é"},
		"Macintosh":       {"nome;obs\rAna;\"a\rb\"\r\rBia;\r", "nome;obs\nAna;\"a\nb\"\n\nBia;\n"},
		"Windows":         {"nome\r\nAna\r\n\r\n", "nome\r\nAna\r\n\r\n"},
		"mixed":           {"nome\nAna\rBia\r\n\r\r\n", "nome\nAna\nBia\r\n\n\r\n"},
		"wide Macintosh":  {"\xff\xfea\x00\r\x00b\x00\r\x00\n\x00", "a\nb\r\n"},
		"cut":             {wide("\xff\xfe", 1, 0) + "x", text},
		"short":           {"a", "a"},
		"nothing":         {"", ""},
	} {
		file := strings.NewReader(entry[0])
		for range 2 { // a file is read several times
			in, err := table.Text(file)
			require.NoError(t, err)
			got, err := io.ReadAll(iotest.OneByteReader(in))
			require.NoError(t, err, name)
			require.Equal(t, entry[1], string(got), name)
		}
	}
}

// A file that cannot be read is an error, not an empty text.
func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is broken")
	_, err := table.Text(struct {
		io.Reader
		io.Seeker
	}{iotest.ErrReader(broken), strings.NewReader("")})
	require.ErrorIs(t, err, broken)
}

// Bytes 0x80 to 0x9F are Windows-1252, those above are Latin-1; what fits into no read is
// given to the next.
func TestWindows1252Bounds(t *testing.T) {
	t.Parallel()
	in, err := table.Text(strings.NewReader("\x7f\x80\x82\x9e\x9f\xa0\xff"))
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "\x7f€‚žŸ\u00a0ÿ", string(text))
}

func TestSeparator(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]byte{
		"nome;telefone;email": ';', "nome,telefone": ',', "nome\ttelefone": '\t', "nome|telefone": '|', "nome": ',', "": ',',
		`nome;"telefone, celular, casa";email`: ';', "a;b,c": ',',
	} {
		require.Equal(t, string(want), string(table.Separator(header)), header)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	require.Equal(t, "nao informado, acoes, 李", table.Fold("NÃO Informado, Ações, 李"))
}

// A broken character does not change how all others are read.
func TestBrokenCharacters(t *testing.T) {
	t.Parallel()
	const names = "nome\nJoão Conceição\nZoë\n"
	for file, want := range map[string]string{
		names + "Caf\xe9 Lima\n":                 names + "Caf\ufffd Lima\n",
		names + "cut \xc3":                       names + "cut \ufffd",
		"\xef\xbb\xbfnome\nJos\xe9 Caf\xe9\n":    "nome\nJos\ufffd Caf\ufffd\n",
		"nome\nJo\xe3o Concei\xe7\xe3o Zo\xeb é": "nome\nJoão Conceição Zoë Ã©",
		"nome\nJos\xe9\n":                        "nome\nJosé\n",
	} {
		in, err := table.Text(strings.NewReader(file))
		require.NoError(t, err)
		got, err := io.ReadAll(in)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}
