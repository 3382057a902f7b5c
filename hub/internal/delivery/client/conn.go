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
// It is where the egress rules are applied. A conn that wraps the kernel's must
// keep its SyscallConn method: without it an idle connection cannot be looked at
// before it is used again, and stray bytes on it go unnoticed.
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
func (cn *conn) close() { _ = cn.socket.Close() }

// dial connects to the target and sets up TLS, all before deadline.
func (c *Client) dial(ctx context.Context, t *Destination, deadline time.Time, ph *Phases) (*conn, error) {
	dialCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	raw, dns, connect, err := c.cfg.Dial(dialCtx, "tcp", t.addr)
	ph.DNS, ph.Connect = dns, connect
	if err != nil {
		return nil, failed(dialCtx, stepConnect, err)
	}
	cn := &conn{socket: newSocket(raw), key: t.key}
	cn.stream = cn.socket
	if err = raw.SetDeadline(deadline); err != nil {
		cn.close()
		return nil, failed(ctx, stepConnect, err)
	}
	if !t.tls {
		return cn, nil
	}
	config := c.tls.Clone()
	config.ServerName = t.host
	if t.certificate != nil {
		config.Certificates = []tls.Certificate{*t.certificate}
		config.ClientSessionCache = nil // a resumed session would speak for whoever began it
	}
	session := tls.Client(cn.socket, config)
	start := time.Now()
	err = session.HandshakeContext(dialCtx)
	ph.TLS = time.Since(start)
	if err != nil {
		cn.close()
		return nil, failed(ctx, stepTLS, err)
	}
	cn.stream = session
	return cn, nil
}

// watch makes the socket fail at once when ctx ends, until stop is called. stop
// reports whether it came in time: if not, the socket must not be used again.
func watch(ctx context.Context, s *socket) (stop func() bool) {
	if ctx.Done() == nil {
		return unwatched
	}
	return context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) })
}

func unwatched() bool { return true }

// fit reports whether an idle connection can carry another request: the peer has
// not closed it and has sent nothing since the last response. The deadline must
// be in the future.
func (cn *conn) fit() bool {
	cn.socket.probing = true
	n, err := cn.stream.Read(cn.stray[:])
	cn.socket.probing = false
	return n == 0 && errors.Is(err, errNothing)
}

// socket is a net.Conn whose Read does not wait while probing is set. TLS
// sessions read through it, so that a probe digests what TLS itself sends
// between responses (session tickets) and only payload counts as stray.
type socket struct {
	net.Conn
	probing bool
	raw     syscall.RawConn // nil when the connection is none of the kernel's
	readNow func(fd uintptr) bool
	into    []byte
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
		s.n, s.err = syscall.Read(int(fd), s.into)
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
		return 0, errNothing
	}
	s.into = b
	err := s.raw.Read(s.readNow)
	s.into = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(s.err, syscall.EAGAIN), errors.Is(s.err, syscall.EINTR):
		return 0, errNothing
	case s.err != nil:
		return 0, s.err
	case s.n <= 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// nothing is the probe's good news, in the form of a passing time-out: crypto/tls
// takes any other error as the end of the session.
type nothing struct{}

var errNothing net.Error = nothing{}

func (nothing) Error() string   { return "nothing to read" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }
