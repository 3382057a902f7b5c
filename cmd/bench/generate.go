package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
)

// refusedPause is how long a connection rests after an answer other than 2xx, so
// that a service that refuses is not hammered.
const refusedPause = 10 * time.Millisecond

// answerDeadline is how long the generator waits for the answer to one POST.
const answerDeadline = 30 * time.Second

// load says what the generator sends.
type load struct {
	url         string
	key         string        // X-Integration-Key; empty for the floor
	secret      string        // of webhooks; empty: events are published instead
	eventType   string        // of webhooks
	connections int           // keep-alive connections, each with one POST at a time
	events      int           // how many to send
	rate        float64       // events per second; 0 = closed loop, as fast as answers come
	duration    time.Duration // stop earlier, after this time; 0 = no limit
	size        int           // bytes of each data object
	first       uint64        // number of the first event
}

// loadSummary is what the generator prints.
type loadSummary struct {
	Sent     int            `json:"sent"`
	Accepted int            `json:"accepted"`
	Statuses map[string]int `json:"statuses"` // HTTP status → answers; "0" = no answer
	Seconds  float64        `json:"seconds"`  // first send to last answer
}

// generateCommand sends one load and writes what became of it.
func generateCommand() *cobra.Command {
	var l load
	var out string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Publish events; the key comes from the environment variable BENCH_KEY, with BENCH_SECRET webhooks are sent",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l.key, l.secret = os.Getenv("BENCH_KEY"), os.Getenv("BENCH_SECRET") // no flags: the process list is public
			sent, err := generate(cmd.Context(), l)
			if err != nil {
				return err
			}
			if out != "" {
				if err := saveRecords(out, sent); err != nil {
					return err
				}
			}
			return json.NewEncoder(os.Stdout).Encode(summarize(sent))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&l.url, "url", "http://127.0.0.1:8080/api/v1/events", "where to publish")
	flags.StringVar(&l.eventType, "event-type", notedEvent, "type of the events that webhooks bring")
	flags.IntVar(&l.connections, "connections", 64, "keep-alive connections, one POST at a time on each")
	flags.IntVar(&l.events, "events", 20000, "events to send")
	flags.Float64Var(&l.rate, "rate", 0, "events per second, 0 = as fast as answers come")
	flags.DurationVar(&l.duration, "duration", 0, "stop after this time even if events are left, 0 = no limit")
	flags.IntVar(&l.size, "size", 1024, "bytes of each event's data object")
	flags.Uint64Var(&l.first, "first", 0, "number of the first event")
	flags.StringVar(&out, "out", "", "file for the record of every POST")
	return cmd
}

// generate sends the load and returns one record for each POST, in the order of
// their numbers. It stops early when ctx ends.
func generate(ctx context.Context, l load) ([]Sent, error) {
	target, err := url.Parse(l.url)
	if err != nil {
		return nil, fmt.Errorf("reading url: %w", err)
	}
	client := &fasthttp.HostClient{
		Addr:                          target.Host,
		IsTLS:                         target.Scheme == "https",
		MaxConns:                      l.connections,
		ReadTimeout:                   answerDeadline,
		WriteTimeout:                  answerDeadline,
		NoDefaultUserAgentHeader:      true,
		DisableHeaderNamesNormalizing: true,
		MaxIdemponentCallAttempts:     1, // a POST sent twice would be a duplicate of our own making
	}
	if l.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.duration)
		defer cancel()
	}
	sent := make([]Sent, l.events)
	turns := newTurns(ctx, l)
	var workers sync.WaitGroup
	for range l.connections {
		workers.Go(func() {
			poster := newPoster(client, l)
			for i, at := range turns {
				sent[i] = poster.post(l.first+uint64(i), at)
				if !sent[i].Accepted() {
					time.Sleep(refusedPause)
				}
			}
		})
	}
	workers.Wait()
	kept := sent[:0] // an early stop leaves gaps at the end
	for _, s := range sent {
		if s.At != 0 {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// turns yields (index, time) for each event a connection is to send; all
// connections range over the same one. A time of zero means now.
type turns func(yield func(int, int64) bool)

// newTurns deals the events out. In the closed loop a connection takes the next
// one when it is free. At a fixed rate a clock deals them out when they are due,
// and the latency counts from that moment even when no connection is free: a
// service that stalls cannot hide it by making the generator wait.
func newTurns(ctx context.Context, l load) turns {
	if l.rate <= 0 {
		var next atomic.Int64
		return func(yield func(int, int64) bool) {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= l.events || !yield(i, 0) {
					return
				}
			}
		}
	}
	type turn struct {
		index int
		at    int64
	}
	due := make(chan turn, l.events) // never blocks the clock
	go func() {
		defer close(due)
		start := time.Now()
		for i := range l.events {
			at := start.Add(time.Duration(float64(i) / l.rate * float64(time.Second)))
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

// poster sends on one connection at a time and keeps its buffers.
type poster struct {
	client *fasthttp.HostClient
	size   int
	signer *hub.Signer // of webhooks; nil: events are published
	req    *fasthttp.Request
	resp   *fasthttp.Response
	body   []byte

	eventType string // of webhooks
}

func newPoster(client *fasthttp.HostClient, l load) *poster {
	p := &poster{client: client, size: l.size, eventType: l.eventType, req: fasthttp.AcquireRequest(), resp: fasthttp.AcquireResponse()}
	p.req.Header.SetMethod(fasthttp.MethodPost)
	p.req.SetRequestURI(l.url)
	p.req.Header.SetContentType("application/json")
	if l.key != "" {
		p.req.Header.Set(hub.HeaderKey, l.key)
	}
	if l.secret != "" {
		p.signer = hub.NewSigner(l.secret)
	}
	return p
}

// post publishes event n, due at the given Unix time in nanoseconds (0 = now).
func (p *poster) post(n uint64, at int64) Sent {
	if at == 0 {
		at = time.Now().UnixNano()
	}
	record := Sent{N: n, At: at}
	if p.signer != nil {
		p.body = appendWebhook(p.body[:0], p.eventType, n, at, p.size)
		p.req.Header.Set(hub.HeaderSignature, hub.FormatBodySignature(p.signer.BodyHMAC(p.body)))
	} else {
		p.body, record.Data = appendEvent(p.body[:0], n, at, p.size)
	}
	p.req.SetBodyRaw(p.body)
	if err := p.client.Do(p.req, p.resp); err != nil {
		record.Acked = time.Now().UnixNano()
		return record
	}
	record.Acked = time.Now().UnixNano()
	record.Status = uint16(p.resp.StatusCode())
	if record.Accepted() && p.signer == nil {
		record.ID, record.Deliveries = readAnswer(p.resp.Body())
	}
	return record
}

// readAnswer reads {"id":"evt_…","deliveries":n}, whatever else it holds.
func readAnswer(body []byte) (id uint64, deliveries uint16) {
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

// summarize counts the answers.
func summarize(sent []Sent) loadSummary {
	s := loadSummary{Sent: len(sent), Statuses: make(map[string]int)}
	var first, last int64
	for i, record := range sent {
		s.Statuses[strconv.Itoa(int(record.Status))]++
		if record.Accepted() {
			s.Accepted++
		}
		if i == 0 || record.At < first {
			first = record.At
		}
		last = max(last, record.Acked)
	}
	s.Seconds = time.Duration(last - first).Seconds()
	return s
}
