package chaos

import (
	"encoding/json"
	"flag"
	"hash/crc32"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/load"
	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

const (
	publisherConnections = 8
	defaultEventBytes    = 256 // of each data object
	idEvery              = 3   // every third event chooses its own id
	goneEvery            = 20  // every twentieth event goes to the dead endpoint too
)

// publishPause is between the POSTs of a connection: 20 ms make about 350 events a second, 5 ms
// 1,000. `make chaos` publishes more than `make test`, in which all tests share the machine.
var publishPause = flag.Duration("chaos.pause", 50*time.Millisecond, "pause between the POSTs of a connection")

// publisher keeps publishing, and records every event with its response.
type publisher struct {
	key        string
	eventBytes int                      // of each event's data
	baseURLs   atomic.Pointer[[]string] // connection i publishes to baseURLs[i % len]
	next       atomic.Uint64
	stopped    chan struct{}
	done       sync.WaitGroup

	mu         sync.Mutex
	sent       []records.Sent
	responses  map[string]map[int]int // base URL → status → responses
	violations []string               // responses that break the API's promises
}

// startPublisher starts the connections. They end with [publisher.stop].
func (bed *testbed) startPublisher(bases ...string) *publisher {
	return bed.startPublisherFrom(0, bases...)
}

// startPublisherFrom is startPublisher with events numbered from n+1 on.
func (bed *testbed) startPublisherFrom(n uint64, bases ...string) *publisher {
	p := &publisher{key: bed.apiKey, eventBytes: bed.eventBytes, stopped: make(chan struct{}), responses: make(map[string]map[int]int)}
	p.next.Store(n)
	p.baseURLs.Store(&bases)
	if len(bases) == 0 { // events are sent one by one
		return p
	}
	for i := range publisherConnections {
		p.done.Go(func() { p.run(i) })
	}
	return p
}

// stop ends the publishing and returns the record of every event.
func (p *publisher) stop() []records.Sent {
	close(p.stopped)
	p.done.Wait()
	return p.sent
}

// responseCounts returns how many responses a hub gave so far, by status; 0 = no response.
func (p *publisher) responseCounts(base string) map[int]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make(map[int]int)
	for status, n := range p.responses[base] {
		counts[status] = n
	}
	return counts
}

// firstAcceptedAfter returns when the first event that was sent after a moment was accepted.
func (p *publisher) firstAcceptedAfter(after time.Time) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := int64(0)
	for _, sent := range p.sent {
		if sent.Accepted() && sent.SentAt > after.UnixNano() && (first == 0 || sent.AnsweredAt < first) {
			first = sent.AnsweredAt
		}
	}
	return time.Unix(0, first), first != 0
}

// sentBetween returns the records of events sent and answered between two moments.
func (p *publisher) sentBetween(from, to time.Time) []records.Sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sent []records.Sent
	for _, s := range p.sent {
		if s.SentAt >= from.UnixNano() && s.AnsweredAt <= to.UnixNano() {
			sent = append(sent, s)
		}
	}
	return sent
}

func (p *publisher) run(number int) {
	c := &publisherConnection{publisher: p, number: number, clients: make(map[string]*fasthttp.HostClient)}
	for !c.send(newEvent(p.next.Add(1), p.eventBytes)) {
	}
}

// publisherConnection publishes one event after the other to one hub. It changes to
// the next hub when this one closes the connection or does not respond.
type publisherConnection struct {
	*publisher
	number  int
	clients map[string]*fasthttp.HostClient // by base
}

func (c *publisherConnection) client() (*fasthttp.HostClient, string) {
	bases := *c.baseURLs.Load()
	base := bases[c.number%len(bases)]
	if c.clients[base] == nil {
		c.clients[base] = &fasthttp.HostClient{
			Addr: base[len("http://"):], MaxConns: 1, ReadTimeout: load.ResponseTimeout, WriteTimeout: load.ResponseTimeout,
			MaxIdemponentCallAttempts: 1, // a POST sent twice would be a duplicate of our own making
		}
	}
	return c.clients[base], base
}

// event is an event with the request body that publishes it.
type event struct {
	sent records.Sent
	id   string // chosen, or ""
	body []byte
}

func newEvent(n uint64, size int) event {
	if n%goneEvery == 0 {
		return newSizedEvent(n, goneType, size)
	}
	return newSizedEvent(n, payload.EventType, size)
}

func newEventOfType(n uint64, kind string) event { return newSizedEvent(n, kind, defaultEventBytes) }

func newSizedEvent(n uint64, kind string, size int) event {
	e := event{sent: records.Sent{Number: n, SentAt: time.Now().UnixNano()}}
	e.body = append(e.body, `{"event_type":"`+kind+`",`...)
	if n%idEvery == 0 {
		e.id = hub.NewEventID()
		e.body = append(e.body, `"id":"`+e.id+`",`...)
	}
	e.body = append(e.body, `"data":`...)
	start := len(e.body)
	e.body = payload.AppendData(e.body, n, e.sent.SentAt, size)
	e.sent.DataCRC = crc32.ChecksumIEEE(e.body[start:])
	e.body = append(e.body, '}')
	return e
}

// send publishes an event and reports whether it was the last. One with an id is
// sent again, to any hub, until it is accepted; one without is sent once.
func (c *publisherConnection) send(e event) (ended bool) {
	for {
		client, base := c.client()
		if closing := c.post(client, base, &e); closing || e.sent.Status == 0 {
			c.number++
		}
		pause := *publishPause
		if !e.sent.Accepted() {
			pause = load.RefusalBackoff
		}
		select {
		case <-c.stopped:
			ended = true
		case <-time.After(pause):
		}
		if ended || e.id == "" || e.sent.Accepted() {
			c.record(e)
			return ended
		}
	}
}

func (p *publisher) record(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, e.sent)
}

// post makes one POST; it reports whether the hub asked to close the connection.
func (p *publisher) post(client *fasthttp.HostClient, base string, e *event) (closing bool) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI(base + "/api/v1/events")
	req.Header.SetContentType("application/json")
	req.Header.Set(hub.HeaderKey, p.key)
	req.SetBodyRaw(e.body)
	status := 0
	if err := client.Do(req, resp); err == nil {
		status = resp.StatusCode()
		closing = resp.ConnectionClose()
	}
	e.sent.AnsweredAt, e.sent.Status = time.Now().UnixNano(), uint16(status)
	if e.sent.Accepted() {
		e.sent.ID, e.sent.Deliveries = load.ParseAcceptance(resp.Body())
	}
	p.countResponse(base, status, resp, e)
	return closing
}

// countResponse counts a response, and records it when it breaks a promise of the API.
func (p *publisher) countResponse(base string, status int, resp *fasthttp.Response, e *event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.responses[base] == nil {
		p.responses[base] = make(map[int]int)
	}
	p.responses[base][status]++
	offence := ""
	switch status {
	case 0:
	case fasthttp.StatusAccepted, fasthttp.StatusOK:
		if given := hub.FormatEventID(e.sent.ID); e.id != "" && e.id != given {
			offence = "chose the id " + e.id + " and was given " + given
		}
		if status == fasthttp.StatusOK && e.id == "" {
			offence = "200 for an event without an id"
		}
	case fasthttp.StatusServiceUnavailable:
		if after, err := strconv.Atoi(string(resp.Header.Peek("Retry-After"))); err != nil || after < 1 {
			offence = "503 without Retry-After"
		}
	default:
		offence = strconv.Itoa(status) + " " + string(resp.Body())
	}
	if offence != "" && len(p.violations) < 10 {
		p.violations = append(p.violations, offence)
	}
}

// percentile returns a percentile of the response times.
func percentile(sent []records.Sent, share float64) time.Duration {
	if len(sent) == 0 {
		return 0
	}
	took := make([]int64, len(sent))
	for i, s := range sent {
		took[i] = s.AnsweredAt - s.SentAt
	}
	slices.Sort(took)
	return time.Duration(took[int(float64(len(took)-1)*share)])
}

func TestChaosEventIsWhatTheReceiverReads(t *testing.T) {
	t.Parallel()
	for n := range uint64(2 * goneEvery) {
		event := newEvent(n, defaultEventBytes)
		var body struct {
			ID   string          `json:"id"`
			Type string          `json:"event_type"`
			Data json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(event.body, &body))
		require.Equal(t, event.id, body.ID)
		require.Equal(t, n%idEvery == 0, event.id != "")
		require.Equal(t, n%goneEvery == 0, body.Type == goneType)
		stamped, at, data, ok := payload.ReadStamp(event.body)
		require.True(t, ok)
		require.Equal(t, event.sent.Number, stamped)
		require.Equal(t, event.sent.SentAt, at)
		require.Equal(t, event.sent.DataCRC, crc32.ChecksumIEEE(data))
	}
}
