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

// MaxLine is how long a line may be, in bytes; of a table, a row.
const MaxLine = 64 << 10

// Position is where a row begins.
type Position = table.Position

// Start is the beginning of every file.
var Start = table.Start

// Reader reads the rows of a file.
type Reader interface {
	// Next returns the next row that is not blank. It returns [io.EOF] at the end; other
	// errors are those of reading the file.
	Next() (Row, error)
	// Position returns where the next row begins, or the end of the file.
	Position() Position
}

// NewReader returns a reader of the rows from a position on, where in has to be. header is
// that of a table, nil for FHIR.
func NewReader(in io.Reader, position Position, header *Header) Reader {
	if header == nil {
		return &resourceReader{bufio.NewReaderSize(in, MaxLine), position}
	}
	return &tableReader{table.NewRows(in, position, header.separator, len(header.columns), MaxLine), header}
}

// tableReader reads the rows of a table.
type tableReader struct {
	*table.Rows
	header *Header
}

// Next implements [Reader].
func (r *tableReader) Next() (Row, error) {
	cells, err := r.Rows.Next()
	if err != nil {
		return Row{}, err
	}
	row := Row{Problem: cells.Problem}
	if row.Problem == "" {
		row = r.header.parseRow(cells.Cells)
	}
	row.Line = cells.Line
	return row, nil
}

// ReadHeader reads the header of a table and returns where the rows begin. year is the
// present one: years of two digits are the last ones up to it. Errors:
// [ErrNoHeader], [ErrNoNameColumn], and those of reading the file.
func ReadHeader(in io.Reader, year int) (*Header, Position, error) {
	lines, position := bufio.NewReader(in), Start
	for {
		line, next, err := table.ReadHeaderLine(lines, position, MaxLine)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, table.ErrEndlessHeader):
			return nil, Start, ErrNoHeader
		case err != nil:
			return nil, Start, err
		}
		position = next
		isSeparator := strings.HasPrefix(strings.ToLower(line), "sep=") // Excel's way to name it
		if isSeparator || strings.Trim(line, table.Separators+" \r\n") == "" {
			continue // the sheet may begin further down
		}
		header, err := parseHeader(line)
		if err != nil {
			return nil, Start, err
		}
		header.year = year
		return header, position, nil
	}
}

// resourceReader reads FHIR resources, one on each line.
type resourceReader struct {
	in       *bufio.Reader
	position Position
}

// Position implements [Reader].
func (r *resourceReader) Position() Position { return r.position }

// Next implements [Reader].
func (r *resourceReader) Next() (Row, error) {
	for {
		number := r.position.Line
		line, isWhole, err := r.readLine()
		switch {
		case err != nil:
			return Row{}, err
		case !isWhole:
			return Row{Line: number, Problem: fmt.Sprintf("is longer than %d bytes", MaxLine)}, nil
		}
		if row, blank := parsePatient(line); !blank {
			row.Line = number
			return row, nil
		}
	}
}

// readLine returns the next line, which is valid until the next call. Of a line that is too
// long it returns the beginning, and isWhole is false.
func (r *resourceReader) readLine() (line []byte, isWhole bool, err error) {
	line, err = r.in.ReadSlice('\n')
	r.position.Offset += int64(len(line))
	isWhole = !errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		rest, err = r.in.ReadSlice('\n')
		r.position.Offset += int64(len(rest))
	}
	switch {
	case err == nil:
		r.position.Line++
	case !errors.Is(err, io.EOF):
		return nil, false, fmt.Errorf("reading the file: %w", err)
	case isWhole && len(line) == 0:
		return nil, false, io.EOF
	}
	return bytes.TrimSuffix(line, []byte("\n")), isWhole, nil
}
