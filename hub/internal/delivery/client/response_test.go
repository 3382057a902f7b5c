package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// parsed is everything a parser says about some bytes.
type parsed struct {
	status     int
	header     string
	body       string
	retryAfter string
	truncated  bool
	reusable   bool
	err        string
	rest       string // what was left for later
}

// parse reads one response from src, which is asked for at most budget bytes.
func parse(src io.Reader, budget, keepBody int) parsed {
	var in reader
	var out Response
	in.start(src, budget)
	p := parser{in: &in, out: &out, maxBody: keepBody}
	reusable, at, err := p.read()
	got := parsed{
		status: out.Status, header: string(out.Header), body: string(out.Body), retryAfter: out.RetryAfter,
		truncated: out.Truncated, reusable: reusable, rest: string(in.buffered()),
	}
	if err != nil {
		got.err, got.rest = string(at)+": "+err.Error(), ""
	}
	return got
}

func TestParse(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	long := "X-L: " + strings.Repeat("l", 5000) + "\r\n"
	for in, want := range map[string]parsed{
		ok + "Content-Length: 3\r\n\r\nabc":                                   {status: 200, header: "Content-Length: 3\r\n", body: "abc", reusable: true},
		ok + "Content-Length: 3\r\ncontent-length:003 \r\n\r\nabc":            {status: 200, header: "Content-Length: 3\r\ncontent-length:003 \r\n", body: "abc", reusable: true},
		"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n":                           {status: 200, header: "Content-Length: 0\r\n", reusable: true},
		"HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n":                          {status: 999, header: "Content-Length: 0\r\n", reusable: true},
		"HTTP/1.9 200 x\nContent-Length: 1\n\na":                              {status: 200, header: "Content-Length: 1\n", body: "a", reusable: true},
		ok + "Content-Length: 6\r\n\r\nabcdef":                                {status: 200, header: "Content-Length: 6\r\n", body: "abcde", truncated: true, reusable: true},
		ok + "\r\nabc":                                                        {status: 200, body: "abc"},
		ok + "Retry-After:  9\t\r\nretry-after: 10\r\n\r\n":                   {status: 200, header: "Retry-After:  9\t\r\nretry-after: 10\r\n", retryAfter: "9"},
		ok + "X-A: b\r\n\tc\r\nContent-Length: 0\r\n\r\n":                     {status: 200, header: "X-A: b\r\n\tc\r\nContent-Length: 0\r\n", reusable: true},
		ok + "X-A: b\r\nX-B:\r\nX-\xc3: a\r\n\r\n":                            {header: "X-A: b\r\nX-B:\r\nX-\xc3: a\r\n", err: "reading the response header: a header line is malformed"},
		ok + "Content-Length: 0\r\n\r\nX":                                     {status: 200, header: "Content-Length: 0\r\n", rest: "X"},
		ok + long + long + "X-S: s\r\nContent-Length: 0\r\n\r\n":              {status: 200, header: long, reusable: true},
		"HTTP/1.1 100 C\r\nRetry-After: 1\r\n\r\n" + "HTTP/1.1 204 N\r\n\r\n": {status: 204, reusable: true},
		"HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n":                {status: 204, header: "Transfer-Encoding: chunked\r\n"},
		chunked + "3\r\nabc\r\n02 ;x=\"y\"\r\nde\r\n0\r\n\r\n":                {status: 200, header: "Transfer-Encoding: chunked\r\n", body: "abcde", reusable: true},
		chunked + "0\r\nX-T: a\r\n\r\nrest":                                   {status: 200, header: "Transfer-Encoding: chunked\r\n", rest: "rest"},
		chunked + "A\r\n0123456789\r\n0\r\n\r\n":                              {status: 200, header: "Transfer-Encoding: chunked\r\n", body: "01234", truncated: true, reusable: true},

		"":                                     {err: "waiting for the response: EOF"},
		"HTTP/1.1 200 OK":                      {err: "reading the response header: EOF"},
		"\r\n" + ok + "\r\n":                   {err: "reading the response header: the response is not HTTP/1"},
		"HTTP/2.0 200 OK\r\n\r\n":              {err: "reading the response header: the response is not HTTP/1"},
		"HTTP/1.x 200 OK\r\n\r\n":              {err: "reading the response header: the response is not HTTP/1"},
		"HTTP/1.1  200 OK\r\n\r\n":             {err: "reading the response header: the status line is malformed"},
		"HTTP/1.1 2000 OK\r\n\r\n":             {err: "reading the response header: the status line is malformed"},
		"HTTP/1.1 200 O\x00\r\n":               {err: "reading the response header: the status line is malformed"},
		"HTTP/1.1 2x0 OK\r\n\r\n":              {err: "reading the response header: the status is not a number"},
		"HTTP/1.1 099 OK\r\n\r\n":              {err: "reading the response header: the status is out of range"},
		"HTTP/1.1 101 Up\r\n\r\n":              {status: 101, err: "reading the response header: the protocol was switched without being asked"},
		ok + " X-A: b\r\n\r\n":                 {header: " X-A: b\r\n", err: "reading the response header: a header line that decides the framing is folded"},
		ok + "X-A: b\r\n \x00\r\n":             {header: "X-A: b\r\n \x00\r\n", err: "reading the response header: a header value has a control character"},
		ok + "X-A: a\rb\r\n\r\n":               {header: "X-A: a\rb\r\n", err: "reading the response header: a header value has a control character"},
		ok + "X-A\r\n\r\n":                     {header: "X-A\r\n", err: "reading the response header: a header line is malformed"},
		ok + ": b\r\n\r\n":                     {header: ": b\r\n", err: "reading the response header: a header line is malformed"},
		ok + "X-A : b\r\n\r\n":                 {header: "X-A : b\r\n", err: "reading the response header: a header line is malformed"},
		ok + "Content-Length: 5\r\n 5\r\n\r\n": {header: "Content-Length: 5\r\n 5\r\n", err: "reading the response header: a header line that decides the framing is folded"},
		ok + "Content-Length: 3\r\n\r\nab":     {status: 200, header: "Content-Length: 3\r\n", body: "ab", err: "reading the response body: unexpected EOF"},
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": {status: 200, header: "Transfer-Encoding: chunked\r\n", err: "reading the response header: HTTP/1.0 has no transfer encoding"},
	} {
		require.Equal(t, want, parse(strings.NewReader(in), 1<<16, 5), "%q", in)
	}
	for _, length := range []string{"", "-1", "+1", "1,1", "1 1", "0x1", "1.0", "1234567890123456789", "a"} {
		got := parse(strings.NewReader(ok+"Content-Length: "+length+"\r\n\r\n"), 1<<16, 5)
		require.Equal(t, "reading the response header: the content length is malformed", got.err, length)
	}
	got := parse(strings.NewReader(ok+"Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), 1<<16, 5)
	require.Equal(t, "reading the response header: there are two content lengths", got.err)
	for _, coding := range []string{"", "gzip", "gzip, chunked", "chunked, chunked", "identity", "chunked\r\nTransfer-Encoding: chunked"} {
		got = parse(strings.NewReader(ok+"Transfer-Encoding: "+coding+"\r\n\r\n"), 1<<16, 5)
		require.Equal(t, "reading the response header: the transfer encoding is not understood", got.err, coding)
	}
	for _, size := range []string{"\r\n", "-1\r\n", "+1\r\n", " 1\r\n", "0x1\r\n", "g\r\n", "1\n", "1", ";x\r\n", "1 1\r\n",
		"FFFFFFFFFFFFFFFF\r\n", "1;" + strings.Repeat("x", 300) + "\r\n"} {
		got = parse(strings.NewReader(chunked+size+strings.Repeat("a", 300)), 1<<16, 5)
		require.Equal(t, "reading the response body: a chunk size is malformed", got.err, size)
	}
	for _, end := range []string{"a\r\n", "\n\n", "\r\r\n"} {
		got = parse(strings.NewReader(chunked+"1\r\nx"+end), 1<<16, 5)
		require.Equal(t, "reading the response body: a chunk does not end where it should", got.err, end)
	}
}

// A body that fits the budget exactly is whole; one byte more is cut.
func TestParseBudget(t *testing.T) {
	t.Parallel()
	in := "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n012345678"
	got := parse(strings.NewReader(in), len(in), 20)
	require.Equal(t, parsed{status: 200, header: "Content-Length: 9\r\n", body: "012345678", reusable: true}, got)
	got = parse(strings.NewReader(in), len(in)-1, 20)
	require.Equal(t, parsed{status: 200, header: "Content-Length: 9\r\n", body: "01234567", truncated: true}, got)
	got = parse(strings.NewReader(in), 20, 20)
	require.Equal(t, "reading the response header: the header is too long", got.err)
}

// Headers may have 32 KiB together, interim ones included, in one line or many.
func TestParseHeaderLimit(t *testing.T) {
	t.Parallel()
	const start, end = "HTTP/1.1 200 OK\r\n", "\r\n"
	fill := func(n int) string { return "A: " + strings.Repeat("x", n-5) + "\r\n" }
	room := maxHeader - len(start) - len(end)
	for _, fits := range []string{start + fill(room) + end, start + fill(room-10) + fill(10) + end} {
		require.Empty(t, parse(strings.NewReader(fits), 1<<16, 0).err)
	}
	for _, over := range []string{
		start + fill(room+1) + end, start + fill(room-10) + fill(11) + end,
		"HTTP/1.1 100 C\r\n" + fill(20000) + end + start + fill(20000) + end,
	} {
		require.Equal(t, "reading the response header: the header is too long", parse(strings.NewReader(over), 1<<16, 0).err)
	}
}

func TestReaderFailsAfterEmptyReads(t *testing.T) {
	t.Parallel()
	require.Equal(t, "waiting for the response: "+io.ErrNoProgress.Error(), parse(emptyReads{}, 1<<16, 0).err)
}

type emptyReads struct{}

func (emptyReads) Read([]byte) (int, error) { return 0, nil }

// meter counts what is read, and fails the fuzz target when it is asked for nothing.
type meter struct {
	src io.Reader
	n   int
}

func (m *meter) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errors.New("asked for no bytes")
	}
	n, err := m.src.Read(b)
	m.n += n
	return n, err
}

// FuzzParse feeds the parser anything. It must keep its limits, say the same
// however the bytes are cut into reads, and agree with net/http where both
// accept.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		okAnswer, "HTTP/1.0 200 OK\n\nx", "HTTP/1.1 100 C\r\n\r\n" + okAnswer, "HTTP/1.1 204 N\r\nContent-Length: 3\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\nok\r\n0\r\nT: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: y\r\n z\r\nConnection: close\r\nContent-Length: 99999\r\n\r\n0123456789",
		"HTTP/1.1 503 No\r\nRetry-After: 120\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
	} {
		f.Add([]byte(seed), uint16(1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, budget uint16) {
		const keep = 16
		src := &meter{src: bytes.NewReader(data)}
		whole := parse(src, int(budget), keep)
		require.LessOrEqual(t, src.n, int(budget))
		require.LessOrEqual(t, len(whole.body), keep)
		require.LessOrEqual(t, len(whole.header), keepHeader)
		if whole.err == "" {
			require.GreaterOrEqual(t, whole.status, 200)
			require.LessOrEqual(t, whole.status, 999)
		}
		if whole.reusable {
			require.Empty(t, whole.err)
			require.Empty(t, whole.rest)
		}

		single := &meter{src: iotest.OneByteReader(bytes.NewReader(data))}
		piecewise := parse(single, int(budget), keep)
		require.LessOrEqual(t, single.n, int(budget))
		if whole.rest != "" { // read one by one, those bytes stay in the socket
			whole.rest, piecewise.reusable = "", false
		}
		require.Equal(t, whole, piecewise)

		if whole.err != "" || len(data) > int(budget) {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), &http.Request{Method: http.MethodPost})
		if err != nil || resp.StatusCode < 200 { // net/http's stops at an interim response
			return
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.Equal(t, resp.StatusCode, whole.status)
		if err == nil {
			require.Equal(t, string(body[:min(len(body), keep)]), whole.body)
			require.Equal(t, len(body) > keep, whole.truncated)
		}
	})
}
