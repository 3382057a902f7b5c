package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// Bounds of a live tail.
const (
	streamTick   = 250 * time.Millisecond // changes are gathered for this long
	streamBatch  = 200                    // deliveries in one reading
	streamBeat   = 15 * time.Second       // interval of comments that keep idle connections alive
	streamFor    = time.Hour              // maximum duration; then the client comes back
	streamCheck  = 2 * time.Second        // interval of checks whether the operator may still watch
	checkTimeout = 2 * time.Second        // of one check; a tail that cannot be checked ends
	streamResume = 500                    // missed deliveries that are sent at most

	// Changes in other processes are announced through Redis. Announcements are missed
	// until the processes know of this listener, and while Redis is down. So the tail
	// also polls the database: often at first, rarely later.
	pollEarly = time.Second
	pollLater = 10 * time.Second
	earlyFor  = 6 * time.Second // by then every process knows of the listener

	// A tenant's tails only poll: with the announcements of all tenants they would cost more,
	// the more others send.
	pollTenant     = 2 * time.Second
	tailsPerTenant = 5 // at once, in each process

	// streamOverlap is how far a poll reaches back, for changes that were being committed
	// during the poll before. Changes that were sent already are skipped.
	streamOverlap = 3 * time.Second
)

// eventStream is the media type of a live tail.
const eventStream = "text/event-stream"

type streamInput struct {
	DeliveryQuery
	LastEventID string `header:"Last-Event-ID" doc:"Id of the last message seen, or of a delivery: what changed since then comes first. Some of it may come again, with the same ids"`
}

// streamOutput describes the data of each message.
type streamOutput struct {
	Body query.Item
}

// stream serves GET /api/v1/events/stream: server-sent events named "delivery", one for
// each stored attempt, with the delivery as the log shows it.
func (a *API) stream(c *fiber.Ctx, info *requestInfo) error {
	var query DeliveryQuery
	if err := c.QueryParser(&query); err != nil {
		return hub.Invalid("query", "has a parameter that cannot be read: status_code is a number")
	}
	if query.StatusCode == 0 && c.Query("status_code") != "" { // which the filter takes for absent
		return hub.Invalid("query.status_code", "must be an HTTP status: 100 to 999")
	}
	filter, err := query.filter()
	if err == nil {
		filter, err = info.narrowFilter(filter)
	}
	if err != nil {
		return err
	}
	t := tail{api: a, info: info, filter: filter, sent: make(map[uuid.UUID]time.Time)}
	if info.operator != nil {
		t.role = info.operator.Role
	}
	if last := c.Get("Last-Event-ID"); last != "" {
		var ok bool
		if t.last, t.lastAt, ok = parsePosition(last); !ok {
			return hub.Invalid("header.Last-Event-ID", "must be the id of a message of this stream")
		}
	}
	feed, stop, err := t.subscribe()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, eventStream)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer stop()
		t.w = w
		t.run(feed)
	})
	return nil
}

// position returns the id of a message: the delivery that changed, and the time of the
// change. It is the same in every process.
func position(item *query.Item) string {
	return item.ID.String() + "@" + strconv.FormatInt(item.ChangedAt.UnixMicro(), 10)
}

// parsePosition parses a message's id. For a delivery's id alone, at is the zero time: all
// changes of it until now were seen.
func parsePosition(text string) (id uuid.UUID, at time.Time, ok bool) {
	name, micros, timed := strings.Cut(text, "@")
	id, err := uuid.Parse(name)
	if err != nil || !timed {
		return id, at, err == nil
	}
	n, err := strconv.ParseInt(micros, 10, 64)
	at = time.UnixMicro(n)
	return id, at, err == nil && n >= 0 && at.Year() <= 9999 // PostgreSQL has no later times
}

// tail is one listener of the live tail.
type tail struct {
	api    *API
	w      *bufio.Writer
	info   *requestInfo // of the request, which authorizes it
	role   string       // of the operator when it began; "" for a key
	filter query.Filter
	last   uuid.UUID               // the last delivery that an earlier connection received; Nil: none
	lastAt time.Time               // time of its change; zero: unknown
	polled time.Time               // the database was polled up to this time
	sent   map[uuid.UUID]time.Time // time of the last change sent, by delivery
}

// subscribe returns the feed of what changes, and what ends it. A tenant's tail has no feed, and
// a tenant has a few tails only.
func (t *tail) subscribe() (feed <-chan uuid.UUID, stop func(), err error) {
	if t.info.key == nil {
		feed, stop = t.api.deps.Tail.Subscribe()
		return feed, stop, nil
	}
	if !t.api.tenantTails.begin(t.info.key.TenantID) {
		return nil, nil, hub.Errorf(hub.ErrRateLimited, "too_many_streams", "This tenant has %d streams open; close one first.", tailsPerTenant)
	}
	return nil, func() { t.api.tenantTails.end(t.info.key.TenantID) }, nil
}

// tailCounter counts the open tails of tenants. It is safe for concurrent use.
type tailCounter struct {
	mu   sync.Mutex
	open map[uuid.UUID]int
}

// begin reports whether a tenant may have another tail, and counts it.
func (c *tailCounter) begin(tenantID uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[tenantID] >= tailsPerTenant {
		return false
	}
	if c.open == nil {
		c.open = make(map[uuid.UUID]int)
	}
	c.open[tenantID]++
	return true
}

// end uncounts a tail.
func (c *tailCounter) end(tenantID uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[tenantID]--; c.open[tenantID] == 0 {
		delete(c.open, tenantID)
	}
}

// pollIntervals returns how often the database is polled early and later.
func (t *tail) pollIntervals() (first, then time.Duration) {
	if t.info.key != nil {
		return pollTenant, pollTenant
	}
	return pollEarly, pollLater
}

// checkAccess returns an error when the listener may not watch any more, or with other rights:
// the token or key ended, its login ended, or the operator was disabled, deleted or has another
// role.
func (t *tail) checkAccess(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if t.info.key != nil {
		if _, err := t.api.deps.KeyFinder.LookUp(ctx, t.info.plainKey); err != nil {
			return fmt.Errorf("checking who watches: %w", err)
		}
		return nil
	}
	operator, err := t.api.reverify(ctx, t.info)
	if err != nil {
		return fmt.Errorf("checking who watches: %w", err)
	}
	if operator.Role != t.role {
		return hub.Errorf(hub.ErrForbidden, "role_changed", "Your role was changed; open the stream again.")
	}
	return nil
}

// run writes changes until the client disconnects, may not watch any more, the hub stops or the
// hour is over.
func (t *tail) run(feed <-chan uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.Background(), streamFor)
	defer cancel()
	// The time is read first: changes after the client sees the tail open are sent.
	var err error
	if t.polled, err = t.api.deps.Ledger.DatabaseTime(ctx); err != nil {
		return
	}
	if fmt.Fprint(t.w, "retry: 1000\n\n"); t.w.Flush() != nil || t.resume(ctx) != nil {
		return
	}
	pollFirst, pollThen := t.pollIntervals()
	gather, beat, poll := time.NewTicker(streamTick), time.NewTicker(streamBeat), time.NewTicker(pollFirst)
	check := time.NewTicker(streamCheck)
	defer check.Stop()
	defer gather.Stop()
	defer beat.Stop()
	defer poll.Stop()
	earlyEnd := time.After(earlyFor)
	changed := make(map[uuid.UUID]bool)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-t.api.deps.Stopping:
			return
		case id := <-feed:
			changed[id] = true
			if len(changed) < streamBatch {
				continue
			}
			err = t.sendChanged(ctx, changed)
		case <-gather.C:
			err = t.sendChanged(ctx, changed)
		case <-poll.C:
			err = t.poll(ctx)
		case <-check.C:
			err = t.checkAccess(ctx)
		case <-earlyEnd:
			poll.Reset(pollThen)
		case <-beat.C:
			fmt.Fprint(t.w, ": still here\n\n")
			err = t.w.Flush()
		}
		if err != nil {
			return
		}
	}
}

// resume writes what changed since the client was connected last.
func (t *tail) resume(ctx context.Context) error {
	if t.last == uuid.Nil {
		return nil
	}
	t.sent[t.last] = t.lastAt
	if t.lastAt.IsZero() {
		t.lastAt, t.sent[t.last] = logid.Time(t.last), t.polled
	}
	items, err := t.api.deps.Ledger.ListChangedSince(ctx, t.filter, t.lastAt.Add(-streamOverlap), streamResume)
	if err != nil {
		return err
	}
	return t.write(items)
}

// sendChanged writes the changed deliveries that match, and empties the set.
func (t *tail) sendChanged(ctx context.Context, changed map[uuid.UUID]bool) error {
	if len(changed) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(changed))
	clear(changed)
	items, err := t.api.deps.Ledger.ListByIDs(ctx, t.filter, ids)
	if err != nil {
		return err
	}
	return t.write(items)
}

// poll writes changes that were not announced. It drops sent changes that are too old for
// any further poll to find.
func (t *tail) poll(ctx context.Context) error {
	now, err := t.api.deps.Ledger.DatabaseTime(ctx)
	if err != nil {
		return err
	}
	items, err := t.api.deps.Ledger.ListAttemptedSince(ctx, t.filter, t.polled, streamResume)
	if err != nil {
		return err
	}
	if next := now.Add(-streamOverlap); next.After(t.polled) {
		t.polled = next
	}
	maps.DeleteFunc(t.sent, func(_ uuid.UUID, at time.Time) bool { return at.Before(t.polled.Add(-streamOverlap)) })
	return t.write(items)
}

// write sends the deliveries whose change was not sent before.
func (t *tail) write(items []query.Item) error {
	for i := range items {
		item := &items[i]
		if at, ok := t.sent[item.ID]; ok && !item.ChangedAt.After(at) {
			continue
		}
		t.sent[item.ID] = item.ChangedAt
		data, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("writing a delivery: %w", err)
		}
		if _, err := fmt.Fprintf(t.w, "event: delivery\nid: %s\ndata: %s\n\n", position(item), data); err != nil {
			return err
		}
	}
	return t.w.Flush()
}
