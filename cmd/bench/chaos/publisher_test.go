package chaos

import (
	"encoding/json"
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
	publisherPause       = 5 * time.Millisecond // after each POST: about 1,000 events a second
	publisherBytes       = 256                  // of each data object
	withID               = 3                    // every third event chooses its own id
	ofGoneType           = 20                   // every twentieth event goes to the dead endpoint too
)

// publisher keeps sending and records what it was told: what was answered 2xx
// must never be lost.
type publisher struct {
	key     string
	bytes   int                      // of each event's data
	bases   atomic.Pointer[[]string] // connection i sends to bases[i % len]
	next    atomic.Uint64
	stopped chan struct{}
	done    sync.WaitGroup

	mu       sync.Mutex
	sent     []records.Sent
	by       map[string]map[int]int // base → status → answers
	offences []string               // answers no client should ever get
}

// publish starts the connections. They end with [publisher.stop].
func (w *world) publish(bases ...string) *publisher { return w.publishFrom(0, bases...) }

// publishFrom is publish with events numbered from n+1 on.
func (w *world) publishFrom(n uint64, bases ...string) *publisher {
	p := &publisher{key: w.apiKey, bytes: w.eventBytes, stopped: make(chan struct{}), by: make(map[string]map[int]int)}
	p.next.Store(n)
	p.bases.Store(&bases)
	if len(bases) == 0 { // events are sent one by one
		return p
	}
	for i := range publisherConnections {
		p.done.Go(func() { p.run(i) })
	}
	return p
}

// stop ends the sending and gives the record of every event.
func (p *publisher) stop() []records.Sent {
	close(p.stopped)
	p.done.Wait()
	return p.sent
}

// answered counts the answers of one hub so far, by status; 0 is none.
func (p *publisher) answered(base string) map[int]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make(map[int]int)
	for status, n := range p.by[base] {
		counts[status] = n
	}
	return counts
}

// acceptedAfter tells when the first event that was sent after a moment was accepted.
func (p *publisher) acceptedAfter(moment time.Time) (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := int64(0)
	for _, s := range p.sent {
		if s.Accepted() && s.SentAt > moment.UnixNano() && (first == 0 || s.AnsweredAt < first) {
			first = s.AnsweredAt
		}
	}
	return time.Unix(0, first), first != 0
}

// between gives the records of events answered in a span of time.
func (p *publisher) between(from, to time.Time) []records.Sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []records.Sent
	for _, s := range p.sent {
		if s.SentAt >= from.UnixNano() && s.AnsweredAt <= to.UnixNano() {
			found = append(found, s)
		}
	}
	return found
}

func (p *publisher) run(number int) {
	c := &publisherConnection{publisher: p, number: number, clients: make(map[string]*fasthttp.HostClient)}
	for !c.send(newChaosEvent(p.next.Add(1), p.bytes)) {
	}
}

// publisherConnection sends one event after the other to one hub, until that asks
// to go elsewhere or does not answer.
type publisherConnection struct {
	*publisher
	number  int
	clients map[string]*fasthttp.HostClient // by base
}

func (c *publisherConnection) client() (*fasthttp.HostClient, string) {
	bases := *c.bases.Load()
	base := bases[c.number%len(bases)]
	if c.clients[base] == nil {
		c.clients[base] = &fasthttp.HostClient{
			Addr: base[len("http://"):], MaxConns: 1, ReadTimeout: load.ResponseTimeout, WriteTimeout: load.ResponseTimeout,
			MaxIdemponentCallAttempts: 1, // a POST sent twice would be a duplicate of our own making
		}
	}
	return c.clients[base], base
}

// chaosEvent is one event with the bytes that publish it.
type chaosEvent struct {
	sent records.Sent
	id   string // chosen, or ""
	body []byte
}

func newChaosEvent(n uint64, size int) chaosEvent {
	if n%ofGoneType == 0 {
		return sizedChaosEvent(n, goneType, size)
	}
	return sizedChaosEvent(n, payload.EventType, size)
}

func chaosEventOf(n uint64, kind string) chaosEvent { return sizedChaosEvent(n, kind, publisherBytes) }

func sizedChaosEvent(n uint64, kind string, size int) chaosEvent {
	e := chaosEvent{sent: records.Sent{Number: n, SentAt: time.Now().UnixNano()}}
	e.body = append(e.body, `{"event_type":"`+kind+`",`...)
	if n%withID == 0 {
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
// sent again until it is accepted, here or elsewhere, as a careful client would;
// one without is given up after one try.
func (c *publisherConnection) send(e chaosEvent) (ended bool) {
	for {
		client, base := c.client()
		if closing := c.post(client, base, &e); closing || e.sent.Status == 0 {
			c.number++
		}
		pause := publisherPause
		if !e.sent.Accepted() {
			pause = load.RefusalBackoff
		}
		select {
		case <-c.stopped:
			ended = true
		case <-time.After(pause):
		}
		if ended || e.id == "" || e.sent.Accepted() {
			c.keep(e)
			return ended
		}
	}
}

func (p *publisher) keep(e chaosEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, e.sent)
}

// post makes one POST; it reports whether the hub asked to close the connection.
func (p *publisher) post(client *fasthttp.HostClient, base string, e *chaosEvent) (closing bool) {
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
	p.note(base, status, resp, e)
	return closing
}

// note counts an answer and keeps those that are wrong whatever happened.
func (p *publisher) note(base string, status int, resp *fasthttp.Response, e *chaosEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by[base] == nil {
		p.by[base] = make(map[int]int)
	}
	p.by[base][status]++
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
	if offence != "" && len(p.offences) < 10 {
		p.offences = append(p.offences, offence)
	}
}

// percentile of how long the answers took.
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
	for n := range uint64(2 * ofGoneType) {
		e := newChaosEvent(n, publisherBytes)
		var body struct {
			ID   string          `json:"id"`
			Type string          `json:"event_type"`
			Data json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(e.body, &body))
		require.Equal(t, e.id, body.ID)
		require.Equal(t, n%withID == 0, e.id != "")
		require.Equal(t, n%ofGoneType == 0, body.Type == goneType)
		stamped, at, data, ok := payload.ReadStamp(e.body)
		require.True(t, ok)
		require.Equal(t, e.sent.Number, stamped)
		require.Equal(t, e.sent.SentAt, at)
		require.Equal(t, e.sent.DataCRC, crc32.ChecksumIEEE(data))
	}
}
