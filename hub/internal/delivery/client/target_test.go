package client

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNewTarget(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct{ key, start string }{
		"http://Peer.Example":            {"http://peer.example:80", "POST / HTTP/1.1\r\nHost: peer.example\r\n"},
		"http://peer.example:080/a":      {"http://peer.example:80", "POST /a HTTP/1.1\r\nHost: peer.example\r\n"},
		"https://peer.example/a?b=c#d":   {"https://peer.example:443", "POST /a?b=c HTTP/1.1\r\nHost: peer.example\r\n"},
		"https://peer.example:80/":       {"https://peer.example:80", "POST / HTTP/1.1\r\nHost: peer.example:80\r\n"},
		"https://peer_1.example:443":     {"https://peer_1.example:443", "POST / HTTP/1.1\r\nHost: peer_1.example\r\n"},
		"http://10.0.0.1:8080/x":         {"http://10.0.0.1:8080", "POST /x HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n"},
		"http://[2001:DB8::1]/x":         {"http://[2001:db8::1]:80", "POST /x HTTP/1.1\r\nHost: [2001:db8::1]\r\n"},
		"https://[::1]:8443/x":           {"https://[::1]:8443", "POST /x HTTP/1.1\r\nHost: [::1]:8443\r\n"},
		"http://a.b/ä b?q=ö x\"&r=%20%0": {"http://a.b:80", "POST /%C3%A4%20b?q=%C3%B6%20x\"&r=%20%0 HTTP/1.1\r\nHost: a.b\r\n"},
		"http://a.b/%2e%2e/%0d%0aX":      {"http://a.b:80", "POST /%2e%2e/%0d%0aX HTTP/1.1\r\nHost: a.b\r\n"},
		"http://a.b?":                    {"http://a.b:80", "POST /? HTTP/1.1\r\nHost: a.b\r\n"},
	} {
		tg, err := NewDestination(url)
		require.NoError(t, err, url)
		require.Equal(t, want.key, tg.key, url)
		require.Equal(t, want.start, string(tg.start), url)
		require.Equal(t, strings.HasPrefix(url, "https:"), tg.tls)
	}
	for _, url := range []string{
		"", "peer.example/x", "//peer.example/x", "ftp://peer.example/", "http:peer.example", "http:///x", "http://:80/",
		"http://user@peer.example/", "http://u:p@peer.example/", "http://peer.example:0/", "http://peer.example:65536/",
		"http://peer.example:x/", "http://bücher.example/", "http://b%C3%BCcher.example/", "http://a b/", "http://a.b/\r\nX: y",
		"http://a.b?x\nHost: y", "http://[fe80::1%25eth0]/", "http://[127.0.0.1]/", "http://[::g]/", "http://a,b/", "http://a;b/",
		"http://a.b\\c/", "http://a%00b/",
	} {
		_, err := NewDestination(url)
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "peer.example", "the URL may be a secret")
	}
}

// The machine may have no IPv6: what is dialled is looked at, then led elsewhere.
func TestPostToIPv6(t *testing.T) {
	t.Parallel()
	var request string
	srv := serve(t, func(p *peer) {
		buf := make([]byte, 4096)
		n, _ := p.Read(buf)
		request = string(buf[:n])
		p.send(okAnswer)
	})
	var dialled string
	c := newClient(t, Config{Dial: func(ctx context.Context, network, addr string) (net.Conn, time.Duration, time.Duration, error) {
		dialled = addr
		return dialPlain(ctx, network, target(t, srv.url).addr)
	}})
	var resp Response
	require.NoError(t, post(c, target(t, "http://[::1]:8080/x"), &resp))
	require.Equal(t, "[::1]:8080", dialled)
	require.Contains(t, request, "\r\nHost: [::1]:8080\r\n")
}
