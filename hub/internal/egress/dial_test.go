package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// names is a resolver whose names may change their minds: each lookup takes the
// next of the name's answers, the last one for good.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	lookups int
	delay   func()
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups++
	if n.delay != nil {
		n.delay()
	}
	host = strings.ToLower(host)
	answers := n.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.answers[host] = answers[1:]
	}
	var found []netip.Addr
	for _, text := range answers[0] {
		found = append(found, netip.MustParseAddr(text))
	}
	return found, nil
}

// listen opens a port and records the connections made to it.
func listen(t *testing.T, ip string, port string) (addr string, accepted chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, port))
	require.NoError(t, err)
	accepted = make(chan string, 16)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn.LocalAddr().String()
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		done.Wait()
	})
	return listener.Addr().String(), accepted
}

func dial(t *testing.T, g *Guard, addr string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	conn, err := g.DialContext(ctx, "tcp", addr)
	if err == nil {
		require.NoError(t, conn.Close())
	}
	return err
}

func TestDialRefusesEveryRefusedAddress(t *testing.T) {
	t.Parallel()
	resolver := &names{answers: map[string][][]string{}}
	g := newGuard(t, Config{Resolver: resolver})
	for i, prefix := range slices.Concat(refused, metadata) {
		for _, addr := range []netip.Addr{prefix.Addr(), prefix.Addr().Next()} {
			if !prefix.Contains(addr) {
				continue
			}
			spellings := []netip.Addr{addr}
			if addr.Is4() {
				spellings = append(spellings, netip.AddrFrom16(addr.As16())) // ::ffff:a.b.c.d
			}
			for _, spelling := range spellings {
				name := fmt.Sprintf("n%d.example", i)
				resolver.answers[name] = [][]string{{spelling.String()}}
				for _, host := range []string{name, spelling.String()} {
					var unreachable *UnreachableError
					require.ErrorAs(t, dial(t, g, net.JoinHostPort(host, "80")), &unreachable, host)
					require.True(t, unreachable.Refused, "%s %s", host, spelling)
				}
			}
		}
	}
}

func TestDialRebinding(t *testing.T) {
	t.Parallel()
	open, accepted := listen(t, "127.0.0.2", "0")
	_, port, err := net.SplitHostPort(open)
	require.NoError(t, err)
	_, trapped := listen(t, "127.0.0.1", port)
	resolver := &names{answers: map[string][][]string{
		"rebind.example": {{"127.0.0.2"}, {"127.0.0.1"}},
		"mixed.example":  {{"127.0.0.1", "127.0.0.2"}},
	}}
	// 127.0.0.2 stands for the public internet here, 127.0.0.1 for what it must not reach.
	g := newGuard(t, Config{Resolver: resolver, Allow: nets("127.0.0.2/32")})

	require.NoError(t, dial(t, g, "rebind.example:"+port))
	require.Equal(t, open, <-accepted)
	require.Equal(t, 1, resolver.lookups, "what was checked is what is dialled")
	var unreachable *UnreachableError
	require.ErrorAs(t, dial(t, g, "rebind.example:"+port), &unreachable)
	require.True(t, unreachable.Refused)

	require.NoError(t, dial(t, g, "mixed.example:"+port))
	require.Equal(t, open, <-accepted)
	require.Empty(t, trapped)
}

func TestDialRefusedReadsLikeUnreachable(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.3:0")
	require.NoError(t, err)
	addr := closed.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	require.NoError(t, closed.Close())

	g := newGuard(t, Config{Allow: nets("127.0.0.3/32"), Resolver: &names{answers: map[string][][]string{
		"inside.example": {{"127.0.0.1"}}, "closed.example": {{"127.0.0.3"}},
	}}})
	texts := map[string]bool{}
	for target, isRefused := range map[string]bool{
		"inside.example:" + port: true, "10.0.0.1:80": true, "169.254.169.254:80": true,
		"closed.example:" + port: false, addr: false, "nowhere.example:80": false, "no-port": false, "127.0.0.3:http": false, "127.0.0.3:65536": false,
	} {
		err := dial(t, g, target)
		var unreachable *UnreachableError
		require.ErrorAs(t, err, &unreachable, target)
		require.Equal(t, isRefused, unreachable.Refused, target)
		require.Error(t, unreachable.Cause)
		require.False(t, unreachable.Timeout())
		texts[err.Error()] = true
	}
	require.Equal(t, map[string]bool{"connecting: host unreachable": true}, texts)
}

func TestDialSelfAndDevelopment(t *testing.T) {
	t.Parallel()
	addr, accepted := listen(t, "127.0.0.1", "0")
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	resolver := &names{answers: map[string][][]string{
		"hub.example":   {{"127.0.0.1"}},
		"other.example": {{"127.0.0.1"}},
		"evil.example":  {{"169.254.169.254"}},
	}}
	self := newGuard(t, Config{Resolver: resolver, SelfURLs: []string{"http://hub.example:" + port}})
	require.NoError(t, dial(t, self, "Hub.Example:"+port))
	require.Equal(t, addr, <-accepted)
	require.Error(t, dial(t, self, "hub.example:1"))
	require.Error(t, dial(t, self, "other.example:"+port))
	require.Error(t, dial(t, self, addr))

	evil := newGuard(t, Config{Resolver: resolver, SelfURLs: []string{"http://evil.example"}})
	var unreachable *UnreachableError
	require.ErrorAs(t, dial(t, evil, "evil.example:80"), &unreachable)
	require.True(t, unreachable.Refused, "metadata is not opened by anything")

	development := newGuard(t, Config{Resolver: resolver, Development: true})
	require.NoError(t, dial(t, development, "other.example:"+port))
	require.Equal(t, addr, <-accepted)
}

func TestDialTimed(t *testing.T) {
	t.Parallel()
	addr, _ := listen(t, "127.0.0.1", "0")
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	now := time.Unix(0, 0)
	resolver := &names{
		answers: map[string][][]string{"slow.example": {{"127.0.0.1"}}},
		delay:   func() { now = now.Add(30 * time.Millisecond) },
	}
	g := newGuard(t, Config{Resolver: resolver, Development: true})
	g.now = func() time.Time { now = now.Add(time.Millisecond); return now }
	for host, want := range map[string]Timing{
		"slow.example": {DNS: 31 * time.Millisecond, Connect: time.Millisecond},
		"127.0.0.1":    {DNS: 0, Connect: time.Millisecond},
	} {
		conn, timing, err := g.DialTimed(t.Context(), "tcp", net.JoinHostPort(host, port))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.Equal(t, want, timing, host)
	}
}

// attempts is a dialer's attempts to connect, all of which fail: how much time each had,
// -1 for no limit.
type attempts struct {
	times []time.Duration
	then  func() // after an attempt
}

func (a *attempts) guard(t *testing.T, cfg Config) *Guard {
	t.Helper()
	g := newGuard(t, cfg)
	g.dialer.ControlContext = func(ctx context.Context, _, _ string, _ syscall.RawConn) error {
		deadline, ok := ctx.Deadline()
		if ok {
			a.times = append(a.times, time.Until(deadline))
		} else {
			a.times = append(a.times, -1)
		}
		if a.then != nil {
			a.then()
		}
		return errors.New("nobody is there")
	}
	return g
}

// Each of several addresses gets its share of the time that is left, and at least 2 s;
// the last one gets all of it.
func TestDialSharesTheTime(t *testing.T) {
	t.Parallel()
	resolver := &names{answers: map[string][][]string{"three.example": {{"127.0.0.1", "127.0.0.2", "127.0.0.3"}}}}
	for limit, want := range map[time.Duration][]time.Duration{
		0: {-1, -1, -1}, 60 * time.Second: {20 * time.Second, 30 * time.Second, 60 * time.Second}, 3 * time.Second: {minPerAddress, minPerAddress, 3 * time.Second},
	} {
		a := &attempts{}
		g := a.guard(t, Config{Resolver: resolver, Development: true})
		ctx := t.Context()
		if limit != 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		_, err := g.DialContext(ctx, "tcp", "three.example:9")
		var unreachable *UnreachableError
		require.ErrorAs(t, err, &unreachable)
		require.False(t, unreachable.Refused)
		require.Len(t, a.times, len(want))
		for i := range want {
			require.InDelta(t, want[i], a.times[i], float64(900*time.Millisecond), "address %d of %s", i, limit)
		}
	}
}

func TestDialStopsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	a := &attempts{then: cancel}
	g := a.guard(t, Config{Development: true, Resolver: &names{answers: map[string][][]string{"two.example": {{"127.0.0.1", "127.0.0.2"}}}}})
	_, err := g.DialContext(ctx, "tcp", "two.example:9")
	require.Error(t, err)
	require.Len(t, a.times, 1, "no further address once nobody waits")
}

// noAddresses is a resolver that has no address for a name, and does not call that an error.
type noAddresses struct{}

func (noAddresses) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, nil
}

func TestDialNameWithoutAddresses(t *testing.T) {
	t.Parallel()
	var dnsErr *net.DNSError
	for text, resolver := range map[string]Resolver{"no addresses": noAddresses{}, "no such host": &names{}} {
		err := dial(t, newGuard(t, Config{Resolver: resolver}), "empty.example:80")
		var unreachable *UnreachableError
		require.ErrorAs(t, err, &unreachable)
		require.False(t, unreachable.Refused, "nothing was refused")
		require.ErrorAs(t, err, &dnsErr)
		require.Equal(t, text, dnsErr.Err)
	}
}

// What no rule can open, not even being the hub's own address.
func TestPermitsNoUnusableAddresses(t *testing.T) {
	t.Parallel()
	g := newGuard(t, Config{Development: true, Allow: nets("0.0.0.0/0", "::/0")})
	require.False(t, g.permits(netip.Addr{}, true), "no address")
	require.False(t, g.permits(netip.MustParseAddr("2606:4700::1%eth0"), true), "an interface of this machine")
	require.True(t, g.permits(netip.MustParseAddr("2606:4700::1"), false))
}

func TestDialTimeout(t *testing.T) {
	t.Parallel()
	g := newGuard(t, Config{Development: true})
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := g.DialContext(ctx, "tcp", "127.0.0.1:9")
	var unreachable *UnreachableError
	require.ErrorAs(t, err, &unreachable)
	require.True(t, unreachable.Timeout())
	require.False(t, unreachable.Refused)
}

func TestTransportThroughGuard(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(server.Close)
	for development, ok := range map[bool]bool{true: true, false: false} {
		transport := &http.Transport{DialContext: newGuard(t, Config{Development: development}).DialContext}
		t.Cleanup(transport.CloseIdleConnections)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
		require.NoError(t, err)
		res, err := transport.RoundTrip(req)
		if ok {
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			continue
		}
		var unreachable *UnreachableError
		require.ErrorAs(t, err, &unreachable)
		require.Equal(t, "connecting: host unreachable", err.Error())
	}
}

func BenchmarkCheckURL(b *testing.B) {
	g := newGuard(b, Config{})
	for b.Loop() {
		_, _ = g.CheckURL("body.url", "https://example.com/hooks/1")
	}
}
