package client

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// firstBuffer is the size of a reader's buffer until a longer header line comes.
const firstBuffer = 4 << 10

// errTooLong is returned if the response is longer than the client reads.
var errTooLong = errors.New("response too long")

// reader buffers one response and counts what is taken from the socket. bufio
// does neither bound the bytes read nor let a line outgrow its buffer.
type reader struct {
	src       io.Reader
	buf       []byte
	r, w      int       // buf[r:w] is read but not consumed
	remaining int       // bytes that may still be read from src
	reads     int       // reads that brought bytes
	firstAt   time.Time // when the first of them returned
}

// start prepares for a new response of at most budget bytes.
func (r *reader) start(src io.Reader, budget int) {
	if len(r.buf) != firstBuffer { // a long header grew it: that is rare, do not keep it
		r.buf = make([]byte, firstBuffer)
	}
	r.src, r.r, r.w, r.remaining, r.reads = src, 0, 0, budget, 0
}

// buffered returns the bytes that are read but not consumed.
func (r *reader) buffered() []byte { return r.buf[r.r:r.w] }

// fill reads once more, making room first. It returns nil only with new bytes.
func (r *reader) fill() error {
	if r.remaining == 0 {
		return errTooLong
	}
	if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	if r.w == len(r.buf) {
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	room := r.buf[r.w:]
	if len(room) > r.remaining {
		room = room[:r.remaining]
	}
	for range 100 {
		n, err := r.src.Read(room)
		if n > 0 {
			if r.reads == 0 {
				r.firstAt = time.Now()
			}
			r.reads++
			r.w += n
			r.remaining -= n
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
func (r *reader) line(limit int) ([]byte, error) {
	searched := 0
	for {
		b := r.buffered()
		if i := bytes.IndexByte(b[searched:], '\n'); i >= 0 {
			end := searched + i + 1
			if end > limit {
				return nil, errHeaderTooLong
			}
			r.r += end
			return b[:end], nil
		}
		if searched = len(b); searched >= limit {
			return nil, errHeaderTooLong
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// errHeaderTooLong is returned if a line, or a header as a whole, is too long.
const errHeaderTooLong = violation("the header is too long")
