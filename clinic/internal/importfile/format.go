package importfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"integrationhub/hub/module/table"
)

// FormatError says why a file cannot be read as its format, and what to do, for users.
type FormatError string

// Error implements error.
func (e FormatError) Error() string { return string(e) }

// What can be wrong with a file.
const (
	ErrEmpty        = FormatError("is empty")
	ErrWorkbook     = FormatError("is a spreadsheet's own file or an archive: save the sheet as CSV and send that")
	ErrPDF          = FormatError("is a PDF, which has no columns to read: export the patients as CSV and send that")
	ErrMarkup       = FormatError("is HTML or XML, whatever its name says: open it in a spreadsheet, save it as CSV and send that")
	ErrBinary       = FormatError("is no text: save it as CSV, or as FHIR R4 in JSON with one resource on each line, and send that")
	ErrJSON         = FormatError("is JSON, not a table: FHIR patients are sent with the format fhir-ndjson")
	ErrNotNDJSON    = FormatError("must have one FHIR resource in JSON on each line")
	ErrArray        = FormatError("is one JSON array: write its patients one on each line, without the brackets and commas around them")
	ErrIndented     = FormatError("has JSON that goes over several lines: write each resource on one line")
	ErrNoHeader     = FormatError("must name its columns in the first line, such as nome;telefone;email;cpf;nascimento")
	ErrManyColumns  = FormatError("must have at most 500 columns: send those that describe patients")
	ErrNoNameColumn = FormatError("must have a column called name (or nome): its first line has to name the columns, such as nome;telefone;email;cpf;nascimento")
)

// signatures are the first bytes of files that users mistake for tables.
var signatures = []struct {
	prefix string
	err    FormatError
}{
	{"PK\x03\x04", ErrWorkbook}, {"PK\x05\x06", ErrWorkbook}, // XLSX, ODS, ZIP
	{"\xd0\xcf\x11\xe0", ErrWorkbook}, // XLS
	{"\x1f\x8b", ErrWorkbook},         // gzip
	{"Rar!", ErrWorkbook}, {"7z\xbc\xaf", ErrWorkbook},
	{"%PDF-", ErrPDF},
}

const (
	maxSignature = 5       // the length of the longest signature
	headSize     = 4 << 10 // how many bytes of the text are examined
)

// CheckFormat returns a [FormatError] for a file that cannot have a format. Other errors
// are those of reading the file.
func CheckFormat(file io.ReadSeeker, format Format) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the file: %w", err)
	}
	prefix, err := bufio.NewReader(file).Peek(maxSignature)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the file: %w", err)
	}
	for _, signature := range signatures {
		if bytes.HasPrefix(prefix, []byte(signature.prefix)) {
			return signature.err
		}
	}
	text, err := table.Text(file)
	if err != nil {
		return err
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(text, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading the file: %w", err)
	}
	return checkHead(head[:n], format)
}

// checkHead examines the beginning of a text.
func checkHead(head []byte, format Format) error {
	if bytes.ContainsRune(head, 0) {
		return ErrBinary
	}
	head = bytes.TrimSpace(head)
	if len(head) == 0 {
		return ErrEmpty
	}
	first := head[0]
	line, _, hasMoreLines := bytes.Cut(head, []byte("\n"))
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
	case hasMoreLines && !bytes.ContainsRune(line, ':'): // the first line has no member yet
		return ErrIndented
	}
	return nil
}
