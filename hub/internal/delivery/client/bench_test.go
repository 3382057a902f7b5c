package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// benchServer answers every request with a fixed response and does as little
// else as a server can: what is measured is the client.
func benchServer(b *testing.B) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	b.Cleanup(func() { _ = ln.Close() })
	answer := []byte("HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ok\":true}")
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReaderSize(conn, 4096)
				for {
					length := 0
					for {
						line, err := in.ReadSlice('\n')
						if err != nil {
							return
						}
						if name, value, ok := bytes.Cut(line, []byte(": ")); ok && len(name) == 14 {
							length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
						}
						if len(line) == 2 {
							break
						}
					}
					if _, err := in.Discard(length); err != nil {
						return
					}
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return "http://" + ln.Addr().String() + "/hooks/in?tenant=1"
}

var benchHeader = []Header{
	{"Content-Type", "application/json"},
	{"X-Webhook-Signature", "sha256=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	{"webhook-id", "evt_01890f3e2b7c7d8e9f00"},
	{"webhook-timestamp", "1767225600"},
	{"webhook-signature", "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="},
}

// cpu returns the CPU time of the process, server included.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkPost(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 1024)
	// Each maker returns a function that does one POST, for one goroutine.
	makers := []struct {
		name string
		make func(b *testing.B, url string) func() func() error
	}{
		{"client", benchClient(context.Background(), body)},
		{"clientWithContext", func(b *testing.B, url string) func() func() error {
			ctx, cancel := context.WithCancel(context.Background())
			b.Cleanup(cancel)
			return benchClient(ctx, body)(b, url)
		}},
		{"fasthttp", benchFasthttp(body)},
		{"nethttp", benchNetHTTP(body)},
	}
	for _, m := range makers {
		for _, width := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", m.name, width), func(b *testing.B) {
				worker := m.make(b, benchServer(b))
				b.SetParallelism(max(width/2, 1)) // times GOMAXPROCS
				b.ReportAllocs()
				b.ResetTimer()
				before := cpu(b)
				if width == 1 {
					post := worker()
					for b.Loop() {
						require.NoError(b, post())
					}
				} else {
					b.RunParallel(func(pb *testing.PB) {
						post := worker()
						for pb.Next() {
							if err := post(); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N)/1000, "cpu-µs/op")
			})
		}
	}
}

func benchClient(ctx context.Context, body []byte) func(b *testing.B, url string) func() func() error {
	return func(b *testing.B, url string) func() func() error {
		c := New(Config{Dial: dialPlain})
		b.Cleanup(c.Close)
		target, err := NewDestination(url)
		require.NoError(b, err)
		return func() func() error {
			resp := new(Response)
			return func() error { return c.Post(ctx, target, benchHeader, body, resp) }
		}
	}
}

func benchFasthttp(body []byte) func(b *testing.B, url string) func() func() error {
	return func(b *testing.B, url string) func() func() error {
		c := &fasthttp.Client{MaxConnsPerHost: 1024}
		b.Cleanup(c.CloseIdleConnections)
		return func() func() error {
			return func() error {
				req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
				defer fasthttp.ReleaseRequest(req)
				defer fasthttp.ReleaseResponse(resp)
				req.Header.SetMethod("POST")
				req.SetRequestURI(url)
				for _, h := range benchHeader {
					req.Header.Set(h.Name, h.Value)
				}
				req.SetBodyRaw(body)
				return c.DoTimeout(req, resp, 10*time.Second)
			}
		}
	}
}

func benchNetHTTP(body []byte) func(b *testing.B, url string) func() func() error {
	return func(b *testing.B, url string) func() func() error {
		tr := &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
		b.Cleanup(tr.CloseIdleConnections)
		c := &http.Client{Transport: tr, Timeout: 10 * time.Second}
		return func() func() error {
			return func() error {
				req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					return err
				}
				for _, h := range benchHeader {
					req.Header.Set(h.Name, h.Value)
				}
				resp, err := c.Do(req)
				if err != nil {
					return err
				}
				defer func() { _ = resp.Body.Close() }()
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			}
		}
	}
}
