package egress

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func newGuard(t testing.TB, cfg Config) *Guard {
	t.Helper()
	g, err := New(cfg)
	require.NoError(t, err)
	return g
}

func nets(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// refusedHosts are refused in production, with nothing opened.
var refusedHosts = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
	"169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
	"192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
	"240.0.0.1", "255.255.255.255", "100.100.100.200", "168.63.129.16",
	"[::]", "[::1]", "[::127.0.0.1]", "[::8.8.8.8]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]",
	"[64:ff9b::7f00:1]", "[64:ff9b::8.8.8.8]", "[64:ff9b:1::1]", "[100::1]", "[2001::1]", "[2001:1ff::1]", "[2001:db8::1]",
	"[2002:7f00:1::]", "[2002:808:808::1]", "[3fff::1]", "[5f00::1]", "[fc00::1]", "[fd00:ec2::254]", "[fdff::1]",
	"[fe80::1]", "[fe80::1%25eth0]", "[2606:4700::1%25eth0]", "[fec0::1]", "[ff02::1]", "[4000::1]", "[::1:0:0:1]",
	"localhost", "LOCALHOST", "a.localhost", "localhost.", "metadata.google.internal", "Metadata.Google.Internal",
	// spellings that some resolver takes for 127.0.0.1 or its like
	"127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0X7F.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "127.0.0.01",
	"127.0.0.0x1", "1.2.3.4.5", "1.2.3", "256.1.1.1", "0x", "0", "foo.0x7f", "foo.1", "①②⑦.0.0.1", "127。0。0。1", "１２７.0.0.1",
	"[127.0.0.1]", "[::1", "::1", "[]", "[v1.x]", "%31%32%37.0.0.1", "127%2e0.0.1", "ex ample.com", "exämple.com", "a..b", ".a", "a.",
	"[8.8.8.8]", "-%00", "a,b", "a!b", "a'b", "a;b", "(a)", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 130) + "com",
}

func TestCheckURLRefusesHosts(t *testing.T) {
	t.Parallel()
	g := newGuard(t, Config{})
	for _, host := range refusedHosts {
		for _, raw := range []string{"http://" + host + "/hook", "https://" + host + ":8443/hook?a=b"} {
			_, err := g.CheckURL("body.url", raw)
			var entry *hub.Error
			require.ErrorAs(t, err, &entry, raw)
			require.ErrorIs(t, err, hub.ErrInvalid)
			require.Equal(t, "url_not_allowed", entry.Code)
			require.Equal(t, "body.url", entry.Fields[0].Location)
		}
	}
}

// longestName is a host name of 253 characters.
var longestName = strings.Repeat(strings.Repeat("a", 49)+".", 5) + "com"

func TestCheckURLForms(t *testing.T) {
	t.Parallel()
	g := newGuard(t, Config{})
	for _, raw := range []string{
		"http://example.com", "https://example.com/hook?a=b&c=%20d", "HTTPS://Example.COM:8443/x", "https://xn--exmple-cua.com/", "http://8.8.8.8/",
		"https://[2606:4700:4700::1111]:443/", "http://a_b.example/", "https://1.1.1.1.example.com/", "https://deadbeef/", "https://0x7f.example/",
		"https://example.com/é", "https://192.169.0.1/", "https://172.32.0.1/", "https://100.128.0.1/", "https://[2001:200::1]/",
		"https://example.com:65535/", "https://example.com:1/", "http://az09-_.az09.example/",
		"http://" + longestName + "/", "http://" + strings.Repeat("a", 63) + ".example/",
		"https://localhost.example.com/", "https://example.com/" + strings.Repeat("a", 2028),
	} {
		u, err := g.CheckURL("body.url", raw)
		require.NoError(t, err, raw)
		require.NotEmpty(t, u.Host)
	}
	for _, raw := range []string{
		"", "example.com", "/path", "//example.com/", "ftp://example.com", "file:///etc/passwd", "gopher://example.com", "javascript:alert(1)",
		"http://" + longestName + "a/", "http://" + strings.Repeat("a", 64) + ".example/", "http://{.example/", "http://a`b.example/",
		"http:example.com", "http:/example.com", "http://", "http:///x", "http://:80/", "http://example.com:", "http://example.com:/",
		"http://example.com:0/", "http://example.com:65536/", "http://example.com:80a/", "http://example.com:-1/",
		"http://user@example.com/", "http://user:pass@example.com/", "http://@example.com/", "http://example.com@127.0.0.1/",
		"http://example.com/#x", "http://example.com/#", "http://example.com/\r\nHost: x", "http://example.com/\nx", "http://exam\tple.com/",
		"http://example.com/a b", " http://example.com/", "http://example.com/ ", "http://example.com/\x00", "http://example.com/\x7f",
		`http://example.com\@127.0.0.1/`, `http:\\example.com/`, "http://example.com/%zz", "http://example.com/" + strings.Repeat("a", 2048),
	} {
		_, err := g.CheckURL("body.url", raw)
		require.ErrorIs(t, err, hub.ErrInvalid, "%q", raw)
	}
}

// Loopback cannot be opened in production: what is said of it must not lead to HUB_EGRESS_ALLOW.
func TestCheckURLOfLoopback(t *testing.T) {
	t.Parallel()
	g := newGuard(t, Config{})
	for _, raw := range []string{"http://127.0.0.1:9/", "http://127.8.8.8/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://localhost/", "http://x.localhost/"} {
		_, err := g.CheckURL("body.url", raw)
		require.ErrorContains(t, err, "must not lead to the hub's own machine (loopback), which is open in development only", raw)
	}
	_, err := g.CheckURL("body.url", "http://10.0.0.1/")
	require.ErrorContains(t, err, "private or reserved network")
}

func TestCheckURLNeverEchoes(t *testing.T) {
	t.Parallel()
	g := newGuard(t, Config{})
	for _, raw := range []string{"http://u:canary@x/", "canary", "http://canary canary/", "http://127.0.0.1/canary"} {
		_, err := g.CheckURL("body.url", raw)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestCheckURLOpened(t *testing.T) {
	t.Parallel()
	production := newGuard(t, Config{SelfURLs: []string{"https://hub.example.com"}})
	local := newGuard(t, Config{SelfURLs: []string{"http://localhost:8080"}})
	localHTTPS := newGuard(t, Config{SelfURLs: []string{"https://localhost"}})
	localIP := newGuard(t, Config{SelfURLs: []string{"http://127.0.0.1:8080/base"}})
	development := newGuard(t, Config{Development: true})
	opened := newGuard(t, Config{Allow: nets("10.1.0.0/16", "::ffff:172.16.0.0/108", "169.254.0.0/16", "fd00::/8", "0.0.0.0/0", "::/0")})
	some := newGuard(t, Config{Allow: nets("10.1.0.0/16", "::ffff:172.16.0.0/108", "64:ff9b::/96")})
	mapped := newGuard(t, Config{Allow: nets("::ffff:0.0.0.0/96")}) // all of IPv4
	for _, test := range []struct {
		guard *Guard
		raw   string
		ok    bool
	}{
		{production, "https://hub.example.com/x", true},
		{production, "http://127.0.0.1:8080/", false},
		{local, "http://localhost:8080/x", true},
		{local, "http://LocalHost:8080/x", true},
		{local, "http://localhost:8081/x", false},
		{local, "http://localhost/x", false},
		{local, "http://127.0.0.1:8080/x", false},
		{localHTTPS, "https://localhost/x", true},
		{localHTTPS, "http://localhost:443/x", true},
		{localHTTPS, "http://localhost/x", false},
		{localHTTPS, "https://localhost:80/x", false},
		{localIP, "http://127.0.0.1:8080/x", true},
		{localIP, "http://127.0.0.1/x", false},
		{localIP, "http://127.0.0.2:8080/x", false},
		{development, "http://127.0.0.1:9/", true},
		{development, "http://127.1.2.3/", true},
		{development, "http://[::1]:9/", true},
		{development, "http://[::1%25lo]:9/", false},
		{development, "http://localhost:9/", true},
		{development, "http://x.localhost:9/", true},
		{development, "http://0.0.0.0:9/", false},
		{development, "http://127.1/", false},
		{development, "http://10.0.0.1/", false},
		{development, "http://[::127.0.0.1]/", false},
		{some, "http://10.1.2.3/", true},
		{some, "http://10.2.2.3/", false},
		{some, "http://172.16.0.1/", true},
		{some, "http://172.31.0.1/", true},
		{some, "http://172.32.0.1/", true},
		{some, "http://[::ffff:10.1.2.3]/", true},
		{some, "http://[64:ff9b::8.8.8.8]/", true},
		{some, "http://[64:ff9b::10.1.0.1]/", true},
		{some, "http://[64:ff9b::10.2.0.1]/", false},
		{some, "http://[64:ff9b::169.254.169.254]/", false},
		{some, "http://localhost/", false},
		{mapped, "http://10.0.0.1/", true},
		{mapped, "http://[fd00::1]/", false},
		{opened, "http://localhost/", true},
		{opened, "http://192.168.1.1/", true},
		{opened, "http://169.254.1.1/", true},
		{opened, "http://169.254.169.254/latest/meta-data", false},
		{opened, "http://169.254.170.2/", false},
		{opened, "http://100.100.100.200/", false},
		{opened, "http://[fd00:ec2::254]/", false},
		{opened, "http://[::ffff:169.254.169.254]/", false},
		{opened, "http://[::169.254.169.254]/", false},
		{opened, "http://[2002:a9fe:a9fe::1]/", false},
		{opened, "http://[64:ff9b::a9fe:a9fe]/", false},
		{opened, "http://metadata.google.internal/", false},
	} {
		_, err := test.guard.CheckURL("body.url", test.raw)
		require.Equal(t, test.ok, err == nil, "%s: %v", test.raw, err)
	}
}

func TestCheckHTTPS(t *testing.T) {
	t.Parallel()
	_, err := newGuard(t, Config{}).CheckHTTPS("body.api_url", "http://example.com")
	require.ErrorIs(t, err, hub.ErrInvalid)
	_, err = newGuard(t, Config{}).CheckHTTPS("body.api_url", "https://10.0.0.1")
	require.ErrorIs(t, err, hub.ErrInvalid)
	_, err = newGuard(t, Config{}).CheckHTTPS("body.api_url", "https://example.com")
	require.NoError(t, err)
	_, err = newGuard(t, Config{Development: true}).CheckHTTPS("body.api_url", "http://example.com")
	require.NoError(t, err)
}

func TestNewRefusesWrongSelf(t *testing.T) {
	t.Parallel()
	for _, self := range []string{"hub.example.com", "ftp://hub.example.com", "http://", "://"} {
		_, err := New(Config{SelfURLs: []string{self}})
		require.Error(t, err, self)
	}
}

// asOldResolver reads a host as inet_aton does: one to four decimal, octal or
// hexadecimal numbers, the last of which fills the remaining bytes.
func asOldResolver(host string) (addr netip.Addr, ok bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return addr, false
	}
	var value uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 64)
		if err != nil || strings.ContainsAny(part, "_oO") || len(part) > 1 && part[0] == '0' && part[1]|0x20 == 'b' {
			return addr, false
		}
		if i == len(parts)-1 {
			left := 8 * (4 - i)
			if n >= 1<<left {
				return addr, false
			}
			value = value<<left | n
		} else if n > 255 {
			return addr, false
		} else {
			value = value<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func FuzzCheckURL(f *testing.F) {
	for _, host := range refusedHosts {
		f.Add("http://" + host + "/")
	}
	f.Add("https://user:pass@example.com:443/x?y#z")
	f.Add("https://8.8.8.8/")
	f.Add("https://[2606:4700::1]/")
	g := newGuard(f, Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := g.CheckURL("body.url", raw)
		if err != nil {
			var entry *hub.Error
			require.ErrorAs(t, err, &entry)
			require.Nil(t, u)
			return
		}
		require.Contains(t, []string{"http", "https"}, u.Scheme)
		require.Nil(t, u.User)
		require.NotEmpty(t, u.Hostname())
		require.NotContains(t, raw, "\r")
		require.NotContains(t, raw, "\n")
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
			require.True(t, isPublic(addr), raw)
		} else if addr, ok := asOldResolver(u.Hostname()); ok {
			t.Fatalf("%q is %s to some resolvers", raw, addr)
		}
		again, err := g.CheckURL("body.url", u.String())
		require.NoError(t, err)
		require.Equal(t, u.Hostname(), again.Hostname())
	})
}
