package product_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// BenchmarkReceive and BenchmarkPublish send events of 1 KiB from 64 clients: what
// matters is how they compare. An event with an effect writes one note.
func BenchmarkReceive(b *testing.B) {
	for name, kind := range map[string]string{"ignored": "patient.created", "with an effect": "note.created"} {
		b.Run(name, func(b *testing.B) {
			l := pair(start(b, nil))
			filler := strings.Repeat("x", 800)
			hammer(b, l.integrations()+"/webhook", 200, func(req *fasthttp.Request) {
				body := envelope(newID(), "board", kind, filler)
				req.Header.Set("X-Integration-Key", l.key)
				req.Header.Set("X-Webhook-Signature", sign(l.secret, body))
				req.SetBodyString(body)
			})
		})
	}
}

func BenchmarkPublish(b *testing.B) {
	o := start(b, nil).signUp("notes")
	key := o.ok(201, "POST", "/api/v1/keys", `{"tenant_id":"`+o.id+`"}`).body["api_key"].(string)
	body := `{"event_type":"note.created","data":{"text":"` + strings.Repeat("x", 900) + `"}}`
	hammer(b, o.url+"/api/v1/events", 202, func(req *fasthttp.Request) {
		req.Header.Set("X-Integration-Key", key)
		req.SetBodyString(body)
	})
}

func hammer(b *testing.B, url string, status int, fill func(*fasthttp.Request)) {
	var failed atomic.Value
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := &fasthttp.Client{}
		req, res := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI(url)
		req.Header.SetMethod("POST")
		req.Header.SetContentType("application/json")
		for pb.Next() {
			fill(req)
			if err := c.Do(req, res); err != nil || res.StatusCode() != status {
				failed.Store(fmt.Sprint(err, res.StatusCode(), string(res.Body())))
				return
			}
		}
	})
	b.StopTimer()
	require.Nil(b, failed.Load())
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
