// Package egress decides where the hub may connect to. Customers' addresses are checked when
// they are set ([Guard.CheckURL]) and again, after name resolution, when they are dialled
// ([Guard.DialTimed]): a name may resolve differently by then. HTTP clients that use it must
// neither follow redirects nor use a proxy of their own: [Config] has the operator's.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Resolver finds the addresses of a name; *[net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is what is open besides the public internet.
type Config struct {
	Allow       []netip.Prefix // networks opened by the operator (HUB_EGRESS_ALLOW)
	SelfURLs    []string       // the hub's own addresses, whose hosts and ports are always open
	Development bool           // opens loopback and lets CheckHTTPS take http
	Resolver    Resolver       // nil = the system's
	Proxy       *url.URL       // connections to other machines go through it (CONNECT), after the rules; nil = none
}

// Guard applies the egress rules. It is safe for concurrent use.
type Guard struct {
	allow       []netip.Prefix
	self        []origin
	development bool
	resolver    Resolver
	proxy       *proxy // nil = none
	dialer      net.Dialer
	now         func() time.Time
}

// origin is a place of the hub's own.
type origin struct {
	host string // lower case, without brackets
	port string
}

// New returns a guard. It fails when one of SelfURLs is not an absolute http(s) URL.
func New(cfg Config) (*Guard, error) {
	g := &Guard{development: cfg.Development, resolver: cfg.Resolver, now: time.Now}
	if g.resolver == nil {
		g.resolver = net.DefaultResolver
	}
	for _, prefix := range cfg.Allow {
		g.allow = append(g.allow, unmapPrefix(prefix))
	}
	if cfg.Proxy != nil {
		var err error
		if g.proxy, err = newProxy(cfg.Proxy); err != nil {
			return nil, err
		}
	}
	for _, text := range cfg.SelfURLs {
		self, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("reading the hub's own URL: %w", err)
		}
		own := origin{strings.ToLower(self.Hostname()), portOf(self)}
		if own.host == "" || own.port == "" {
			return nil, errors.New("reading the hub's own URL: it is not an absolute http(s) URL")
		}
		g.self = append(g.self, own)
	}
	return g, nil
}

// isSelf reports whether host and port are those of one of the hub's own addresses.
func (g *Guard) isSelf(host, port string) bool {
	return slices.Contains(g.self, origin{strings.ToLower(host), port})
}

// portOf returns the port of an http(s) URL, the scheme's own where it has none; ""
// for other schemes.
func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case u.Scheme != "http" && u.Scheme != "https":
		return ""
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// permits reports whether the hub may connect to addr; isSelf reports whether it is an address
// of the hub's own public URL.
func (g *Guard) permits(addr netip.Addr, isSelf bool) bool {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" || isMetadata(addr) {
		return false
	}
	if inner, ok := embedded(addr); ok {
		// An IPv6 address that embeds an IPv4 one: both have to be permitted.
		return contains(g.allow, addr) && g.permits(inner, false)
	}
	return isSelf || isPublic(addr) || contains(g.allow, addr) || g.development && addr.IsLoopback()
}

// refused lists what is not the public internet: the special-purpose registries of
// IANA, and site-local addresses.
var refused = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carriers' NAT
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast
	"::/96",           // unspecified, loopback, IPv4-compatible
	"::ffff:0:0:0/96", // IPv4-translated
	"64:ff9b::/96",    // NAT64
	"64:ff9b:1::/48",  // local NAT64
	"100::/32",        // discard
	"2001::/23",       // protocol assignments, Teredo among them
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4
	"3fff::/20",       // documentation
	"5f00::/16",       // segment routing
	"fc00::/7",        // private
	"fe80::/10",       // link-local
	"fec0::/10",       // site-local
	"ff00::/8",        // multicast
)

// globalV6 is all IPv6 space that has ever been given out.
var globalV6 = netip.MustParsePrefix("2000::/3")

func isPublic(addr netip.Addr) bool {
	return !contains(refused, addr) && (addr.Is4() || globalV6.Contains(addr))
}

// metadata lists the addresses where clouds hand credentials to their machines.
// Nothing opens them.
var metadata = prefixes(
	"100.100.100.200/32", // Alibaba
	"168.63.129.16/32",   // Azure
	"169.254.169.254/32", // most
	"169.254.169.253/32", // AWS resolver
	"169.254.170.2/32",   // AWS containers
	"169.254.170.23/32",  // AWS pods
	"192.0.0.192/32",     // Oracle
	"fd00:ec2::/32",      // AWS
	"fd20:ce::254/128",   // Google
)

// metadataName is such an address by name.
const metadataName = "metadata.google.internal"

func isMetadata(addr netip.Addr) bool { return contains(metadata, addr) }

// Networks whose addresses carry an IPv4 address that the packets end up at.
var (
	sixToFour = netip.MustParsePrefix("2002::/16") // in the bytes after the prefix
	lowEnd    = prefixes("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)

// embedded returns the IPv4 address that an IPv6 address leads to.
func embedded(addr netip.Addr) (inner netip.Addr, ok bool) {
	if addr.Is4() || addr == netip.IPv6Loopback() || addr == netip.IPv6Unspecified() {
		return inner, false
	}
	raw := addr.As16()
	switch {
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(raw[2:6])), true
	case contains(lowEnd, addr):
		return netip.AddrFrom4([4]byte(raw[12:16])), true
	}
	return inner, false
}

func contains(list []netip.Prefix, addr netip.Addr) bool {
	for i := range list {
		if list[i].Contains(addr) {
			return true
		}
	}
	return false
}

// unmapPrefix turns ::ffff:10.0.0.0/104 into 10.0.0.0/8; addresses are compared
// in their short form.
func unmapPrefix(prefix netip.Prefix) netip.Prefix {
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		return netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96).Masked()
	}
	return prefix.Masked()
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}
