package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// Kind classifies failed requests.
type Kind string

// The kinds of failure. A time-out or a reset has its own kind in every step; the error's text
// names the step.
const (
	KindRequest  Kind = "request"  // the caller's headers cannot be sent; nothing was dialled
	KindDNS      Kind = "dns"      // the host name has no address
	KindConnect  Kind = "connect"  // no connection
	KindTLS      Kind = "tls"      // no trusted TLS session
	KindTimeout  Kind = "timeout"  // not finished by the deadline
	KindReset    Kind = "reset"    // the peer closed or reset the connection before the response ended
	KindProtocol Kind = "protocol" // the response is not HTTP/1 with valid framing
	KindCanceled Kind = "canceled" // the caller's context ended, or the client is closed
)

// Error is the error of a failed POST. Its text names the step and the reason and holds
// no address, header or URL: it may be shown in the delivery log.
type Error struct {
	Kind  Kind
	text  string
	cause error
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Unwrap returns the error underneath, which may name addresses; nil when there is none.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of an error from [Client.Post], "" for any other error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// step is a part of a POST, in words for the error's text.
type step string

const (
	stepConnect step = "connecting"
	stepTLS     step = "setting up TLS"
	stepSend    step = "sending the request"
	stepWait    step = "waiting for the response"
	stepHead    step = "reading the response header"
	stepBody    step = "reading the response body"
)

// violation is a broken rule of HTTP/1.1 framing, in words.
type violation string

func (v violation) Error() string { return string(v) }

// classify returns the error of a step. The context is checked first: when it
// ended, the socket's error is only a consequence.
func classify(ctx context.Context, current step, err error) *Error {
	kind, reason := kindAndReason(ctx, current, err)
	return &Error{Kind: kind, text: string(current) + ": " + reason, cause: err}
}

func kindAndReason(ctx context.Context, current step, err error) (Kind, string) {
	switch ctx.Err() {
	case nil:
	case context.DeadlineExceeded:
		if failure := proxyFailure(err); failure != "" {
			return KindTimeout, failure
		}
		return KindTimeout, "timed out"
	default:
		return KindCanceled, "canceled"
	}
	var broken violation
	if errors.As(err, &broken) {
		return KindProtocol, string(broken)
	}
	if current == stepConnect {
		return classifyDial(err)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return KindTimeout, "timed out"
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return KindReset, "the peer closed the connection"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return KindReset, "the peer reset the connection"
	}
	if current == stepTLS || alertOf(err) != nil {
		return KindTLS, tlsReason(err)
	}
	return KindReset, "the connection broke"
}

// proxyFailure returns what is wrong with the egress proxy, "" if it is not the cause of an
// error. It names no address but the proxy's.
func proxyFailure(err error) string {
	var proxy interface{ ProxyFailure() string } // of package egress
	if errors.As(err, &proxy) {
		return proxy.ProxyFailure()
	}
	return ""
}

// HideProxy returns the text of an [Error] without the egress proxy: that of a receiver that
// cannot be reached instead.
func HideProxy(text string) string {
	if IsProxyFailure(text) {
		return connecting + unreachable
	}
	return text
}

// IsProxyFailure reports whether the text of an [Error] is about the egress proxy.
func IsProxyFailure(text string) bool { return strings.HasPrefix(text, connecting+egressProxy) }

// connecting begins the texts of errors without a connection.
const connecting = string(stepConnect) + ": "

// egressProxy begins the failures of package egress about the proxy.
const egressProxy = "the egress proxy "

// unreachable is the reason for all failures to connect that have no other.
const unreachable = "host unreachable"

// classifyDial maps every unknown reason to the text of an unreachable host, so
// that an address the egress rules refuse looks like one that is not there.
func classifyDial(err error) (Kind, string) {
	if failure := proxyFailure(err); failure != "" {
		return KindConnect, failure
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		if dns.IsNotFound {
			return KindDNS, "no such host"
		}
		return KindDNS, "the host name could not be resolved"
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return KindTimeout, "timed out"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return KindConnect, "connection refused"
	}
	return KindConnect, unreachable
}

func tlsReason(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		plain     tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &name):
		return "the certificate is not valid for this host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not yet valid"
	case errors.As(err, &invalid):
		return "the certificate is not valid"
	case errors.As(err, &plain):
		return "the peer does not speak TLS"
	}
	if alert := alertOf(err); alert != nil {
		return "the peer refused: " + strings.TrimPrefix(alert.Error(), "tls: ")
	}
	return "the handshake failed"
}

// alertOf returns the TLS alert that a peer sent, nil if err is none. With TLS 1.3 the alert of
// a peer that refuses a client arrives after the client's handshake.
func alertOf(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" { // crypto/tls's only mark of it
		return op.Err
	}
	return nil
}
