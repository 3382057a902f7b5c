package client

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// Limits of what is read and kept of a response header.
const (
	maxHeader  = 32 << 10 // bytes of all headers of one response, interim ones included
	keepHeader = 8 << 10  // bytes kept for the delivery log
	maxInterim = 8        // 1xx responses before the final one
	maxChunk   = 256      // bytes of a chunk's size line, extensions included
	maxRetry   = 64       // bytes of a Retry-After that is worth keeping
)

// Phases is where the time of a POST went. A phase that was not reached, or was
// spared by a kept-alive connection, is 0.
type Phases struct {
	DNS       time.Duration // resolving the host name
	Connect   time.Duration // TCP handshake
	TLS       time.Duration // TLS handshake
	FirstByte time.Duration // from the request written to the first byte of the response
	Total     time.Duration // from the call to the end of the response
	Reused    bool          // the connection was a kept-alive one
}

// Response is what came back. The caller owns it and may hand the same one to
// many calls of [Client.Post] one after the other: its buffers are reused.
// After an error it holds what had arrived until then.
type Response struct {
	Status     int    // of the final response; 0 = none arrived
	Header     []byte // its header lines as they came, whole lines, at most 8 KiB
	Body       []byte // the first Config.KeepBody bytes, never decompressed
	RetryAfter string // the header's value as it came; "" = not sent
	Truncated  bool   // the response's body is longer than Body
	Phases     Phases
}

func (r *Response) reset() {
	*r = Response{Header: r.Header[:0], Body: r.Body[:0]}
}

// framing is where the body ends, by its header.
type framing struct {
	http11    bool
	close     bool  // Connection: close
	keep      bool  // Connection: keep-alive
	chunked   bool  // Transfer-Encoding: chunked
	hasLength bool  // Content-Length was sent
	length    int64 // its value
}

// parser reads one response from in to out.
type parser struct {
	in      *reader
	out     *Response
	maxBody int
	head    int // header bytes that may still come
}

// read reads one whole response and reports whether the connection may carry
// another. A body longer than the reader's budget is cut without an error.
func (p *parser) read() (reusable bool, current step, err error) {
	p.head = maxHeader
	var f framing
	for interim := 0; ; interim++ {
		if interim > maxInterim {
			return false, stepHead, violation("too many interim responses")
		}
		if current, err = p.readHead(&f); err != nil {
			return false, current, err
		}
		if p.out.Status >= 200 {
			break
		}
		if p.out.Status == 101 {
			return false, stepHead, violation("the protocol was switched without being asked")
		}
	}
	if err = f.checkFraming(); err != nil {
		return false, stepHead, err
	}
	reusable = f.http11 && !f.close || !f.http11 && f.keep && !f.close
	switch {
	case p.out.Status == 204 || p.out.Status == 304:
		// No body, also if the header announces one. A 204 that does is made by
		// a server that may well send it.
		reusable = reusable && !f.chunked && (p.out.Status == 304 || f.length == 0)
	case f.chunked:
		err = p.readChunks()
	case f.hasLength:
		err = p.readLength(f.length)
	default:
		reusable = false
		err = p.readToEnd()
	}
	if errors.Is(err, errTooLong) {
		p.out.Truncated = true
		return false, stepBody, nil
	}
	return reusable && err == nil && len(p.in.buffered()) == 0, stepBody, err
}

// readHead reads a status line and header lines up to the empty line.
func (p *parser) readHead(f *framing) (step, error) {
	*f = framing{}
	p.out.Status, p.out.RetryAfter, p.out.Header = 0, "", p.out.Header[:0]
	line, err := p.headLine()
	if err != nil {
		if p.in.reads == 0 {
			return stepWait, err
		}
		return stepHead, err
	}
	status, err := parseStatusLine(trimEnd(line), f)
	if err != nil {
		return stepHead, err
	}
	full := false     // the rest of the header is not kept
	foldable := false // the line before may be continued
	for first := true; ; first = false {
		if line, err = p.headLine(); err != nil {
			return stepHead, err
		}
		text := trimEnd(line)
		if len(text) == 0 {
			p.out.Status = status
			return stepHead, nil
		}
		if full = full || len(p.out.Header)+len(line) > keepHeader; !full {
			p.out.Header = append(p.out.Header, line...)
		}
		if text[0] == ' ' || text[0] == '\t' {
			if first || !foldable {
				return stepHead, violation("a header line that decides the framing is folded")
			}
			if badValue(text) {
				return stepHead, violation("a header value has a control character")
			}
			continue
		}
		if foldable, err = p.headerField(text, f); err != nil {
			return stepHead, err
		}
	}
}

// headLine reads a line within the limit of all headers together.
func (p *parser) headLine() ([]byte, error) {
	line, err := p.in.line(p.head)
	p.head -= len(line)
	if errors.Is(err, errTooLong) {
		err = errHeaderTooLong
	}
	return line, err
}

// trimEnd takes off LF and the CR before it.
func trimEnd(line []byte) []byte {
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// parseStatusLine wants "HTTP/1.x NNN" and perhaps a space and a reason.
func parseStatusLine(line []byte, f *framing) (int, error) {
	const sample = "HTTP/1.1 200"
	if len(line) < len(sample) || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return 0, violation("the response is not HTTP/1")
	}
	if len(line) > len(sample) && line[len(sample)] != ' ' || badValue(line) {
		return 0, violation("the status line is malformed")
	}
	switch minor := line[7]; {
	case minor == '0':
	case minor >= '1' && minor <= '9':
		f.http11 = true
	default:
		return 0, violation("the response is not HTTP/1")
	}
	status := 0
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return 0, violation("the status is not a number")
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return 0, violation("the status is out of range")
	}
	return status, nil
}

// headerField reads one field. A line that decides the framing may not be
// continued on the next one: readers disagree on what that means.
func (p *parser) headerField(line []byte, f *framing) (foldable bool, err error) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || !isToken(line[:colon]) {
		return false, violation("a header line is malformed")
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	if badValue(value) {
		return false, violation("a header value has a control character")
	}
	switch {
	case equalFold(name, "content-length"):
		return false, f.setLength(value)
	case equalFold(name, "transfer-encoding"):
		if f.chunked || !equalFold(value, "chunked") {
			return false, violation("the transfer encoding is not understood")
		}
		f.chunked = true
		return false, nil
	case equalFold(name, "connection"):
		f.setConnection(value)
		return false, nil
	case equalFold(name, "retry-after") && p.out.RetryAfter == "" && len(value) <= maxRetry:
		p.out.RetryAfter = string(value)
	}
	return true, nil
}

// equalFold compares ASCII without case; want is in lower case.
func equalFold(got []byte, want string) bool {
	if len(got) != len(want) {
		return false
	}
	for i, c := range got {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

func badValue(value []byte) bool {
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

func (f *framing) setLength(value []byte) error {
	if len(value) == 0 || len(value) > 18 {
		return violation("the content length is malformed")
	}
	var length int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return violation("the content length is malformed")
		}
		length = length*10 + int64(c-'0')
	}
	if f.hasLength && f.length != length {
		return violation("there are two content lengths")
	}
	f.hasLength, f.length = true, length
	return nil
}

func (f *framing) setConnection(value []byte) {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte{','})
		option = bytes.Trim(option, " \t")
		f.close = f.close || equalFold(option, "close")
		f.keep = f.keep || equalFold(option, "keep-alive")
	}
}

// checkFraming refuses headers that different readers would frame differently.
func (f *framing) checkFraming() error {
	if f.chunked && f.hasLength {
		return violation("there are both a content length and a transfer encoding")
	}
	if f.chunked && !f.http11 {
		return violation("HTTP/1.0 has no transfer encoding")
	}
	return nil
}

// consume consumes up to n body bytes, reading when none are buffered, and returns how many.
func (p *parser) consume(n int64) (int, error) {
	if len(p.in.buffered()) == 0 {
		if err := p.in.fill(); err != nil {
			return 0, err
		}
	}
	data := p.in.buffered()
	if int64(len(data)) > n {
		data = data[:n]
	}
	p.in.r += len(data)
	keep := min(len(data), p.maxBody-len(p.out.Body))
	p.out.Body = append(p.out.Body, data[:keep]...)
	p.out.Truncated = p.out.Truncated || keep < len(data)
	return len(data), nil
}

func (p *parser) readLength(length int64) error {
	for length > 0 {
		n, err := p.consume(length)
		if err != nil {
			return unexpectedEOF(err)
		}
		length -= int64(n)
	}
	return nil
}

func (p *parser) readToEnd() error {
	for {
		_, err := p.consume(1 << 62)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *parser) readChunks() error {
	for {
		size, err := p.chunkSize()
		if err != nil {
			return unexpectedEOF(err)
		}
		if size == 0 {
			return unexpectedEOF(p.skipTrailers())
		}
		if err = p.readLength(size); err != nil {
			return err
		}
		line, err := p.in.line(2)
		if errors.Is(err, errHeaderTooLong) || err == nil && string(line) != "\r\n" {
			return violation("a chunk does not end where it should")
		}
		if err != nil {
			return unexpectedEOF(err)
		}
	}
}

// chunkSize reads "hex[;extension]CRLF".
func (p *parser) chunkSize() (int64, error) {
	line, err := p.in.line(maxChunk)
	if errors.Is(err, errHeaderTooLong) {
		return 0, violation("a chunk size is malformed")
	}
	if err != nil {
		return 0, err
	}
	text := line[:len(line)-1]
	if len(text) == 0 || text[len(text)-1] != '\r' {
		return 0, violation("a chunk size is malformed")
	}
	text, _, _ = bytes.Cut(text[:len(text)-1], []byte{';'})
	text = bytes.TrimRight(text, " \t")
	if len(text) == 0 || len(text) > 15 { // 15 digits cannot overflow
		return 0, violation("a chunk size is malformed")
	}
	var size int64
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, violation("a chunk size is malformed")
		}
		size = size<<4 | int64(c)
	}
	return size, nil
}

// skipTrailers reads the fields after the last chunk; nothing in them counts.
func (p *parser) skipTrailers() error {
	for {
		line, err := p.in.line(maxHeader)
		if err != nil {
			return err
		}
		if len(trimEnd(line)) == 0 {
			return nil
		}
	}
}

// unexpectedEOF makes an end of the stream inside a body an error.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
