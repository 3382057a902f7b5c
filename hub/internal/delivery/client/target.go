package client

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Destination is the parsed URL of a receiver, so that a POST does no work on the URL. It
// is immutable and may be shared between goroutines.
type Destination struct {
	tls   bool
	host  string // for TLS: the name the certificate must carry, without port or brackets
	addr  string // host:port to dial
	key   string // scheme and address: connections with the same key are interchangeable
	start []byte // request line and Host header, CRLF at the end
	// certificate is shown to the peer, if it asks for one; nil = none.
	certificate *tls.Certificate
}

// NewDestination parses an absolute http or https URL. The fragment is dropped;
// spaces and other bytes that may not stand in a request line are
// percent-encoded. Userinfo, zones of IPv6 addresses and host names that are not
// plain ASCII are refused. The error never repeats the URL, which may carry a
// token in its query.
func NewDestination(rawURL string) (*Destination, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, invalidURL("it is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, invalidURL("the scheme must be http or https")
	}
	if u.User != nil {
		return nil, invalidURL("it must not carry a user name or password")
	}
	t := &Destination{tls: u.Scheme == "https"}
	if t.host, err = checkHost(u); err != nil {
		return nil, err
	}
	standard := "80"
	if t.tls {
		standard = "443"
	}
	port := u.Port()
	if port == "" {
		port = standard
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, invalidURL("the port must be between 1 and 65535")
	}
	port = strconv.FormatUint(number, 10) // "0443" is 443
	t.addr = net.JoinHostPort(t.host, port)
	t.key = u.Scheme + "://" + t.addr

	hostHeader := t.addr
	if port == standard {
		hostHeader = strings.TrimSuffix(t.addr, ":"+port)
	}
	t.start = append(t.start, "POST "...)
	t.start = appendRequestURI(t.start, u.RequestURI())
	t.start = append(t.start, " HTTP/1.1\r\nHost: "...)
	t.start = append(t.start, hostHeader...)
	t.start = append(t.start, "\r\n"...)
	return t, nil
}

// WithCertificate returns the destination with a client certificate. Its connections serve this
// certificate and owner alone.
func (t *Destination) WithCertificate(certificate *tls.Certificate, owner string) *Destination {
	own := *t
	hash := sha256.New()
	hash.Write([]byte(owner))
	for _, der := range certificate.Certificate {
		hash.Write(der)
	}
	own.certificate = certificate
	own.key = t.key + " " + hex.EncodeToString(hash.Sum(nil))
	return &own
}

func invalidURL(why string) error {
	return fmt.Errorf("parsing the webhook URL: %s", why)
}

// checkHost returns the host in lower case, without brackets.
func checkHost(u *url.URL) (string, error) {
	host := strings.ToLower(u.Hostname())
	if host == "" {
		return "", invalidURL("it has no host")
	}
	if strings.HasPrefix(u.Host, "[") {
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.Zone() != "" {
			return "", invalidURL("the host is not a plain IPv6 address")
		}
		return host, nil
	}
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return "", invalidURL("the host may only have ASCII letters, digits, dots and hyphens")
		}
	}
	return host, nil
}

// appendRequestURI copies a path and query, percent-encoding what may not stand
// in a request line: url.Parse lets spaces and non-ASCII bytes through in queries.
func appendRequestURI(dst []byte, uri string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(uri) {
		c := uri[i]
		if c <= ' ' || c >= 0x7f {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
			continue
		}
		dst = append(dst, c)
	}
	return dst
}
