package importfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"integrationhub/hub/module/table"
)

// MaxLine is how long a line may be, in bytes; of a table, a row.
const MaxLine = 64 << 10

// Reader reads the rows of a file.
type Reader struct {
	in       *bufio.Reader
	position Position
	header   *Header // nil for FHIR
}

// NewReader returns a reader of the rows from a position on, where in has to be. header is
// that of a table, nil for FHIR.
func NewReader(in io.Reader, position Position, header *Header) *Reader {
	return &Reader{bufio.NewReaderSize(in, 2*MaxLine), position, header}
}

// Position returns where the next row begins, or the end of the file.
func (r *Reader) Position() Position { return r.position }

// Next returns the next row that is not blank. It returns [io.EOF] at the end; other errors
// are those of reading the file.
func (r *Reader) Next() (Row, error) {
	for {
		number := r.position.Line
		line, err := r.readLine()
		switch {
		case errors.Is(err, errLineTooLong):
			return Row{Line: number, Problem: fmt.Sprintf("is longer than %d bytes, or has a quotation mark that is not closed", MaxLine)}, nil
		case err != nil:
			return Row{}, err
		}
		row, blank := r.parse(line)
		if blank {
			continue
		}
		row.Line = number
		return row, nil
	}
}

func (r *Reader) parse(line []byte) (row Row, blank bool) {
	if r.header != nil {
		return r.header.parseRow(line)
	}
	return parsePatient(line)
}

// ReadHeader reads the header of a table and returns where the rows begin. year is the
// present one: years of two digits are the last ones up to it. Errors:
// [ErrNoHeader], [ErrNoNameColumn], and those of reading the file.
func ReadHeader(in io.Reader, year int) (*Header, Position, error) {
	r := NewReader(in, Start, &Header{separator: ','})
	line, err := r.readLine()
	if err == nil && bytes.HasPrefix(bytes.ToLower(line), []byte("sep=")) { // Excel's way to name the separator
		line, err = r.readLine()
	}
	for err == nil && len(bytes.Trim(line, table.Separators+" \r\n")) == 0 { // the sheet may begin further down
		line, err = r.readLine()
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errLineTooLong):
		return nil, Start, ErrNoHeader
	case err != nil:
		return nil, Start, err
	}
	header, err := parseHeader(line)
	if err != nil {
		return nil, Start, err
	}
	header.year = year
	return header, r.Position(), nil
}

var errLineTooLong = errors.New("too long")

// readLine returns the next line with its end; it is valid until the next call. Of a line
// that is too long it skips only the first physical line, so that a stray quotation mark
// does not swallow the rest of the file.
func (r *Reader) readLine() ([]byte, error) {
	window, atEOF, err := r.peek(min(max(r.in.Buffered(), 1), MaxLine))
	if err != nil {
		return nil, err
	}
	length := r.lineLength(window, atEOF)
	if length == 0 && !atEOF {
		if window, atEOF, err = r.peek(MaxLine); err != nil {
			return nil, err
		}
		length = r.lineLength(window, atEOF)
	}
	if length == 0 {
		return nil, r.skipLine()
	}
	r.consume(window[:length])
	return window[:length], nil
}

// peek returns up to n bytes without consuming them. atEOF reports whether the file ends
// with them.
func (r *Reader) peek(n int) (window []byte, atEOF bool, err error) {
	window, err = r.in.Peek(n)
	if err == nil {
		return window, false, nil
	}
	if !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("reading the file: %w", err)
	}
	if len(window) == 0 {
		return nil, true, io.EOF
	}
	return window, true, nil
}

// lineLength returns the length of the first line of a text, with its end; 0 if the text
// does not have all of it. A line end within quotation marks does not end the line.
func (r *Reader) lineLength(text []byte, atEOF bool) int {
	quoted, cellBegan := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '"' && i+1 < len(text) && text[i+1] == '"':
			i++
		case quoted:
			quoted = c != '"'
		case c == '\n':
			return i + 1
		case r.header == nil:
		case c == '"' && !cellBegan:
			quoted, cellBegan = true, true
		default:
			cellBegan = c != r.header.separator
		}
	}
	if atEOF && !quoted {
		return len(text)
	}
	return 0
}

// consume moves the position behind bytes that were peeked at.
func (r *Reader) consume(text []byte) {
	r.position.Line += bytes.Count(text, []byte("\n"))
	r.position.Offset += int64(len(text))
	_, _ = r.in.Discard(len(text)) // they are in the buffer
}

// skipLine consumes one physical line and returns [errLineTooLong].
func (r *Reader) skipLine() error {
	for {
		part, err := r.in.ReadSlice('\n')
		r.position.Offset += int64(len(part))
		switch {
		case err == nil:
			r.position.Line++
			return errLineTooLong
		case errors.Is(err, io.EOF):
			return errLineTooLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("reading the file: %w", err)
		}
	}
}
