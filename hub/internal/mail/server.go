package mail

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Server is the address of an SMTP server, with credentials.
type Server struct {
	host     string
	port     int
	implicit bool // TLS from the first byte on
	user     string
	password string
}

// Ports of mail submission (RFC 6409, RFC 8314).
const (
	portSubmission  = 587
	portSubmissions = 465
)

// ParseServer parses smtp://user:password@host:587 or smtps://…:465; these ports are the
// defaults. Errors do not contain the address, which may hold a password.
func ParseServer(text string) (*Server, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "smtp" && parsed.Scheme != "smtps" || parsed.Hostname() == "" {
		return nil, errors.New("must be like smtp://user:password@mail.example.com:587 or smtps://…:465")
	}
	if parsed.Path != "" && parsed.Path != "/" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, errors.New("must end with the host and port")
	}
	s := &Server{host: parsed.Hostname(), port: portSubmission, implicit: parsed.Scheme == "smtps"}
	if s.implicit {
		s.port = portSubmissions
	}
	if explicitPort := parsed.Port(); explicitPort != "" {
		if s.port, err = strconv.Atoi(explicitPort); err != nil || s.port < 1 || s.port > 65535 {
			return nil, errors.New("has a port that is none")
		}
	}
	if parsed.User != nil {
		s.user = parsed.User.Username()
		s.password, _ = parsed.User.Password()
	}
	return s, nil
}

// String returns the host and port, without the credentials.
func (s *Server) String() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// GoString keeps the password out of %#v.
func (s *Server) GoString() string { return s.String() }

// isLoopback reports whether the connection stays on this machine and may do without
// TLS.
func (s *Server) isLoopback() bool {
	if s.implicit {
		return false
	}
	ip, err := netip.ParseAddr(s.host)
	return s.host == "localhost" || err == nil && ip.IsLoopback()
}

// timeout limits the conversation with the server about one email.
const timeout = 30 * time.Second

// connect opens a connection and logs in. TLS is required except on loopback.
func (o *Outbox) connect(ctx context.Context) (*gomail.Client, error) {
	s := o.config.Server
	if s == nil {
		return nil, connectError{errors.New("no mail server is set (HUB_SMTP_URL)")}
	}
	options := []gomail.Option{gomail.WithPort(s.port), gomail.WithTimeout(timeout), gomail.WithoutNoop()}
	var conn net.Conn
	if !s.implicit {
		options = append(options, gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			conn, err = o.dial(ctx, network, address)
			return conn, err
		}))
	}
	mechanism := gomail.SMTPAuthAutoDiscover // includes mechanisms that need TLS
	switch {
	case s.isLoopback():
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
		mechanism = gomail.SMTPAuthPlain
	case s.implicit:
		options = append(options, gomail.WithSSL())
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if o.config.TLS != nil {
		config := o.config.TLS.Clone()
		config.ServerName = s.host
		options = append(options, gomail.WithTLSConfig(config))
	}
	if s.user != "" {
		options = append(options, gomail.WithSMTPAuth(mechanism), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	client, err := gomail.NewClient(s.host, options...)
	if err != nil {
		return nil, connectError{err}
	}
	if err := client.DialWithContext(ctx); err != nil {
		if conn != nil { // go-mail leaves it open when the greeting, STARTTLS or the login fails
			_ = conn.Close()
		}
		return nil, connectError{err}
	}
	return client, nil
}

func (o *Outbox) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if o.config.Dial != nil {
		return o.config.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// connectError is an error from before the first email of a connection.
type connectError struct{ error }

// Unwrap returns the error of the network or the server.
func (e connectError) Unwrap() error { return e.error }
