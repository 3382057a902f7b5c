package productapi_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/hubtest/notes"
	"integrationhub/hub/module"
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

// BenchmarkLink sends events over links of two accounts: one without order, one with order
// and events without keys, one with order and 100 keys. The links take turns, so that other
// work of the machine affects all alike.
func BenchmarkLink(b *testing.B) {
	product := openNotes{notes.New("notes"), make(chan module.Host, 1)}
	n := startWith(b, []module.Module{product, notes.New("board")}, func(c *config.Config) { c.LinkRate = 1_000_000 })
	host := <-product.host
	type linked struct {
		*tenant
		name string
		keys int
		took time.Duration
	}
	links := []*linked{{name: "unordered"}, {name: "no-keys"}, {name: "100-keys", keys: 100}}
	for _, l := range links {
		l.tenant = n.signUp("notes")
		require.Equal(b, 200, l.linkTo(n.signUp("board")).status)
		if l.name == "unordered" {
			l.ok(200, "PUT", "/api/v1/integrations/"+l.only()["id"].(string), `{"ordered":false}`)
		}
	}
	const batches, batch = 40, 50
	b.ResetTimer()
	for round := range b.N {
		for i := range links {
			l := links[(round+i)%len(links)]
			began := time.Now()
			for first := 0; first < batches*batch; first += batch {
				events := make([]hub.Event, batch)
				for i := range events {
					events[i] = hub.Event{TenantID: uuid.MustParse(l.id), Environment: hub.Live, Type: notes.EventSeen, Data: []byte(`{"text":"x"}`)}
					if l.keys > 0 {
						events[i].OrderingKey = strconv.Itoa((first + i) % l.keys)
					}
				}
				require.NoError(b, pgx.BeginFunc(b.Context(), host.Pool, func(tx pgx.Tx) error {
					_, err := host.Events.PublishTo(b.Context(), tx, module.Audience{}, events)
					return err
				}))
			}
			for waits := 1; waits > 0; {
				require.NoError(b, n.db.QueryRow(b.Context(), `select (select count(*) from hub.deliveries where tenant_id = $1 and status = 0) + (select count(*) from hub.leases)`, l.id).Scan(&waits))
			}
			l.took += time.Since(began)
		}
	}
	b.StopTimer()
	for _, l := range links {
		b.ReportMetric(float64(b.N*batches*batch)/l.took.Seconds(), l.name+"/s")
	}
}
