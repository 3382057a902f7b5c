package importfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"integrationhub/hub/module/table"
)

// Reader reads the rows of a table.
type Reader struct {
	sheet
	rows *table.Rows
}

// NewReader returns a reader of the rows of a whole file.
// countryCode is put before numbers that have at most 11 digits and no plus; "" leaves them as
// they are. It returns a [FormatError] for what is no table of contacts.
func NewReader(file io.ReadSeeker, countryCode string) (*Reader, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	signature := make([]byte, 8)
	n, err := io.ReadFull(file, signature)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	for _, known := range []string{"PK\x03\x04", "\xd0\xcf\x11\xe0", "\x1f\x8b", "%PDF-", "Rar!"} {
		if bytes.HasPrefix(signature[:n], []byte(known)) {
			return nil, ErrNoCSV
		}
	}
	text, err := table.Text(file)
	if err != nil {
		return nil, err
	}
	r := &Reader{sheet: sheet{countryCode: countryCode}}
	in := bufio.NewReader(textReader{text})
	start, err := r.readHeader(in)
	if err != nil {
		return nil, err
	}
	r.rows = table.NewRows(in, start, r.separator, len(r.columns), maxRow)
	return r, nil
}

// Columns returns the columns of the table.
func (r *Reader) Columns() []Column { return r.columns }

// readHeader reads the first line that is not blank, and returns where the rows begin.
func (r *Reader) readHeader(in *bufio.Reader) (start table.Position, err error) {
	position := table.Start
	for {
		line, next, err := table.ReadHeaderLine(in, position, maxHeader)
		switch {
		case errors.Is(err, io.EOF):
			return start, ErrEmpty
		case errors.Is(err, table.ErrEndlessHeader):
			return start, ErrNoNumber
		case err != nil:
			return start, err
		}
		position = next
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(strings.ToLower(text), "sep="):
		case strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{"):
			return start, ErrNoCSV
		default:
			return position, r.parseHeader(text)
		}
	}
}

// Next returns the next row that is not blank. It returns [io.EOF] at the end, a [FormatError]
// for what is no text, and errors of reading the file.
func (r *Reader) Next() (Row, error) {
	read, err := r.rows.Next()
	if err != nil {
		return Row{}, err
	}
	row := Row{Line: read.Line, Problem: read.Problem}
	if row.Problem == "" {
		r.setCells(&row, read.Cells)
	}
	return row, nil
}

// textReader reads a text: a zero byte is a [FormatError].
type textReader struct{ io.Reader }

// Read implements [io.Reader].
func (t textReader) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	if bytes.IndexByte(p[:n], 0) >= 0 {
		return 0, ErrNoCSV
	}
	return n, err
}
