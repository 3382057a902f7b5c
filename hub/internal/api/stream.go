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
	streamBeat   = 15 * time.Second       // a comment keeps idle connections alive
	streamFor    = time.Hour              // then the client logs in again
	streamResume = 500                    // deliveries made up for at once

	// Changes elsewhere are told through Redis. What it does not tell, because the
	// processes have not heard of this listener yet, or because it is away, is looked
	// for in the database: soon after the beginning, later now and then.
	lookEarly = time.Second
	lookLater = 10 * time.Second
	earlyFor  = 6 * time.Second // by then every process knows

	// streamOverlap is how far back a look goes, for what was being committed or told
	// at the moment before: what was sent already is known.
	streamOverlap = 3 * time.Second
)

// eventStream is the media type of a live tail.
const eventStream = "text/event-stream"

type streamInput struct {
	DeliveryQuery
	LastEventID string `header:"Last-Event-ID" doc:"Id of the last message seen, or of a delivery: what changed since then comes first. Some of it may come again, with the same ids"`
}

// streamOutput is what each message's data is.
type streamOutput struct {
	Body query.Item
}

// stream serves GET /api/v1/events/stream: server-sent events named "delivery",
// one for each attempt that was stored, with the delivery as the log shows it.
func (a *API) stream(c *fiber.Ctx, _ *request) error {
	var query DeliveryQuery
	if err := c.QueryParser(&query); err != nil {
		return hub.Invalid("query", "cannot be read")
	}
	filter, err := query.filter()
	if err != nil {
		return err
	}
	t := tail{api: a, filter: filter, sent: make(map[uuid.UUID]time.Time)}
	if last := c.Get("Last-Event-ID"); last != "" {
		var ok bool
		if t.last, t.lastAt, ok = parsePosition(last); !ok {
			return hub.Invalid("header.Last-Event-ID", "must be the id of a message of this stream")
		}
	}
	c.Set(fiber.HeaderContentType, eventStream)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	feed, stop := a.deps.Tail.Subscribe()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer stop()
		t.w = w
		t.run(feed)
	})
	return nil
}

// position is the id of a message: which delivery changed, and when. It is the same
// whichever process tells of the change.
func position(item *query.Item) string {
	return item.ID.String() + "@" + strconv.FormatInt(item.ChangedAt.UnixMicro(), 10)
}

// parsePosition reads a message's id; a delivery's id alone, at the zero time, means
// whatever has become of it until now.
func parsePosition(text string) (id uuid.UUID, at time.Time, ok bool) {
	name, micros, timed := strings.Cut(text, "@")
	id, err := uuid.Parse(name)
	if err != nil || !timed {
		return id, at, err == nil
	}
	n, err := strconv.ParseInt(micros, 10, 64)
	at = time.UnixMicro(n)
	return id, at, err == nil && n >= 0 && at.Year() <= 9999 // later ones are no times to PostgreSQL
}

// tail is one listener of the live tail.
type tail struct {
	api    *API
	w      *bufio.Writer
	filter query.Filter
	last   uuid.UUID               // the delivery seen last, by an earlier connection; Nil: none
	lastAt time.Time               // when it had changed; the zero time: not known
	looked time.Time               // up to when the database was looked at
	sent   map[uuid.UUID]time.Time // which change of a delivery was sent last
}

// run writes changes until the client goes, the hub stops or the hour is over.
func (t *tail) run(feed <-chan uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.Background(), streamFor)
	defer cancel()
	// The moment first: what happens once the client knows that the tail runs is told.
	var err error
	if t.looked, err = t.api.deps.Ledger.DatabaseTime(ctx); err != nil {
		return
	}
	if fmt.Fprint(t.w, "retry: 1000\n\n"); t.w.Flush() != nil || t.begin(ctx) != nil {
		return
	}
	gather, beat, look := time.NewTicker(streamTick), time.NewTicker(streamBeat), time.NewTicker(lookEarly)
	defer gather.Stop()
	defer beat.Stop()
	defer look.Stop()
	early := time.After(earlyFor)
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
			err = t.tell(ctx, changed)
		case <-gather.C:
			err = t.tell(ctx, changed)
		case <-look.C:
			err = t.look(ctx)
		case <-early:
			look.Reset(lookLater)
		case <-beat.C:
			fmt.Fprint(t.w, ": still here\n\n")
			err = t.w.Flush()
		}
		if err != nil {
			return
		}
	}
}

// begin writes what changed since the client was last here.
func (t *tail) begin(ctx context.Context) error {
	if t.last == uuid.Nil {
		return nil
	}
	t.sent[t.last] = t.lastAt
	if t.lastAt.IsZero() {
		t.lastAt, t.sent[t.last] = logid.Time(t.last), t.looked
	}
	items, err := t.api.deps.Ledger.ListChangedSince(ctx, t.filter, t.lastAt.Add(-streamOverlap), streamResume)
	if err != nil {
		return err
	}
	return t.write(items)
}

// tell writes the deliveries that changed and match, and empties the set.
func (t *tail) tell(ctx context.Context, changed map[uuid.UUID]bool) error {
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

// look writes what changed and nobody told of, and forgets what was sent so long ago
// that no look finds it any more.
func (t *tail) look(ctx context.Context) error {
	now, err := t.api.deps.Ledger.DatabaseTime(ctx)
	if err != nil {
		return err
	}
	items, err := t.api.deps.Ledger.ListAttemptedSince(ctx, t.filter, t.looked, streamResume)
	if err != nil {
		return err
	}
	if next := now.Add(-streamOverlap); next.After(t.looked) {
		t.looked = next
	}
	maps.DeleteFunc(t.sent, func(_ uuid.UUID, at time.Time) bool { return at.Before(t.looked.Add(-streamOverlap)) })
	return t.write(items)
}

// write sends those deliveries whose change was not sent before.
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
