package api_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/ledger/write"
	"integrationhub/hub/internal/limit"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/internal/outbox"
)

const (
	tick = 10 * time.Millisecond // how often the outside world is looked at
	soon = time.Minute           // how long it may take on a busy machine
)

// engine accepts and delivers events behind the interface. Deliveries to any address reach
// hook; there are no timed retries.
type engine struct {
	redis      *hubtest.RedisServer
	directory  *directory.Directory
	dispatcher *delivery.Dispatcher
	outbox     *outbox.Outbox
	replays    *maintain.Replays
	requeuer   *maintain.Requeuer
	discarder  *maintain.Discarder
	tail       *query.Tail
	hook       *hook
	stopping   chan struct{}
	halt       func() // closes stopping, once
	background func(work func(context.Context))
}

// start wires the engine. Sweeping and replays run where a test asks for them.
func (e *engine) start(b *bundle, log *slog.Logger) {
	t := b.t
	e.redis, e.hook, e.stopping = hubtest.Redis(t), newHook(t), make(chan struct{})
	e.halt = sync.OnceFunc(func() { close(e.stopping) })
	e.directory = directory.New(b.db, b.box, anyPeer, log, b.clock.Now)
	e.tail = query.NewTail(e.redis.Client(t), "test", log)
	sender := client.New(client.Config{Dial: e.hook.dial, Timeout: soon})
	writer := write.NewWriter(b.db, log, b.clock.Now, e.tail.Publish)
	e.dispatcher = delivery.NewDispatcher(delivery.Config{
		Pool: b.db, Directory: e.directory, Client: sender, Attempts: writer, Logger: log, Now: b.clock.Now, Concurrency: 8, EndpointConcurrency: 4,
	})
	e.outbox = outbox.New(b.db, e.directory, e.dispatcher, metrics.New(), log, b.clock.Now, 10_000)
	e.replays = maintain.NewReplays(b.db, log, b.clock.Now, e.dispatcher.Wake)
	e.requeuer = maintain.NewRequeuer(b.db, query.NewReader(b.db))
	e.discarder = maintain.NewDiscarder(b.db, query.NewReader(b.db), func(string, int) {})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	e.background = func(work func(context.Context)) { running.Go(func() { work(ctx) }) }
	t.Cleanup(func() {
		e.halt()
		e.outbox.Close()
		ending, done := context.WithTimeout(context.Background(), soon)
		defer done()
		quiet := e.dispatcher.Stop(ending)
		require.True(t, quiet)
		writer.Close()
		cancel()
		running.Wait()
		sender.Close()
	})
}

// hook is a receiver of webhooks.
type hook struct {
	addr   string
	status atomic.Int64 // what it answers
}

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	h.status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Set-Cookie", "canary-cookie")
		status := int(h.status.Load())
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "60") // so that no second attempt comes between
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "thanks")
	}))
	t.Cleanup(server.Close)
	h.addr = server.Listener.Addr().String()
	return h
}

func (h *hook) dial(ctx context.Context, network, _ string) (net.Conn, time.Duration, time.Duration, error) {
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, h.addr)
	return conn, time.Millisecond, time.Since(began), err
}

// keyLimits counts requests of keys, as the server does.
type keyLimits struct{ limiter *limit.Limiter }

// Count serves the gateway.
func (k keyLimits) Count(c *fiber.Ctx, key *directory.Key) error {
	return k.Allow(c.UserContext(), key.Principal, c.Set)
}

// Allow serves the API.
// KeyUse is that of the server.
func (k keyLimits) KeyUse(ctx context.Context, keyID uuid.UUID, _ *uuid.UUID, rate limit.Rate) limit.Result {
	return k.limiter.Peek(ctx, "key", keyID.String(), rate)
}

func (k keyLimits) Allow(ctx context.Context, key keys.Principal, setHeader func(name, value string)) error {
	if key.Rate.Limit == 0 {
		return nil
	}
	result := k.limiter.Allow(ctx, "key", key.KeyID.String(), key.Rate)
	limit.SetHeaders(setHeader, result)
	return result.Err()
}

// Wait spaces nothing.
func (keyLimits) Wait(context.Context, keys.Principal) error { return nil }

// tidy runs the periodic maintenance of the hub.
func (b *bundle) tidy() {
	b.t.Helper()
	const retention = 10 * 365 * 24 * time.Hour // nothing is dropped
	require.NoError(b.t, maintain.NewMaintenance(b.db, slog.New(slog.DiscardHandler), b.clock.Now, retention, func(string, int) {}).EnforceRetention(context.Background()))
}

// publish publishes an event with a key and returns its id.
func (b *bundle) publish(key, eventType, data string, headers ...string) string {
	b.t.Helper()
	return b.ok(202, "POST", "/events", key, `{"event_type":"`+eventType+`","data":`+data+`}`, headers...)["id"].(string)
}

// settled waits until the only delivery of an event has a status and returns its detail.
func (b *bundle) settled(event, status string) map[string]any {
	b.t.Helper()
	var found []map[string]any
	require.Eventually(b.t, func() bool {
		found = items(b.ok(200, "GET", "/deliveries?event_id="+event, b.admin, ""))
		return len(found) == 1 && found[0]["status"] == status
	}, soon, tick, "%s of %s", status, event)
	return b.ok(200, "GET", "/deliveries/"+found[0]["id"].(string), b.admin, "")
}

// set changes the newest delivery of an event behind the hub's back.
func (b *bundle) set(event, assignments string, args ...any) uuid.UUID {
	b.t.Helper()
	id := uuid.MustParse(items(b.ok(200, "GET", "/deliveries?event_id="+event, b.admin, ""))[0]["id"].(string))
	_, err := b.db.Exec(b.t.Context(), `update hub.deliveries set `+assignments+` where id = $1`, append([]any{id}, args...)...)
	require.NoError(b.t, err)
	return id
}

func anyPeer(name string) hub.Connector { return hub.NewPeerConnector(name, name) }
