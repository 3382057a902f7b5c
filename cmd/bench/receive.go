package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
)

// receiverOptions says how the receiver behaves.
type receiverOptions struct {
	listen      string
	failFirst   float64       // share of the events whose first attempt at each endpoint fails
	failStatus  int           // with this status
	delay       time.Duration // before every answer
	hang        int           // endpoints 0…hang-1 never answer
	verifyEvery int           // check the signature of every n-th event; 0 = of none
}

// receiver records every request at /hook/N. It is a peer like any other to the
// service under test, only that it keeps count.
type receiver struct {
	options   receiverOptions
	delivered atomic.Int64 // requests answered 2xx
	attempts  atomic.Int64 // all requests

	mu      sync.Mutex
	chunks  [][]Arrival // filled one after the other, so that growing copies nothing
	failed  map[arrivalKey]bool
	secrets atomic.Pointer[[]string] // by endpoint
	ended   chan struct{}            // closed at the end: releases hanging requests
}

const arrivalChunk = 1 << 14

// receiverCount is the body of GET /control/count.
type receiverCount struct {
	Delivered int64 `json:"delivered"` // requests answered 2xx, repeated ones included
	Attempts  int64 `json:"attempts"`  // all requests
}

// receiveCommand runs the recording receiver until it is told to stop.
func receiveCommand() *cobra.Command {
	var o receiverOptions
	cmd := &cobra.Command{
		Use:   "receive",
		Short: "Run the recording receiver: endpoints at /hook/N, its record at /control/record",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return newReceiver(o).serve(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:57070", "address to receive deliveries on")
	flags.Float64Var(&o.failFirst, "fail-first", 0, "share of events (0–1) whose first attempt fails")
	flags.IntVar(&o.failStatus, "fail-status", 500, "status of those failures")
	flags.DurationVar(&o.delay, "delay", 0, "time to wait before every answer")
	flags.IntVar(&o.hang, "hang", 0, "number of endpoints, from /hook/0 on, that never answer")
	flags.IntVar(&o.verifyEvery, "verify-every", 16, "check the signature of every n-th event (1 = all, 0 = none)")
	return cmd
}

func newReceiver(o receiverOptions) *receiver {
	return &receiver{options: o, failed: make(map[arrivalKey]bool), ended: make(chan struct{})}
}

// serve answers until ctx ends.
func (r *receiver) serve(ctx context.Context) error {
	server := &fasthttp.Server{
		Handler:               r.handle,
		NoDefaultServerHeader: true,
		NoDefaultDate:         true,
		MaxRequestBodySize:    4 << 20,
		CloseOnShutdown:       true,
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.ListenAndServe(r.options.listen) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("listening on %s: %w", r.options.listen, err)
	case <-ctx.Done():
		close(r.ended)
		// Idle keep-alive connections would hold a full shutdown open.
		brief, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.ShutdownWithContext(brief)
		return nil
	}
}

// handle is the one entry: deliveries first, the control calls after them.
func (r *receiver) handle(c *fasthttp.RequestCtx) {
	path := c.Path()
	if number, isHook := strings.CutPrefix(string(path), "/hook/"); isHook {
		endpoint, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			c.SetStatusCode(fasthttp.StatusNotFound)
			return
		}
		r.take(c, uint32(endpoint))
		return
	}
	switch string(path) {
	case "/control/count":
		r.answerCount(c)
	case "/control/record":
		r.answerRecord(c)
	case "/control/reset":
		r.reset()
	case "/control/secrets":
		var secrets []string
		if err := json.Unmarshal(c.PostBody(), &secrets); err != nil {
			c.Error(err.Error(), fasthttp.StatusBadRequest)
			return
		}
		r.secrets.Store(&secrets)
	default:
		c.SetStatusCode(fasthttp.StatusNotFound)
	}
}

// read makes the record of one request, as taken.
func (r *receiver) read(c *fasthttp.RequestCtx, endpoint uint32) Arrival {
	at := time.Now().UnixNano()
	body := c.PostBody()
	n, sent, data, _ := readStamp(body)
	id, _ := hub.ParseEventID(string(c.Request.Header.Peek(hub.HeaderStdID)))
	return Arrival{
		ID: id, N: n, Sent: sent, At: at, Endpoint: endpoint, Status: fasthttp.StatusOK,
		Body: crc32.ChecksumIEEE(body), Data: crc32.ChecksumIEEE(data),
		Signature: r.checkSignature(c, n, endpoint, body),
	}
}

// take records one delivery and answers it.
func (r *receiver) take(c *fasthttp.RequestCtx, endpoint uint32) {
	arrival := r.read(c, endpoint)
	switch {
	case int(endpoint) < r.options.hang:
		arrival.Status = 0
		r.record(arrival)
		<-r.ended
		return
	case r.refuses(arrival):
		arrival.Status = uint16(r.options.failStatus)
	}
	if r.options.delay > 0 {
		time.Sleep(r.options.delay)
	}
	r.record(arrival)
	c.SetStatusCode(int(arrival.Status))
}

// checkSignature verifies X-Webhook-Signature of the events chosen for it.
func (r *receiver) checkSignature(c *fasthttp.RequestCtx, n uint64, endpoint uint32, body []byte) uint16 {
	secrets := r.secrets.Load()
	if every := r.options.verifyEvery; every == 0 || n%uint64(every) != 0 || secrets == nil || int(endpoint) >= len(*secrets) {
		return signatureUnchecked
	}
	if hub.VerifyBody(string(c.Request.Header.Peek(hub.HeaderSignature)), body, (*secrets)[endpoint]) {
		return signatureHolds
	}
	return signatureFalse
}

// refuses reports whether this request is a first attempt that has to fail. The
// choice depends on the event's number only, so every run fails the same ones.
func (r *receiver) refuses(a Arrival) bool {
	const golden = 0x9e3779b97f4a7c15 // spreads neighbouring numbers evenly over 64 bits
	if float64(a.N*golden) >= r.options.failFirst*math.MaxUint64 {
		return false
	}
	key := arrivalKey{a.ID, a.Endpoint}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed[key] {
		return false
	}
	r.failed[key] = true
	return true
}

// record keeps an arrival and counts it.
func (r *receiver) record(a Arrival) {
	r.mu.Lock()
	last := len(r.chunks) - 1
	if last < 0 || len(r.chunks[last]) == arrivalChunk {
		r.chunks = append(r.chunks, make([]Arrival, 0, arrivalChunk))
		last++
	}
	r.chunks[last] = append(r.chunks[last], a)
	r.mu.Unlock()
	r.attempts.Add(1)
	if a.Delivered() {
		r.delivered.Add(1)
	}
}

// reset forgets everything but the secrets.
func (r *receiver) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = nil
	clear(r.failed)
	r.delivered.Store(0)
	r.attempts.Store(0)
}

func (r *receiver) answerCount(c *fasthttp.RequestCtx) {
	raw, err := json.Marshal(receiverCount{Delivered: r.delivered.Load(), Attempts: r.attempts.Load()})
	if err != nil {
		c.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	c.SetContentType("application/json")
	c.SetBody(raw)
}

func (r *receiver) answerRecord(c *fasthttp.RequestCtx) {
	r.mu.Lock()
	chunks := append([][]Arrival(nil), r.chunks...) // full chunks no longer change; lengths are copied
	r.mu.Unlock()
	c.SetContentType("application/octet-stream")
	for _, chunk := range chunks {
		if err := writeRecords(c, chunk); err != nil {
			c.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
	}
}
