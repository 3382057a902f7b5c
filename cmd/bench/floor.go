package main

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
	"github.com/spf13/cobra"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
)

// floorSecret signs the floor's deliveries. It protects nothing: the floor only
// ever talks to the bench's own receiver.
const floorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// Sizes of the floor's parts; README.md says what other values gave.
const (
	floorWorkers  = 16                   // deliveries in flight
	floorLanes    = 1                    // event batches being committed at the same time
	floorMaxBatch = 256                  // events in one commit
	floorLogBatch = 1024                 // log rows in one commit
	floorLogWait  = 5 * time.Millisecond // how long a log batch may gather: nobody waits for it
	floorBacklog  = 1 << 20              // accepted events waiting in memory for a worker
	floorRetry    = time.Second          // wait before a failed delivery is tried again
	floorDeadline = 10 * time.Second     // for one POST out
)

// floorEvent is one accepted event on its way through the floor.
type floorEvent struct {
	id   int64
	body []byte
	done chan error // receives the outcome of the commit, once
}

// floorResult is one row of the floor's delivery log.
type floorResult struct {
	id     int64
	at     time.Time
	status int16 // 0 when there was no answer
	took   int32 // milliseconds
}

// floor is the yardstick: one POST in, one durable group-committed insert, one
// HMAC, one POST out, one batched log row. Nothing of it can be left out of a
// gateway that keeps what it accepted; nothing else is in it. It has no keys, no
// limits, no routing, no API and one destination.
type floor struct {
	store    *floorStore
	target   *url.URL
	client   *fasthttp.HostClient
	sequence atomic.Int64
	incoming chan *floorEvent
	outgoing chan *floorEvent
	results  chan floorResult
	failed   chan error // first failure that makes the floor's figures worthless
}

// floorCommand runs the floor program until it is told to stop.
func floorCommand() *cobra.Command {
	var listen, database, target string
	cmd := &cobra.Command{
		Use:   "floor",
		Short: "Run the floor program: only the unavoidable work of a gateway",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFloor(cmd.Context(), listen, database, target)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:57080", "address to accept events on")
	cmd.Flags().StringVar(&database, "database", "", "PostgreSQL URL (default: PG* environment variables)")
	cmd.Flags().StringVar(&target, "target", "http://127.0.0.1:57070/hook/0", "where every event is delivered")
	return cmd
}

// runFloor serves until ctx ends. It does not drain: what is committed and not
// yet delivered is taken up again at the next start, as after a crash.
func runFloor(ctx context.Context, listen, database, target string) error {
	destination, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("reading target: %w", err)
	}
	store, err := openFloorStore(ctx, database)
	if err != nil {
		return err
	}
	defer store.close()
	f := &floor{
		store:  store,
		target: destination,
		client: &fasthttp.HostClient{
			Addr:                          destination.Host,
			MaxConns:                      floorWorkers,
			MaxIdleConnDuration:           time.Minute,
			ReadTimeout:                   floorDeadline,
			WriteTimeout:                  floorDeadline,
			NoDefaultUserAgentHeader:      true,
			DisableHeaderNamesNormalizing: true,
			MaxIdemponentCallAttempts:     1,
		},
		incoming: make(chan *floorEvent, floorMaxBatch),
		outgoing: make(chan *floorEvent, floorBacklog),
		results:  make(chan floorResult, floorBacklog),
		failed:   make(chan error, 1),
	}
	f.sequence.Store(time.Now().UnixNano())
	for range floorLanes {
		go f.commitEvents(ctx)
	}
	for range floorWorkers {
		go f.deliver()
	}
	go f.commitResults(ctx)
	if err := store.recover(ctx, func(e *floorEvent) { f.outgoing <- e }); err != nil {
		return err
	}
	return f.serve(ctx, listen)
}

// serve answers POST /events with 202 after the commit.
func (f *floor) serve(ctx context.Context, listen string) error {
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

// accept is the whole inbound path: copy, wait for the commit, answer.
func (f *floor) accept(c *fiber.Ctx) error {
	e := &floorEvent{
		id:   f.sequence.Add(1),
		body: append([]byte(nil), c.Body()...),
		done: make(chan error, 1),
	}
	f.incoming <- e
	if err := <-e.done; err != nil {
		return c.SendStatus(fiber.StatusServiceUnavailable)
	}
	answer := make([]byte, 0, 64)
	answer = append(answer, `{"id":"`...)
	answer = append(answer, hub.FormatEventID(uint64(e.id))...)
	answer = append(answer, `","deliveries":1}`...)
	c.Context().SetContentType("application/json")
	return c.Status(fiber.StatusAccepted).Send(answer)
}

// commitEvents is one lane of the group commit: whatever is waiting becomes one
// insert and one flush to disk. While it runs, the next batch gathers.
func (f *floor) commitEvents(ctx context.Context) {
	batch := make([]*floorEvent, 0, floorMaxBatch)
	for {
		batch = gather(batch[:0], f.incoming, floorMaxBatch)
		err := f.store.insertEvents(ctx, batch)
		for _, e := range batch {
			e.done <- err
			if err == nil {
				f.outgoing <- e
			}
		}
	}
}

// commitResults writes the delivery log.
func (f *floor) commitResults(ctx context.Context) {
	batch := make([]floorResult, 0, floorLogBatch)
	for {
		first := <-f.results
		time.Sleep(floorLogWait)
		batch = append(batch[:0], first)
	gathering:
		for len(batch) < floorLogBatch {
			select {
			case r := <-f.results:
				batch = append(batch, r)
			default:
				break gathering
			}
		}
		if err := f.store.insertResults(ctx, batch); err != nil && ctx.Err() == nil {
			f.failed <- err
			return
		}
	}
}

// gather waits for one item and takes all others that are ready, up to limit.
func gather[T any](batch []T, from <-chan T, limit int) []T {
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

// deliver is one worker. What it allocates, it keeps for the next delivery.
func (f *floor) deliver() {
	mac := hmac.New(sha256.New, []byte(floorSecret))
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
		f.results <- floorResult{e.id, started, int16(status), int32(time.Since(started).Milliseconds())}
		if status < 200 || status > 299 {
			time.AfterFunc(floorRetry, func() { f.outgoing <- e })
		}
	}
}
