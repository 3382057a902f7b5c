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

// Reader reads the rows of a table. It holds one row, and the lines behind it that may belong
// to it.
type Reader struct {
	sheet
	in    *bufio.Reader
	ahead []line // that were read and are not consumed
	next  int    // number of the first of them, or of the next line of the file
}

// line is a physical line without its end.
type line struct {
	text    string // of a line that is too long, its beginning
	quotes  int    // quotation marks
	isBlank bool   // it has no cell with a text
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
	r := &Reader{sheet: sheet{countryCode: countryCode}, in: bufio.NewReaderSize(text, 2*maxLine), next: 1}
	return r, r.readHeader()
}

// Columns returns the columns of the table.
func (r *Reader) Columns() []Column { return r.columns }

// readHeader reads the first line that is not blank.
func (r *Reader) readHeader() error {
	for {
		header, err := r.readLine(maxHeader)
		if errors.Is(err, io.EOF) {
			return ErrEmpty
		}
		if err != nil {
			return err
		}
		r.next++
		text := strings.TrimSpace(header.text)
		switch {
		case text == "" || strings.HasPrefix(strings.ToLower(text), "sep="):
		case strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{"):
			return ErrNoCSV
		default:
			return r.parseHeader(text)
		}
	}
}

// Next returns the next row that is not blank. It returns [io.EOF] at the end, a [FormatError]
// for what is no text, and errors of reading the file.
func (r *Reader) Next() (Row, error) {
	for {
		row, isBlank, err := r.readRow()
		if err != nil || !isBlank {
			return row, err
		}
	}
}

// readRow reads a row. A quotation mark that is not closed spoils its own line only.
func (r *Reader) readRow() (row Row, isBlank bool, err error) {
	first, err := r.peek(0)
	if err != nil {
		return row, false, err
	}
	row.Line, isBlank = r.next, first.isBlank
	text, quotes, count := first.text, first.quotes, 1
	for quotes%2 == 1 {
		following, err := r.peek(count)
		if errors.Is(err, io.EOF) || count >= maxRowLines || len(text) > maxLine {
			r.consume(1)
			row.Problem = "has a quotation mark that is not closed"
			return row, false, nil
		}
		if err != nil {
			return row, false, err
		}
		text += "\n" + following.text
		quotes, count, isBlank = quotes+following.quotes, count+1, isBlank && following.isBlank
	}
	r.consume(count)
	if isBlank {
		return row, true, nil
	}
	if len(text) > maxLine {
		row.Problem = "is too long"
		return row, false, nil
	}
	if cells, ok := r.split(text); ok {
		r.setCells(&row, cells)
	} else {
		row.Problem = "cannot be split into cells"
	}
	return row, false, nil
}

// peek returns the i-th line that is not consumed.
func (r *Reader) peek(i int) (line, error) {
	for len(r.ahead) <= i {
		l, err := r.readLine(maxLine)
		if err != nil {
			return l, err
		}
		r.ahead = append(r.ahead, l)
	}
	return r.ahead[i], nil
}

// consume moves behind lines that were peeked at.
func (r *Reader) consume(count int) {
	r.ahead = append(r.ahead[:0], r.ahead[count:]...)
	r.next += count
}

// readLine reads a physical line; of one that is too long, it returns limit bytes and one more.
func (r *Reader) readLine(limit int) (l line, err error) {
	var text []byte
	isFirst := true
	l.isBlank = true
	for {
		part, err := r.in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && isFirst && len(part) == 0 {
			return l, io.EOF
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return l, fmt.Errorf("reading the file: %w", err)
		}
		isFirst = false
		part = bytes.TrimSuffix(part, []byte("\n"))
		if bytes.IndexByte(part, 0) >= 0 {
			return l, ErrNoCSV
		}
		l.quotes += bytes.Count(part, []byte(`"`))
		l.isBlank = l.isBlank && len(bytes.Trim(part, " \r\t;,|\"")) == 0
		text = append(text, part[:min(len(part), limit+1-len(text))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.text = string(text)
			return l, nil
		}
	}
}
