package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"integrationhub/hub"
)

// maxURL is the longest URL that is taken, in bytes.
const maxURL = 2048

// CheckURL parses a customer's address. If the hub does not connect to it, the
// error is a [hub.ErrInvalid] with the code "url_not_allowed" that names
// location ("body.url"), never the address. Names are not resolved here: where
// they lead is checked when they are dialled.
func (g *Guard) CheckURL(location, raw string) (*url.URL, error) {
	u, problem := g.check(raw)
	if problem != "" {
		return nil, notAllowed(location, problem)
	}
	return u, nil
}

// CheckHTTPS is [Guard.CheckURL] for addresses that have to be https outside
// development.
func (g *Guard) CheckHTTPS(location, raw string) (*url.URL, error) {
	u, problem := g.check(raw)
	if problem == "" && u.Scheme != "https" && !g.development {
		problem = "must be an https URL"
	}
	if problem != "" {
		return nil, notAllowed(location, problem)
	}
	return u, nil
}

func notAllowed(location, problem string) *hub.Error {
	err := hub.Invalid(location, problem)
	err.Code = "url_not_allowed"
	return err
}

// check returns the URL, or what is wrong with it.
func (g *Guard) check(raw string) (u *url.URL, problem string) {
	if len(raw) > maxURL {
		return nil, "must have at most " + strconv.Itoa(maxURL) + " characters"
	}
	for i := range len(raw) {
		if c := raw[i]; c <= ' ' || c == 0x7f || c == '\\' {
			return nil, "must not contain spaces, control characters or backslashes"
		}
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Host == "" {
		return nil, "must be an absolute http or https URL"
	}
	if u.User != nil {
		return nil, "must not contain a user name or password"
	}
	if strings.Contains(raw, "#") {
		return nil, "must not have a fragment"
	}
	if strings.HasSuffix(u.Host, ":") || !validPort(u.Port()) {
		return nil, "must have a port between 1 and 65535, or none"
	}
	return u, g.checkHost(u)
}

func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// checkHost returns what is wrong with the host of a URL, "" if nothing.
func (g *Guard) checkHost(u *url.URL) (problem string) {
	const notPublic = "must not lead into a private or reserved network"
	const notLoopback = "must not lead to the hub's own machine (loopback), which is open in development only"
	host := strings.ToLower(u.Hostname())
	self := g.isSelf(host, portOf(u))
	if strings.HasPrefix(u.Host, "[") || endsInNumber(host) {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Is4() == strings.HasPrefix(u.Host, "[") {
			return "must have a host name or an IP address in its usual form"
		}
		switch {
		case g.permits(addr, self):
			return ""
		case addr.Unmap().IsLoopback():
			return notLoopback
		default:
			return notPublic
		}
	}
	if !validName(host) {
		return "must have a plain host name (international ones in their xn-- form)"
	}
	if host == metadataName {
		return notPublic
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		if !self && !g.permits(netip.AddrFrom4([4]byte{127, 0, 0, 1}), false) && !g.permits(netip.IPv6Loopback(), false) {
			return notLoopback
		}
	}
	return ""
}

// endsInNumber reports whether some resolver would read a host as an IPv4 address:
// its last label, a trailing dot aside, is a decimal, octal or hexadecimal number,
// as in 127.1, 0x7f.1, 017700000001 and 2130706433. No top-level domain is one.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// validName reports whether host is a name of 1–63 byte labels of a–z 0–9 - _ without
// a trailing dot.
func validName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			switch {
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			default:
				return false
			}
		}
	}
	return true
}
