package client

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// firstBuffer is the size of a reader's buffer until a longer header line comes.
const firstBuffer = 4 << 10

// errBudget says that the response was longer than the client reads.
var errBudget = errors.New("response too long")

// reader buffers one response and counts what is taken from the socket. bufio
// does neither bound the bytes read nor let a line outgrow its buffer.
type reader struct {
	src     io.Reader
	buf     []byte
	r, w    int       // buf[r:w] is read but not consumed
	left    int       // bytes that may still be read from src
	reads   int       // reads that brought bytes
	firstAt time.Time // when the first of them returned
}

// start prepares for a new response of at most budget bytes.
func (rd *reader) start(src io.Reader, budget int) {
	if len(rd.buf) != firstBuffer { // a long header grew it: that is rare, do not keep it
		rd.buf = make([]byte, firstBuffer)
	}
	rd.src, rd.r, rd.w, rd.left, rd.reads = src, 0, 0, budget, 0
}

// buffered returns the bytes that are read but not consumed.
func (rd *reader) buffered() []byte { return rd.buf[rd.r:rd.w] }

// fill reads once more, making room first. It returns nil only with new bytes.
func (rd *reader) fill() error {
	if rd.left == 0 {
		return errBudget
	}
	if rd.r > 0 {
		rd.w = copy(rd.buf, rd.buf[rd.r:rd.w])
		rd.r = 0
	}
	if rd.w == len(rd.buf) {
		rd.buf = append(rd.buf, make([]byte, len(rd.buf))...)
	}
	room := rd.buf[rd.w:]
	if len(room) > rd.left {
		room = room[:rd.left]
	}
	for range 100 {
		n, err := rd.src.Read(room)
		if n > 0 {
			if rd.reads == 0 {
				rd.firstAt = time.Now()
			}
			rd.reads++
			rd.w += n
			rd.left -= n
			return nil // an error beside bytes comes again with the next read
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// line consumes and returns one line with its LF. It fails with errLine when
// the line is longer than limit. The bytes are valid until the next fill.
func (rd *reader) line(limit int) ([]byte, error) {
	seen := 0
	for {
		b := rd.buffered()
		if i := bytes.IndexByte(b[seen:], '\n'); i >= 0 {
			end := seen + i + 1
			if end > limit {
				return nil, errLine
			}
			rd.r += end
			return b[:end], nil
		}
		if seen = len(b); seen >= limit {
			return nil, errLine
		}
		if err := rd.fill(); err != nil {
			return nil, err
		}
	}
}

// errLine says that a line, or a header as a whole, is too long.
const errLine = violation("the header is too long")
