package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Position is where a row begins.
type Position struct {
	Offset int64 // bytes from the start of the text
	Line   int   // the first line is 1
	// FullRowsUntil is the last line that may be a part of an earlier text, whose quotation mark
	// is not closed: a row up to it counts only if it has a cell for each column in one line.
	FullRowsUntil int
}

// Start is the beginning of every file.
var Start = Position{Line: 1}

// Row is a row of a table, with at least one cell that is not blank.
type Row struct {
	Line    int // where it begins
	Cells   []string
	Problem string // why it has no cells, for people; "" if it has
}

// Why a row cannot be split into cells.
const (
	problemNotClosed = "has a quotation mark that is not closed, or a text behind one that is"
	problemInside    = "may be a part of the text above, whose quotation mark is not closed"
	problemRowInText = "has a text that looks like several rows: check the quotation marks"
)

// lookAhead is how many bytes of a text in quotation marks are searched for its end.
const lookAhead = 1 << 20

// Rows reads the rows of a table one after the other (RFC 4180). A quotation mark inside a
// cell that does not begin with one is part of the text. A row ends with its line, unless that
// is within quotation marks.
//
// A mark that is not closed must not make one row of several people: that row is refused,
// and the lines that it would have swallowed count only where each is a whole row.
type Rows struct {
	in        *bufio.Reader
	position  Position
	separator byte
	columns   int
	limit     int
}

// NewRows returns a reader of the rows from a position on, where in has to be. columns is how
// many the table has, limit how many bytes a row may have with the end of its line.
func NewRows(in io.Reader, position Position, separator byte, columns, limit int) *Rows {
	return &Rows{bufio.NewReaderSize(in, lookAhead), position, separator, columns, limit}
}

// Position returns where the next row begins, or the end of the file.
func (r *Rows) Position() Position { return r.position }

// Next returns the next row that is not blank. It returns [io.EOF] at the end; other errors
// are those of reading the file.
func (r *Rows) Next() (Row, error) {
	for {
		row, isBlank, err := r.readRow()
		if err != nil || !isBlank {
			return row, err
		}
	}
}

func (r *Rows) readRow() (row Row, isBlank bool, err error) {
	row.Line = r.position.Line
	if row.Line <= r.position.FullRowsUntil {
		return r.readFullRow(row)
	}
	var extent rowExtent
	for _, size := range [...]int{max(1, min(r.in.Buffered(), r.limit)), r.limit, lookAhead} {
		window, atEOF, err := r.peek(size)
		if err != nil {
			return row, false, err
		}
		extent = findRowEnd(window, r.separator, atEOF)
		switch {
		case extent.isMalformed:
			lastLine := row.Line + bytes.Count(window[:extent.length], []byte("\n"))
			row.Problem = problemNotClosed
			return row, false, r.skipLine(lastLine)
		case extent.isComplete:
			return r.take(row, window[:extent.length])
		}
		if atEOF {
			break
		}
	}
	if extent.isQuoted {
		row.Problem = problemNotClosed
		return row, false, r.skipLine(math.MaxInt32)
	}
	row.Problem = r.problemTooLong()
	return row, false, r.skipLine(0)
}

// readFullRow reads a row that has to be one line.
func (r *Rows) readFullRow(row Row) (_ Row, isBlank bool, err error) {
	window, atEOF, err := r.peek(r.limit)
	if err != nil {
		return row, false, err
	}
	line := window
	if end := bytes.IndexByte(window, '\n'); end >= 0 {
		line = window[:end+1]
	} else if !atEOF {
		row.Problem = r.problemTooLong()
		return row, false, r.skipLine(0)
	}
	if extent := findRowEnd(line, r.separator, true); extent.isComplete && extent.length == len(line) {
		return r.take(row, line)
	}
	row.Problem = problemNotClosed
	return row, false, r.skipLine(0)
}

func (r *Rows) problemTooLong() string {
	return fmt.Sprintf("is longer than %d bytes", r.limit)
}

// take consumes a row and splits it into cells.
func (r *Rows) take(row Row, text []byte) (_ Row, isBlank bool, err error) {
	mustBeFull := r.position.Line <= r.position.FullRowsUntil
	lines := bytes.Count(text, []byte("\n"))
	cells, hasStrayMark := splitCells(text, r.separator)
	switch {
	case len(strings.TrimSpace(strings.Join(cells, ""))) == 0:
		isBlank = true
	case mustBeFull && (len(cells) != r.columns || hasStrayMark):
		row.Problem = problemInside
	case bytes.IndexByte(text[:len(text)-1], '\n') >= 0 && r.hasRowsInside(text):
		row.Problem = fmt.Sprintf("to line %d: %s", row.Line+bytes.Count(text[:len(text)-1], []byte("\n")), problemRowInText)
	case len(text) > r.limit:
		row.Problem = r.problemTooLong()
	default:
		row.Cells = cells
	}
	r.position.Line += lines
	r.position.Offset += int64(len(text))
	_, _ = r.in.Discard(len(text)) // it is in the buffer
	return row, isBlank, nil
}

// hasRowsInside reports whether the first and the last line of a row both look like a row of
// their own: of two stray quotation marks the second closes the first.
func (r *Rows) hasRowsInside(text []byte) bool {
	text = bytes.TrimSuffix(text, []byte("\n"))
	first, last := text[:bytes.IndexByte(text, '\n')], text[bytes.LastIndexByte(text, '\n')+1:]
	separators := []byte{r.separator}
	return r.columns > 1 && bytes.Count(first, separators) == r.columns-1 && bytes.Count(last, separators) == r.columns-1
}

// skipLine consumes one physical line. Lines up to fullRowsUntil may belong to it.
func (r *Rows) skipLine(fullRowsUntil int) error {
	r.position.FullRowsUntil = max(r.position.FullRowsUntil, fullRowsUntil)
	for {
		part, err := r.in.ReadSlice('\n')
		r.position.Offset += int64(len(part))
		switch {
		case err == nil:
			r.position.Line++
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("reading the file: %w", err)
		}
	}
}

// peek returns up to n bytes without consuming them. atEOF reports whether the file ends
// with them.
func (r *Rows) peek(n int) (window []byte, atEOF bool, err error) {
	window, err = r.in.Peek(n)
	switch {
	case err == nil:
		return window, false, nil
	case !errors.Is(err, io.EOF):
		return nil, false, fmt.Errorf("reading the file: %w", err)
	case len(window) == 0:
		return nil, true, io.EOF
	}
	return window, true, nil
}

// rowExtent says where the first row of a text ends.
type rowExtent struct {
	length      int  // of the row with the end of its line, or up to what is malformed
	isComplete  bool // the text has all of it
	isMalformed bool // a text goes on behind its closing quotation mark
	isQuoted    bool // what the text has ends within quotation marks
}

// findRowEnd finds the end of the first row of a text. Within quotation marks, two are one of
// the text, and another is followed by a separator or the end of the line.
func findRowEnd(text []byte, separator byte, atEOF bool) rowExtent {
	isCellStart := true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' && isCellStart:
			end, extent := findClosingMark(text, i+1, separator, atEOF)
			if end < 0 {
				return extent
			}
			i, isCellStart = end, false
		case c == '\n':
			return rowExtent{length: i + 1, isComplete: true}
		default:
			isCellStart = c == separator
		}
	}
	return rowExtent{length: len(text), isComplete: atEOF}
}

// findClosingMark returns where a text in quotation marks that begins at start is closed;
// below 0 if it is not, and extent says why.
func findClosingMark(text []byte, start int, separator byte, atEOF bool) (end int, extent rowExtent) {
	for i := start; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		switch following := text[i+1:]; {
		case len(following) == 0 && !atEOF, len(following) == 1 && following[0] == '\r' && !atEOF:
			return -1, rowExtent{isQuoted: true}
		case len(following) == 0, following[0] == separator, following[0] == '\n', bytes.HasPrefix(following, []byte("\r\n")), string(following) == "\r":
			return i, extent
		case following[0] == '"':
			i++
		default:
			return -1, rowExtent{length: i, isMalformed: true}
		}
	}
	return -1, rowExtent{isQuoted: true}
}

// splitCells splits a whole row into its cells. hasStrayMark reports whether a cell that does
// not begin with a quotation mark has one.
func splitCells(row []byte, separator byte) (cells []string, hasStrayMark bool) {
	row = bytes.TrimSuffix(bytes.TrimSuffix(row, []byte("\n")), []byte("\r"))
	for {
		var cell string
		var end int
		if len(row) > 0 && row[0] == '"' {
			closing, _ := findClosingMark(row, 1, separator, true)
			end = closing + 1
			cell = strings.ReplaceAll(string(row[1:closing]), `""`, `"`)
		} else {
			if end = bytes.IndexByte(row, separator); end < 0 {
				end = len(row)
			}
			cell = string(row[:end])
			hasStrayMark = hasStrayMark || strings.Contains(cell, `"`)
		}
		cells = append(cells, cell)
		if end >= len(row) {
			return cells, hasStrayMark
		}
		row = row[end+1:]
	}
}

// MaxColumns is how many columns a table has at most that is imported: each of its rows is read
// into as many cells.
const MaxColumns = 500

// SplitHeader returns the headings of a table, from a line that names them, and the separator.
func SplitHeader(line string) (headings []string, separator byte) {
	line = strings.TrimRight(line, "\r\n")
	separator = Separator(line)
	if extent := findRowEnd([]byte(line), separator, true); !extent.isComplete {
		return strings.Split(line, string(separator)), separator
	}
	headings, _ = splitCells([]byte(line), separator)
	return headings, separator
}

// maxHeaderLines is how many physical lines the headings may have.
const maxHeaderLines = 20

// ReadHeaderLine reads the line that names the columns, with at most limit bytes: a line end
// within quotation marks does not end it. It returns the line and where the next begins. Errors:
// [io.EOF], [ErrEndlessHeader], and those of reading the file.
func ReadHeaderLine(in *bufio.Reader, position Position, limit int) (line string, next Position, err error) {
	var text []byte
	for first := position.Line; ; {
		part, err := in.ReadSlice('\n')
		position.Offset += int64(len(part))
		if err == nil {
			position.Line++
		}
		if len(text) <= limit {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return "", position, fmt.Errorf("reading the file: %w", err)
		case err != nil && len(text) == 0:
			return "", position, io.EOF
		case len(text) > limit, position.Line > first+maxHeaderLines, err != nil && findRowEnd(text, Separator(string(text)), true).isQuoted:
			return "", position, ErrEndlessHeader
		case err == nil && findRowEnd(text, Separator(string(text)), false).isQuoted:
			continue
		}
		return string(text), position, nil
	}
}

// ErrEndlessHeader is a line of headings beyond its limit, or with a quotation mark that is not
// closed.
var ErrEndlessHeader = errors.New("the line of headings does not end")
