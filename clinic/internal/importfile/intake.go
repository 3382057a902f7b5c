// Package importfile reads files of patients that people bring from elsewhere: tables as
// spreadsheets write them, and FHIR R4 resources, one on each line. It reads a file
// once, line by line, and can go on where it stopped: what it holds in memory does
// not grow with the file.
package importfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Format is a form of file.
type Format string

// The forms.
const (
	CSV    Format = "csv"
	NDJSON Format = "fhir-ndjson"
)

// MaxLine is how long one line may be, in bytes; of a table, one row.
const MaxLine = 64 << 10

// Row is what a file tells about one patient, as it was written; "" is what it does
// not tell.
type Row struct {
	Line      int    // where it begins; the first is 1
	Ref       string // its id where the file comes from
	Name      string
	Phone     string
	Email     string
	CPF       string
	BirthDate string // YYYY-MM-DD
	Status    string // active or inactive
	// Problem is why the line cannot be read, for people and without its values;
	// "" where it can.
	Problem string
}

// Position is where a line begins.
type Position struct {
	Offset int64 // bytes from the start of the text
	Line   int   // the first is 1
}

// Start is the beginning of every file.
var Start = Position{Line: 1}

// Reader reads the rows of a file.
type Reader struct {
	in    *bufio.Reader
	at    Position
	table *Table // nil for FHIR
}

// Open reads on at a position, which in has to be at. A table is read as its head
// says, which is nil for FHIR.
func Open(in io.Reader, at Position, table *Table) *Reader {
	return &Reader{bufio.NewReaderSize(in, 2*MaxLine), at, table}
}

// Position is where the next row begins, or the end of the file.
func (r *Reader) Position() Position { return r.at }

// Next gives the next row that is not blank. [io.EOF] at the end; other errors are
// those of the file.
func (r *Reader) Next() (Row, error) {
	for {
		line := r.at.Line
		raw, err := r.line()
		switch {
		case errors.Is(err, errTooLong):
			return Row{Line: line, Problem: fmt.Sprintf("is longer than %d bytes, or has a quotation mark that is not closed", MaxLine)}, nil
		case err != nil:
			return Row{}, err
		}
		row, blank := r.parse(raw)
		if blank {
			continue
		}
		row.Line = line
		return row, nil
	}
}

func (r *Reader) parse(raw []byte) (row Row, blank bool) {
	if r.table != nil {
		return r.table.row(raw)
	}
	return patient(raw)
}

var errTooLong = errors.New("too long")

// line gives the next line with its end, good until the next call. Of one that is
// too long only its first physical line is passed over: a stray quotation mark must
// not swallow the rest of the file.
func (r *Reader) line() ([]byte, error) {
	window, whole, err := r.window(min(max(r.in.Buffered(), 1), MaxLine))
	if err != nil {
		return nil, err
	}
	length := r.end(window, whole)
	if length == 0 && !whole {
		if window, whole, err = r.window(MaxLine); err != nil {
			return nil, err
		}
		length = r.end(window, whole)
	}
	if length == 0 {
		return nil, r.skip()
	}
	r.pass(window[:length])
	return window[:length], nil
}

// window looks ahead without reading; whole tells that the file ends with it.
func (r *Reader) window(n int) (window []byte, whole bool, err error) {
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

// end is how long the first line of a text is, with its end; 0 where it has none.
// Line ends between quotation marks do not count.
func (r *Reader) end(text []byte, whole bool) int {
	quoted, began := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '"' && i+1 < len(text) && text[i+1] == '"':
			i++
		case quoted:
			quoted = c != '"'
		case c == '\n':
			return i + 1
		case r.table == nil:
		case c == '"' && !began:
			quoted, began = true, true
		default:
			began = c != r.table.separator
		}
	}
	if whole && !quoted {
		return len(text)
	}
	return 0
}

// pass takes bytes that were looked at.
func (r *Reader) pass(text []byte) {
	for _, c := range text {
		if c == '\n' {
			r.at.Line++
		}
	}
	r.at.Offset += int64(len(text))
	_, _ = r.in.Discard(len(text)) // they are in the buffer
}

// skip passes over one physical line.
func (r *Reader) skip() error {
	for {
		part, err := r.in.ReadSlice('\n')
		r.at.Offset += int64(len(part))
		switch {
		case err == nil:
			r.at.Line++
			return errTooLong
		case errors.Is(err, io.EOF):
			return errTooLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("reading the file: %w", err)
		}
	}
}
