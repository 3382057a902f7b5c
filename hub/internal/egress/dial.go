package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// minPerAddress is the least time for one of several addresses, if the deadline allows it.
const minPerAddress = 2 * time.Second

// Timing is how long the steps of a connection took.
type Timing struct {
	DNS     time.Duration // name resolution; 0 for an IP address
	Connect time.Duration // TCP handshake, attempts at further addresses included
}

// UnreachableError is the error of every failure to connect. Its text is always the same and
// reveals nothing of our network: a refused address looks like a name that does not exist or a
// closed port. The cause is for logs.
type UnreachableError struct {
	Refused bool  // the egress rules forbid all addresses of the host
	Literal bool  // the host is an address itself, so that its refusal reveals nothing
	Cause   error // what happened; names addresses
}

// Error implements error.
func (*UnreachableError) Error() string { return "connecting: host unreachable" }

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Timeout reports whether time ran out, as in [net.Error].
func (e *UnreachableError) Timeout() bool {
	var timeout interface{ Timeout() bool }
	return errors.As(e.Cause, &timeout) && timeout.Timeout()
}

// DialContext is [Guard.DialTimed] in the form http.Transport wants.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, _, err := g.DialTimed(ctx, network, addr)
	return conn, err
}

// DialTimed connects to addr ("host:port") and returns how long it took. The host is
// resolved once; each of its addresses is checked, and the connection is made to
// an address that was checked: by the proxy, where there is one, unless the address is the
// hub's own or loopback. Errors are *[UnreachableError].
func (g *Guard) DialTimed(ctx context.Context, network, addr string) (net.Conn, Timing, error) {
	var timing Timing
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, timing, &UnreachableError{Cause: err}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, timing, &UnreachableError{Cause: err}
	}
	start := g.now()
	found, isLiteral, err := g.resolve(ctx, host)
	if !isLiteral {
		timing.DNS = g.now().Sub(start)
	}
	if err != nil {
		return nil, timing, &UnreachableError{Cause: err}
	}
	isSelf := g.isSelf(host, port)
	open := found[:0:0]
	for _, ip := range found {
		if g.permits(ip, isSelf) {
			open = append(open, ip.Unmap())
		}
	}
	if len(open) == 0 {
		return nil, timing, &UnreachableError{Refused: true, Literal: isLiteral, Cause: fmt.Errorf("egress rules refuse %s (%v)", addr, found)}
	}
	start = g.now()
	conn, err := g.dialFirst(ctx, network, open, uint16(number), isSelf)
	timing.Connect = g.now().Sub(start)
	if err != nil {
		return nil, timing, &UnreachableError{Cause: err}
	}
	return conn, timing, nil
}

// resolve returns the addresses of a host; isLiteral reports whether the host is an address itself.
func (g *Guard) resolve(ctx context.Context, host string) (found []netip.Addr, isLiteral bool, err error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, true, nil
	}
	found, err = g.resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return found, false, err
}

// dialFirst connects to the first address that answers. Each address but the last gets a share
// of the time that remains.
func (g *Guard) dialFirst(ctx context.Context, network string, addrs []netip.Addr, port uint16, isSelf bool) (net.Conn, error) {
	var first error
	for i, addr := range addrs {
		isDirect := g.proxy == nil || isSelf || addr.IsLoopback()
		conn, err := g.dialAddress(ctx, network, netip.AddrPortFrom(addr, port), isDirect, len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (g *Guard) dialAddress(ctx context.Context, network string, addr netip.AddrPort, isDirect bool, remaining int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		share := max(time.Until(deadline)/time.Duration(remaining), minPerAddress)
		shared, cancel := context.WithTimeout(ctx, share)
		defer cancel()
		ctx = shared
	}
	if !isDirect {
		return g.proxy.dial(ctx, &g.dialer, network, addr)
	}
	return g.dialer.DialContext(ctx, network, addr.String())
}
