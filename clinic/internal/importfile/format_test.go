package importfile_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/importfile"
	"integrationhub/hub/module/table"
)

// Files of other formats are recognized by their first bytes.
func TestCheckFormat(t *testing.T) {
	t.Parallel()
	const patient = `{"resourceType":"Patient"}`
	for _, file := range []struct {
		text        string
		csv, ndjson error
	}{
		{"nome;telefone\nAna;1\n", nil, importfile.ErrNotNDJSON},
		{"a", nil, importfile.ErrNotNDJSON},
		{strings.Repeat("nome;", 2000), nil, importfile.ErrNotNDJSON},
		{"\xef\xbb\xbfnome\n", nil, importfile.ErrNotNDJSON},
		{"Jos\xe9;1\n", nil, importfile.ErrNotNDJSON},
		{"\xff\xfen\x00o\x00", nil, importfile.ErrNotNDJSON},
		{patient, importfile.ErrJSON, nil},
		{" \r\n" + patient + "\n" + patient + "\n", importfile.ErrJSON, nil},
		{"\xef\xbb\xbf" + patient + "\n", importfile.ErrJSON, nil},
		{"{", importfile.ErrJSON, nil}, // its only line: a row says what is wrong
		{"{\n  \"resourceType\": \"Patient\"\n}\n", importfile.ErrJSON, importfile.ErrIndented},
		{"{:\n", importfile.ErrJSON, nil},
		{":{\n", nil, importfile.ErrNotNDJSON},
		{"[" + patient + "]", importfile.ErrJSON, importfile.ErrArray},
		{"<html>", importfile.ErrMarkup, importfile.ErrMarkup},
		{"\n <?xml version='1.0'?>", importfile.ErrMarkup, importfile.ErrMarkup},
		{"", importfile.ErrEmpty, importfile.ErrEmpty},
		{" \r\n\t", importfile.ErrEmpty, importfile.ErrEmpty},
		{"\xef\xbb\xbf", importfile.ErrEmpty, importfile.ErrEmpty},
		{"PK\x03\x04 and more", importfile.ErrWorkbook, importfile.ErrWorkbook},
		{"PK\x05\x06", importfile.ErrWorkbook, importfile.ErrWorkbook},
		{"\xd0\xcf\x11\xe0", importfile.ErrWorkbook, importfile.ErrWorkbook},
		{"\x1f\x8b", importfile.ErrWorkbook, importfile.ErrWorkbook},
		{"Rar!", importfile.ErrWorkbook, importfile.ErrWorkbook},
		{"7z\xbc\xaf", importfile.ErrWorkbook, importfile.ErrWorkbook},
		{"%PDF-1.7", importfile.ErrPDF, importfile.ErrPDF},
		{"\x00nome", importfile.ErrBinary, importfile.ErrBinary},
		{"nome\x00", importfile.ErrBinary, importfile.ErrBinary},
		{"PK is a name", nil, importfile.ErrNotNDJSON},
	} {
		require.Equal(t, file.csv, importfile.CheckFormat(strings.NewReader(file.text), importfile.CSV), "%q", file.text)
		require.Equal(t, file.ndjson, importfile.CheckFormat(strings.NewReader(file.text), importfile.NDJSON), "%q", file.text)
	}
}

// brokenFile is a file of which seeks or reads fail from one of them on.
type brokenFile struct {
	io.ReadSeeker
	seeks, reads int // how many of them work
}

var errDisk = errors.New("the disk is broken")

// Seek implements io.Seeker.
func (f *brokenFile) Seek(offset int64, whence int) (int64, error) {
	if f.seeks--; f.seeks < 0 {
		return 0, errDisk
	}
	return f.ReadSeeker.Seek(offset, whence)
}

// Read implements io.Reader.
func (f *brokenFile) Read(p []byte) (int, error) {
	if f.reads--; f.reads < 0 {
		return 0, errDisk
	}
	return f.ReadSeeker.Read(p[:min(len(p), 512)])
}

// A file that cannot be read is not reported as one of a wrong format, wherever reading fails.
func TestReadErrorIsNoFormatError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"UTF-8": strings.Repeat("nome;", 500), "Windows-1252": strings.Repeat("n\xe9;", 500), "UTF-16": "\xff\xfe" + strings.Repeat("n\x00;\x00", 500),
	} {
		check := func(seeks, reads int) error {
			return importfile.CheckFormat(&brokenFile{strings.NewReader(text), seeks, reads}, importfile.CSV)
		}
		const enough = 1000
		require.NoError(t, check(enough, enough), name)
		var n int
		for n = 0; check(n, enough) != nil; n++ {
			require.ErrorIs(t, check(n, enough), errDisk, "%s, seek %d", name, n)
		}
		require.Positive(t, n)
		for n = 0; n < 6; n++ {
			if err := check(enough, n); err != nil {
				require.ErrorIs(t, err, errDisk, "%s, read %d", name, n)
			}
		}
		require.ErrorIs(t, check(enough, 0), errDisk)
		require.ErrorIs(t, check(enough, 1), errDisk)
		require.ErrorIs(t, check(enough, 2), errDisk)
	}
	r := importfile.NewReader(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("nome\nAna\n"))), importfile.Start, nil)
	_, err := r.Next()
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

// A read error is not taken for the end of the file.
func TestReadErrorIsNoEnd(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Windows-1252": strings.Repeat("n\xe9;", 5000), "UTF-16": "\xff\xfe" + strings.Repeat("n\x00;\x00", 5000), "pairs of UTF-16": "\xff\xfe" + strings.Repeat("\x34\xd8\x1e\xdd", 5000),
	} {
		for reads := 1; reads <= 40; reads++ {
			in, err := table.Text(&brokenFile{strings.NewReader(text), 1000, reads})
			if err == nil {
				_, err = io.Copy(io.Discard, in)
			}
			if !errors.Is(err, errDisk) {
				require.NoError(t, err)
				require.Greater(t, reads*512, len(text), "%s ends after %d reads", name, reads)
			}
		}
	}
	// A pair that is cut at the end of the file is one unreadable character.
	in, err := table.Text(strings.NewReader("\xff\xfea\x00\x34\xd8"))
	require.NoError(t, err)
	got, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Equal(t, "a\ufffd", string(got))
}
