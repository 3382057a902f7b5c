// Package receiver receives webhooks and records each request.
package receiver

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// Options configure a receiver.
type Options struct {
	Listen      string        // address
	FailFirst   float64       // share of the events whose first attempt at each endpoint fails
	FailStatus  int           // with this status
	Delay       time.Duration // before every response
	Hang        int           // endpoints below this number never respond
	VerifyEvery int           // check the signature of every n-th event; 0 = of none
}

// Receiver records every request at /hook/N. Calls of /control/ read and reset its record.
type Receiver struct {
	options   Options
	delivered atomic.Int64 // requests answered 2xx
	attempts  atomic.Int64 // all requests

	mu       sync.Mutex
	chunks   [][]records.Arrival // of chunkSize each, so that growing copies nothing
	failed   map[records.DeliveryKey]bool
	secrets  atomic.Pointer[[]string] // by endpoint
	stopping chan struct{}            // closed at the end: releases hanging requests
}

const chunkSize = 1 << 14

// Count is the body of GET /control/count.
type Count struct {
	Delivered int64 `json:"delivered"` // requests answered 2xx, with repetitions
	Attempts  int64 `json:"attempts"`  // all requests
}

// New returns a receiver with an empty record.
func New(o Options) *Receiver {
	return &Receiver{options: o, failed: make(map[records.DeliveryKey]bool), stopping: make(chan struct{})}
}

// Serve listens until ctx ends.
func (r *Receiver) Serve(ctx context.Context) error {
	server := &fasthttp.Server{
		Handler:               r.Handle,
		NoDefaultServerHeader: true,
		NoDefaultDate:         true,
		MaxRequestBodySize:    4 << 20,
		CloseOnShutdown:       true,
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.ListenAndServe(r.options.Listen) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("listening on %s: %w", r.options.Listen, err)
	case <-ctx.Done():
		close(r.stopping)
		// Idle keep-alive connections would hold a full shutdown open.
		brief, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.ShutdownWithContext(brief)
		return nil
	}
}

// Handle serves deliveries and control calls.
func (r *Receiver) Handle(c *fasthttp.RequestCtx) {
	path := c.Path()
	if number, isHook := strings.CutPrefix(string(path), "/hook/"); isHook {
		endpoint, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			c.SetStatusCode(fasthttp.StatusNotFound)
			return
		}
		r.receive(c, uint32(endpoint))
		return
	}
	switch string(path) {
	case "/control/count":
		r.writeCount(c)
	case "/control/record":
		r.writeRecord(c)
	case "/control/reset":
		r.reset()
	case "/control/secrets":
		var secrets []string
		if err := json.Unmarshal(c.PostBody(), &secrets); err != nil {
			c.Error(err.Error(), fasthttp.StatusBadRequest)
			return
		}
		r.SetSecrets(secrets)
	default:
		c.SetStatusCode(fasthttp.StatusNotFound)
	}
}

// NewArrival returns the record of a request to an endpoint, as if answered 200.
func (r *Receiver) NewArrival(c *fasthttp.RequestCtx, endpoint uint32) records.Arrival {
	arrivedAt := time.Now().UnixNano()
	body := c.PostBody()
	n, sent, data, _ := payload.ReadStamp(body)
	id, _ := hub.ParseEventID(string(c.Request.Header.Peek(hub.HeaderStdID)))
	return records.Arrival{
		ID: id, Number: n, SentAt: sent, ArrivedAt: arrivedAt, Endpoint: endpoint, Status: fasthttp.StatusOK,
		BodyCRC: crc32.ChecksumIEEE(body), DataCRC: crc32.ChecksumIEEE(data),
		Signature: r.checkSignature(c, n, endpoint, body),
	}
}

// receive records a delivery and answers it.
func (r *Receiver) receive(c *fasthttp.RequestCtx, endpoint uint32) {
	arrival := r.NewArrival(c, endpoint)
	switch {
	case int(endpoint) < r.options.Hang:
		arrival.Status = 0
		r.Record(arrival)
		<-r.stopping
		return
	case r.mustFail(arrival):
		arrival.Status = uint16(r.options.FailStatus)
	}
	if r.options.Delay > 0 {
		time.Sleep(r.options.Delay)
	}
	r.Record(arrival)
	c.SetStatusCode(int(arrival.Status))
}

// checkSignature verifies X-Webhook-Signature of every n-th event.
func (r *Receiver) checkSignature(c *fasthttp.RequestCtx, n uint64, endpoint uint32, body []byte) uint16 {
	secrets := r.secrets.Load()
	if every := r.options.VerifyEvery; every == 0 || n%uint64(every) != 0 || secrets == nil || int(endpoint) >= len(*secrets) {
		return records.SignatureUnchecked
	}
	if hub.VerifyBody(string(c.Request.Header.Peek(hub.HeaderSignature)), body, (*secrets)[endpoint]) {
		return records.SignatureValid
	}
	return records.SignatureInvalid
}

// mustFail reports whether a request is a first attempt that has to fail. The choice
// depends on the event's number only, so every run fails the same events.
func (r *Receiver) mustFail(a records.Arrival) bool {
	const golden = 0x9e3779b97f4a7c15 // spreads neighbouring numbers evenly over 64 bits
	if float64(a.Number*golden) >= r.options.FailFirst*math.MaxUint64 {
		return false
	}
	key := a.Key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed[key] {
		return false
	}
	r.failed[key] = true
	return true
}

// Record adds an arrival to the record.
func (r *Receiver) Record(a records.Arrival) {
	r.mu.Lock()
	last := len(r.chunks) - 1
	if last < 0 || len(r.chunks[last]) == chunkSize {
		r.chunks = append(r.chunks, make([]records.Arrival, 0, chunkSize))
		last++
	}
	r.chunks[last] = append(r.chunks[last], a)
	r.mu.Unlock()
	r.attempts.Add(1)
	if a.Delivered() {
		r.delivered.Add(1)
	}
}

// Arrivals returns the record of every request so far.
func (r *Receiver) Arrivals() []records.Arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.chunks...)
}

// SetSecrets sets the signing secret of each endpoint, by number.
func (r *Receiver) SetSecrets(secrets []string) { r.secrets.Store(&secrets) }

// Secrets returns the signing secret of each endpoint, by number.
func (r *Receiver) Secrets() []string { return *r.secrets.Load() }

// reset clears everything but the secrets.
func (r *Receiver) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = nil
	clear(r.failed)
	r.delivered.Store(0)
	r.attempts.Store(0)
}

func (r *Receiver) writeCount(c *fasthttp.RequestCtx) {
	raw, err := json.Marshal(Count{Delivered: r.delivered.Load(), Attempts: r.attempts.Load()})
	if err != nil {
		c.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	c.SetContentType("application/json")
	c.SetBody(raw)
}

func (r *Receiver) writeRecord(c *fasthttp.RequestCtx) {
	r.mu.Lock()
	chunks := append([][]records.Arrival(nil), r.chunks...) // full chunks no longer change; lengths are copied
	r.mu.Unlock()
	c.SetContentType("application/octet-stream")
	for _, chunk := range chunks {
		if err := records.Write(c, chunk); err != nil {
			c.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
	}
}
