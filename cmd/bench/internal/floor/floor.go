// Package floor is the program that the gateway is measured against. It does only the work
// that no durable webhook gateway can avoid.
package floor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
)

// Secret signs the floor's deliveries. It protects nothing: the only receiver is the bench's own.
const Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// Sizes. README.md has the figures of other values.
const (
	workers         = 16                   // deliveries in flight
	commitLanes     = 1                    // event batches being committed at the same time
	maxBatch        = 256                  // events in one commit
	logBatch        = 1024                 // log rows in one commit
	logDelay        = 5 * time.Millisecond // how long a log batch is collected; no request waits for it
	queueSize       = 1 << 20              // accepted events waiting in memory for a worker
	retryDelay      = time.Second          // wait before a failed delivery is tried again
	deliveryTimeout = 10 * time.Second     // for one POST out
)

// event is one accepted event on its way through the floor.
type event struct {
	id   int64
	body []byte
	done chan error // receives the result of the commit, once
}

// attempt is one row of the floor's delivery log.
type attempt struct {
	id     int64
	at     time.Time
	status int16 // 0 without a response
	took   int32 // milliseconds
}

// server is the floor: one POST in, one durable group-committed insert, one
// HMAC, one POST out, one batched log row. No gateway that keeps
// what it accepted can leave out any of it. It has no keys, no limits, no routing,
// no API and one destination.
type server struct {
	store    *store
	target   *url.URL
	client   *fasthttp.HostClient
	sequence atomic.Int64
	incoming chan *event
	outgoing chan *event
	attempts chan attempt
	failed   chan error // first error that makes the figures useless
}

// Run serves until ctx ends. It does not drain: committed events that are not yet
// delivered are delivered after the next start, as after a crash.
func Run(ctx context.Context, listen, database, target string) error {
	destination, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("reading target: %w", err)
	}
	store, err := openStore(ctx, database)
	if err != nil {
		return err
	}
	defer store.close()
	f := &server{
		store:  store,
		target: destination,
		client: &fasthttp.HostClient{
			Addr:                          destination.Host,
			MaxConns:                      workers,
			MaxIdleConnDuration:           time.Minute,
			ReadTimeout:                   deliveryTimeout,
			WriteTimeout:                  deliveryTimeout,
			NoDefaultUserAgentHeader:      true,
			DisableHeaderNamesNormalizing: true,
			MaxIdemponentCallAttempts:     1,
		},
		incoming: make(chan *event, maxBatch),
		outgoing: make(chan *event, queueSize),
		attempts: make(chan attempt, queueSize),
		failed:   make(chan error, 1),
	}
	f.sequence.Store(time.Now().UnixNano())
	for range commitLanes {
		go f.commitEvents(ctx)
	}
	for range workers {
		go f.deliver()
	}
	go f.commitAttempts(ctx)
	if err := store.recover(ctx, func(e *event) { f.outgoing <- e }); err != nil {
		return err
	}
	return f.serve(ctx, listen)
}

// serve answers POST /events with 202 after the commit.
func (f *server) serve(ctx context.Context, listen string) error {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/ready", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusOK) })
	app.Post("/events", f.accept)
	stopped := make(chan error, 1)
	go func() { stopped <- app.Listen(listen) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("listening on %s: %w", listen, err)
	case err := <-f.failed:
		return err
	case <-ctx.Done():
		return app.ShutdownWithTimeout(time.Second)
	}
}

// accept copies the event, waits for the commit and answers 202.
func (f *server) accept(c *fiber.Ctx) error {
	e := &event{
		id:   f.sequence.Add(1),
		body: append([]byte(nil), c.Body()...),
		done: make(chan error, 1),
	}
	f.incoming <- e
	if err := <-e.done; err != nil {
		return c.SendStatus(fiber.StatusServiceUnavailable)
	}
	response := make([]byte, 0, 64)
	response = append(response, `{"id":"`...)
	response = append(response, hub.FormatEventID(uint64(e.id))...)
	response = append(response, `","deliveries":1}`...)
	c.Context().SetContentType("application/json")
	return c.Status(fiber.StatusAccepted).Send(response)
}

// commitEvents is one lane of the group commit: all waiting events become one insert
// and one flush to disk. During it the next batch collects.
func (f *server) commitEvents(ctx context.Context) {
	batch := make([]*event, 0, maxBatch)
	for {
		batch = nextBatch(batch[:0], f.incoming, maxBatch)
		err := f.store.insertEvents(ctx, batch)
		for _, e := range batch {
			e.done <- err
			if err == nil {
				f.outgoing <- e
			}
		}
	}
}

// commitAttempts writes the delivery log.
func (f *server) commitAttempts(ctx context.Context) {
	batch := make([]attempt, 0, logBatch)
	for {
		first := <-f.attempts
		time.Sleep(logDelay)
		batch = append(batch[:0], first)
	gathering:
		for len(batch) < logBatch {
			select {
			case r := <-f.attempts:
				batch = append(batch, r)
			default:
				break gathering
			}
		}
		if err := f.store.insertAttempts(ctx, batch); err != nil && ctx.Err() == nil {
			f.failed <- err
			return
		}
	}
}

// nextBatch waits for an item, and appends all others that are ready, up to limit.
func nextBatch[T any](batch []T, from <-chan T, limit int) []T {
	batch = append(batch, <-from)
	for len(batch) < limit {
		select {
		case item := <-from:
			batch = append(batch, item)
		default:
			return batch
		}
	}
	return batch
}

// deliver is one worker. It reuses its buffers for every delivery.
func (f *server) deliver() {
	mac := hmac.New(sha256.New, []byte(Secret))
	var sum [sha256.Size]byte
	signature := make([]byte, 0, len("sha256=")+2*sha256.Size)
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI(f.target.String())
	req.Header.SetContentType("application/json")
	for e := range f.outgoing {
		started := time.Now()
		mac.Reset()
		mac.Write(e.body)
		signature = append(signature[:0], "sha256="...)
		signature = hex.AppendEncode(signature, mac.Sum(sum[:0]))
		req.Header.Set(hub.HeaderStdID, hub.FormatEventID(uint64(e.id)))
		req.Header.Set(hub.HeaderStdTimestamp, strconv.FormatInt(started.Unix(), 10))
		req.Header.SetBytesV(hub.HeaderSignature, signature)
		req.SetBodyRaw(e.body)
		status := 0
		if err := f.client.Do(req, resp); err == nil {
			status = resp.StatusCode()
		}
		f.attempts <- attempt{e.id, started, int16(status), int32(time.Since(started).Milliseconds())}
		if status < 200 || status > 299 {
			time.AfterFunc(retryDelay, func() { f.outgoing <- e })
		}
	}
}
