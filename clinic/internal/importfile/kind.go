package importfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// UnfitError is why a file cannot be read as what it was sent as, for people: it says
// what to do.
type UnfitError string

// Error implements error.
func (e UnfitError) Error() string { return string(e) }

// What is wrong with files.
const (
	ErrEmpty     = UnfitError("is empty")
	ErrWorkbook  = UnfitError("is a spreadsheet's own file or an archive: save the sheet as CSV and send that")
	ErrPDF       = UnfitError("is a PDF, which has no columns to read: export the patients as CSV and send that")
	ErrMarkup    = UnfitError("is HTML or XML, whatever its name says: open it in a spreadsheet, save it as CSV and send that")
	ErrBinary    = UnfitError("is no text: save it as CSV, or as FHIR R4 in JSON with one resource on each line, and send that")
	ErrJSON      = UnfitError("is JSON, not a table: FHIR patients are sent with the format fhir-ndjson")
	ErrNotNDJSON = UnfitError("must have one FHIR resource in JSON on each line")
	ErrArray     = UnfitError("is one JSON array: write its patients one on each line, without the brackets and commas around them")
	ErrIndented  = UnfitError("has JSON that goes over several lines: write each resource on one line")
	ErrNoHead    = UnfitError("must name its columns in the first line, such as nome;telefone;email;cpf;nascimento")
	ErrNoName    = UnfitError("must have a column called name (or nome): its first line has to name the columns, such as nome;telefone;email;cpf;nascimento")
)

// foreign are the first bytes of files that people take for tables.
var foreign = []struct {
	begin string
	err   UnfitError
}{
	{"PK\x03\x04", ErrWorkbook}, {"PK\x05\x06", ErrWorkbook}, // XLSX, ODS, ZIP
	{"\xd0\xcf\x11\xe0", ErrWorkbook}, // XLS
	{"\x1f\x8b", ErrWorkbook},         // gzip
	{"Rar!", ErrWorkbook}, {"7z\xbc\xaf", ErrWorkbook},
	{"%PDF-", ErrPDF},
}

// sniffed is how much of a file is looked at to tell what it is.
const sniffed = 4 << 10

// Recognize refuses a file that cannot be of a format with an [UnfitError]; other errors
// are those of the file.
func Recognize(file io.ReadSeeker, format Format) error {
	raw, err := at(file, 0)
	if err != nil {
		return err
	}
	begin, err := raw.Peek(longestBegin)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the file: %w", err)
	}
	for _, one := range foreign {
		if bytes.HasPrefix(begin, []byte(one.begin)) {
			return one.err
		}
	}
	text, err := Text(file)
	if err != nil {
		return err
	}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(text, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading the file: %w", err)
	}
	return recognize(head[:n], format)
}

// longestBegin is as long as the longest of [foreign].
const longestBegin = 5

// recognize looks at how a text begins.
func recognize(head []byte, format Format) error {
	if bytes.IndexByte(head, 0) >= 0 {
		return ErrBinary
	}
	head = bytes.TrimSpace(head)
	if len(head) == 0 {
		return ErrEmpty
	}
	first := head[0]
	line, _, several := bytes.Cut(head, []byte("\n"))
	line = bytes.TrimSpace(line)
	switch {
	case first == '<':
		return ErrMarkup
	case format == CSV && (first == '{' || first == '['):
		return ErrJSON
	case format == CSV:
		return nil
	case first == '[':
		return ErrArray
	case first != '{':
		return ErrNotNDJSON
	case several && bytes.IndexByte(line, ':') < 0: // not a field in it yet
		return ErrIndented
	}
	return nil
}
