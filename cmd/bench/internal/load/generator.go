package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// RefusalBackoff is how long a connection rests after an answer other than 2xx, so
// that a service that refuses is not hammered.
const RefusalBackoff = 10 * time.Millisecond

// ResponseTimeout is how long the generator waits for the answer to one POST.
const ResponseTimeout = 30 * time.Second

// Spec says what the generator sends.
type Spec struct {
	URL         string
	Key         string        // X-Integration-Key; empty for the floor
	Secret      string        // of webhooks; empty: events are published instead
	EventType   string        // of webhooks
	Connections int           // keep-alive connections, each with one POST at a time
	Events      int           // how many to send
	Rate        float64       // events per second; 0 = closed loop, as fast as answers come
	Duration    time.Duration // stop earlier, after this time; 0 = no limit
	Size        int           // bytes of each data object
	First       uint64        // number of the first event
}

// Summary is what the generator prints.
type Summary struct {
	Sent     int            `json:"sent"`
	Accepted int            `json:"accepted"`
	Statuses map[string]int `json:"statuses"` // HTTP status → answers; "0" = no answer
	Seconds  float64        `json:"seconds"`  // first send to last answer
}

// Generate sends the load and returns one record for each POST, in the order of
// their numbers. It stops early when ctx ends.
func Generate(ctx context.Context, l Spec) ([]records.Sent, error) {
	target, err := url.Parse(l.URL)
	if err != nil {
		return nil, fmt.Errorf("reading url: %w", err)
	}
	client := &fasthttp.HostClient{
		Addr:                          target.Host,
		IsTLS:                         target.Scheme == "https",
		MaxConns:                      l.Connections,
		ReadTimeout:                   ResponseTimeout,
		WriteTimeout:                  ResponseTimeout,
		NoDefaultUserAgentHeader:      true,
		DisableHeaderNamesNormalizing: true,
		MaxIdemponentCallAttempts:     1, // a POST sent twice would be a duplicate of our own making
	}
	if l.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.Duration)
		defer cancel()
	}
	sent := make([]records.Sent, l.Events)
	turns := newSchedule(ctx, l)
	var workers sync.WaitGroup
	for range l.Connections {
		workers.Go(func() {
			poster := newSender(client, l)
			for i, at := range turns {
				sent[i] = poster.send(l.First+uint64(i), at)
				if !sent[i].Accepted() {
					time.Sleep(RefusalBackoff)
				}
			}
		})
	}
	workers.Wait()
	kept := sent[:0] // an early stop leaves gaps at the end
	for _, s := range sent {
		if s.SentAt != 0 {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// schedule yields (index, time) for each event a connection is to send; all
// connections range over the same one. A time of zero means now.
type schedule func(yield func(int, int64) bool)

// newSchedule deals the events out. In the closed loop a connection takes the next
// one when it is free. At a fixed rate a clock deals them out when they are due,
// and the latency counts from that moment even when no connection is free: a
// service that stalls cannot hide it by making the generator wait.
func newSchedule(ctx context.Context, l Spec) schedule {
	if l.Rate <= 0 {
		var next atomic.Int64
		return func(yield func(int, int64) bool) {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= l.Events || !yield(i, 0) {
					return
				}
			}
		}
	}
	type turn struct {
		index int
		at    int64
	}
	due := make(chan turn, l.Events) // never blocks the clock
	go func() {
		defer close(due)
		start := time.Now()
		for i := range l.Events {
			at := start.Add(time.Duration(float64(i) / l.Rate * float64(time.Second)))
			sleepUntil(at)
			if ctx.Err() != nil {
				return
			}
			due <- turn{i, at.UnixNano()}
		}
	}()
	return func(yield func(int, int64) bool) {
		for t := range due {
			if !yield(t.index, t.at) {
				return
			}
		}
	}
}

// sender sends on one connection at a time and keeps its buffers.
type sender struct {
	client *fasthttp.HostClient
	size   int
	signer *hub.Signer // of webhooks; nil: events are published
	req    *fasthttp.Request
	resp   *fasthttp.Response
	body   []byte

	eventType string // of webhooks
}

func newSender(client *fasthttp.HostClient, l Spec) *sender {
	p := &sender{client: client, size: l.Size, eventType: l.EventType, req: fasthttp.AcquireRequest(), resp: fasthttp.AcquireResponse()}
	p.req.Header.SetMethod(fasthttp.MethodPost)
	p.req.SetRequestURI(l.URL)
	p.req.Header.SetContentType("application/json")
	if l.Key != "" {
		p.req.Header.Set(hub.HeaderKey, l.Key)
	}
	if l.Secret != "" {
		p.signer = hub.NewSigner(l.Secret)
	}
	return p
}

// send publishes event n, due at the given Unix time in nanoseconds (0 = now).
func (p *sender) send(n uint64, at int64) records.Sent {
	if at == 0 {
		at = time.Now().UnixNano()
	}
	record := records.Sent{Number: n, SentAt: at}
	if p.signer != nil {
		p.body = payload.AppendWebhook(p.body[:0], p.eventType, n, at, p.size)
		p.req.Header.Set(hub.HeaderSignature, hub.FormatBodySignature(p.signer.BodyHMAC(p.body)))
	} else {
		p.body, record.DataCRC = payload.AppendEvent(p.body[:0], n, at, p.size)
	}
	p.req.SetBodyRaw(p.body)
	if err := p.client.Do(p.req, p.resp); err != nil {
		record.AnsweredAt = time.Now().UnixNano()
		return record
	}
	record.AnsweredAt = time.Now().UnixNano()
	record.Status = uint16(p.resp.StatusCode())
	if record.Accepted() && p.signer == nil {
		record.ID, record.Deliveries = ParseAcceptance(p.resp.Body())
	}
	return record
}

// ParseAcceptance reads {"id":"evt_…","deliveries":n}, whatever else it holds.
func ParseAcceptance(body []byte) (id uint64, deliveries uint16) {
	var answer struct {
		ID         string `json:"id"`
		Deliveries uint16 `json:"deliveries"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, 1 // nothing will arrive under this id: the ledger calls it lost
	}
	id, _ = hub.ParseEventID(answer.ID)
	return id, answer.Deliveries
}

// Summarize counts the answers.
func Summarize(sent []records.Sent) Summary {
	s := Summary{Sent: len(sent), Statuses: make(map[string]int)}
	var first, last int64
	for i, record := range sent {
		s.Statuses[strconv.Itoa(int(record.Status))]++
		if record.Accepted() {
			s.Accepted++
		}
		if i == 0 || record.SentAt < first {
			first = record.SentAt
		}
		last = max(last, record.AnsweredAt)
	}
	s.Seconds = time.Duration(last - first).Seconds()
	return s
}
