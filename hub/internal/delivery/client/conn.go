package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// DialFunc opens a connection to addr ("host:port") on network "tcp" before ctx
// ends. It returns how long resolving and connecting took, also beside an error.
// It applies the egress rules. A conn that wraps the kernel's must keep its SyscallConn
// method: without it an idle connection is reused without a probe, and stray bytes on it go
// unnoticed.
type DialFunc func(ctx context.Context, network, addr string) (conn net.Conn, dns, connect time.Duration, err error)

// conn is one connection to a peer.
type conn struct {
	socket *socket
	stream io.ReadWriter // the socket's net.Conn, or the TLS session over it
	key    string        // the pool it belongs to
	idleAt time.Time     // when its last response ended
	stray  [1]byte       // where a probe reads to; here, so that it is not allocated each time
}

// close drops the connection at once. No TLS close_notify is sent: it could
// block for seconds on a peer that has stopped reading.
func (c *conn) close() { _ = c.socket.Close() }

// dial connects to the target and sets up TLS, all before deadline.
func (c *Client) dial(ctx context.Context, t *Destination, deadline time.Time, phases *Phases) (*conn, error) {
	dialCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	raw, dns, connect, err := c.cfg.Dial(dialCtx, "tcp", t.addr)
	phases.DNS, phases.Connect = dns, connect
	if err != nil {
		return nil, classify(dialCtx, stepConnect, err)
	}
	connection := &conn{socket: newSocket(raw), key: t.key}
	connection.stream = connection.socket
	if err = raw.SetDeadline(deadline); err != nil {
		connection.close()
		return nil, classify(ctx, stepConnect, err)
	}
	if !t.tls {
		return connection, nil
	}
	config := c.tls.Clone()
	config.ServerName = t.host
	if t.certificate != nil {
		config.Certificates = []tls.Certificate{*t.certificate}
		config.ClientSessionCache = nil // a resumed session would have another client certificate
	}
	session := tls.Client(connection.socket, config)
	start := time.Now()
	err = session.HandshakeContext(dialCtx)
	phases.TLS = time.Since(start)
	if err != nil {
		connection.close()
		return nil, classify(ctx, stepTLS, err)
	}
	connection.stream = session
	return connection, nil
}

// watch makes the socket fail at once when ctx ends, until stop is called. stop reports
// whether the socket may be used again: it may not if ctx ended before.
func watch(ctx context.Context, s *socket) (stop func() bool) {
	if ctx.Done() == nil {
		return unwatched
	}
	return context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
}

func unwatched() bool { return true }

// isReusable reports whether an idle connection can carry another request: the peer has
// not closed it and has sent nothing since the last response. The deadline must
// be in the future.
func (c *conn) isReusable() bool {
	c.socket.probing = true
	n, err := c.stream.Read(c.stray[:])
	c.socket.probing = false
	return n == 0 && errors.Is(err, errNoData)
}

// socket is a net.Conn whose Read does not wait while probing is set. TLS
// sessions read through it, so that a probe processes what TLS itself sends
// between responses (session tickets) and only payload counts as stray.
type socket struct {
	net.Conn
	probing bool
	raw     syscall.RawConn // nil if the connection is not one of the kernel's
	readNow func(fd uintptr) bool
	buffer  []byte
	n       int
	err     error
}

func newSocket(raw net.Conn) *socket {
	s := &socket{Conn: raw}
	if sys, ok := raw.(syscall.Conn); ok {
		s.raw, _ = sys.SyscallConn()
	}
	// One closure for the connection's life: the probe is on the hot path.
	s.readNow = func(fd uintptr) bool {
		s.n, s.err = syscall.Read(int(fd), s.buffer)
		return true
	}
	return s
}

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	if !s.probing {
		return s.Conn.Read(b)
	}
	if s.raw == nil {
		return 0, errNoData
	}
	s.buffer = b
	err := s.raw.Read(s.readNow)
	s.buffer = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(s.err, syscall.EAGAIN), errors.Is(s.err, syscall.EINTR):
		return 0, errNoData
	case s.err != nil:
		return 0, s.err
	case s.n <= 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// noDataError is returned by a probe that found no data. It is a timeout, because crypto/tls
// closes the session on any other error.
type noDataError struct{}

var errNoData net.Error = noDataError{}

func (noDataError) Error() string   { return "nothing to read" }
func (noDataError) Timeout() bool   { return true }
func (noDataError) Temporary() bool { return true }
