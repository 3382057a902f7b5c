package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// maxProxyAnswer bounds what is read of a proxy's answer to CONNECT, in bytes.
const maxProxyAnswer = 16 << 10

// proxy asks an http or https proxy for tunnels (CONNECT).
type proxy struct {
	addr     string      // host:port, as errors name it
	tls      *tls.Config // nil = plain http
	userinfo string      // value of Proxy-Authorization; "" = none
}

// newProxy returns a proxy by its URL, whose user information are its credentials.
func newProxy(u *url.URL) (*proxy, error) {
	port := portOf(u)
	if u.Hostname() == "" || port == "" {
		return nil, errors.New("reading the URL of the egress proxy: it is not an absolute http(s) URL")
	}
	p := &proxy{addr: net.JoinHostPort(u.Hostname(), port)}
	if u.Scheme == "https" {
		p.tls = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		p.userinfo = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	return p, nil
}

// ProxyError is a failure of the egress proxy, or its refusal to connect to an address. Its
// text names the proxy, without credentials, and not the address.
type ProxyError struct {
	Proxy   string // host and port
	Problem string
	timeout bool
}

// Error implements error.
func (e *ProxyError) Error() string { return "the egress proxy " + e.Proxy + " " + e.Problem }

// ProxyFailure returns the error's text. HTTP clients know the failure of a proxy by it.
func (e *ProxyError) ProxyFailure() string { return e.Error() }

// Timeout reports whether time ran out, as in [net.Error].
func (e *ProxyError) Timeout() bool { return e.timeout }

func (p *proxy) failure(err error, problem string) *ProxyError {
	var timeout interface{ Timeout() bool }
	return &ProxyError{Proxy: p.addr, Problem: problem, timeout: errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()}
}

// dial returns a connection to an address through the proxy. Errors are *[ProxyError].
func (p *proxy) dial(ctx context.Context, dialer *net.Dialer, network string, to netip.AddrPort) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, p.addr)
	if err != nil {
		return nil, p.failure(err, "cannot be reached")
	}
	tunnel, err := p.connect(ctx, conn, to)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// connect makes a connection to the proxy one to an address.
func (p *proxy) connect(ctx context.Context, conn net.Conn, to netip.AddrPort) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	raw := conn
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if p.tls != nil {
		session := tls.Client(conn, p.tls)
		if err := session.HandshakeContext(ctx); err != nil {
			return nil, p.failure(err, "has no valid TLS session")
		}
		conn = session
	}
	if err := p.sendConnect(conn, to); err != nil {
		return nil, err
	}
	if !stop() {
		return nil, p.failure(ctx.Err(), "did not respond in time")
	}
	if err := raw.SetDeadline(time.Time{}); err != nil {
		return nil, p.failure(err, "closed the connection")
	}
	return conn, nil
}

// sendConnect sends CONNECT and reads the response.
func (p *proxy) sendConnect(conn net.Conn, to netip.AddrPort) error {
	request := "CONNECT " + to.String() + " HTTP/1.1\r\nHost: " + to.String() + "\r\n"
	if p.userinfo != "" {
		request += "Proxy-Authorization: " + p.userinfo + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return p.failure(err, "closed the connection")
	}
	answer := bufio.NewReader(io.LimitReader(conn, maxProxyAnswer))
	response, err := http.ReadResponse(answer, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return p.failure(err, "did not respond to CONNECT")
	}
	_ = response.Body.Close()
	if response.StatusCode/100 != 2 {
		return p.failure(nil, fmt.Sprintf("responded to CONNECT with %d", response.StatusCode))
	}
	if answer.Buffered() > 0 {
		return p.failure(nil, "sent data before the tunnel was used")
	}
	return nil
}

// CheckProxy connects to the egress proxy, if there is one, and returns how it is called in
// errors. It asks it for nothing.
func (g *Guard) CheckProxy(ctx context.Context) (name string, err error) {
	if g.proxy == nil {
		return "", nil
	}
	conn, err := g.dialer.DialContext(ctx, "tcp", g.proxy.addr)
	if err != nil {
		return g.proxy.addr, g.proxy.failure(err, "cannot be reached")
	}
	return g.proxy.addr, conn.Close()
}
