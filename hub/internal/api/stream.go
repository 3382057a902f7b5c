package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger"
)

// Bounds of a live tail.
const (
	streamTick   = 250 * time.Millisecond // changes are gathered for this long
	streamBatch  = 200                    // deliveries in one reading
	streamBeat   = 15 * time.Second       // a comment keeps idle connections alive
	streamFor    = time.Hour              // then the client logs in again
	streamResume = 500                    // deliveries made up for after Last-Event-ID
)

// eventStream is the media type of a live tail.
const eventStream = "text/event-stream"

type streamInput struct {
	DeliveryQuery
	LastEventID string `header:"Last-Event-ID" doc:"Id of the last delivery seen: newer ones come first"`
}

// streamOutput is what each message's data is.
type streamOutput struct {
	Body ledger.Item
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
	var after *uuid.UUID
	if last := c.Get("Last-Event-ID"); last != "" {
		id, err := uuid.Parse(last)
		if err != nil {
			return hub.Invalid("header.Last-Event-ID", "must be the id of a delivery")
		}
		after = &id
	}
	c.Set(fiber.HeaderContentType, eventStream)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("X-Accel-Buffering", "no")
	feed, stop := a.deps.Tail.Listen()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer stop()
		a.tail(w, filter, after, feed)
	})
	return nil
}

// tail writes changes until the client goes, the hub stops or the hour is over.
func (a *API) tail(w *bufio.Writer, filter ledger.Filter, after *uuid.UUID, feed <-chan uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.Background(), streamFor)
	defer cancel()
	if fmt.Fprint(w, "retry: 1000\n\n"); w.Flush() != nil {
		return
	}
	if after != nil && a.catchUp(ctx, w, filter, *after) != nil {
		return
	}
	tick, beat := time.NewTicker(streamTick), time.NewTicker(streamBeat)
	defer tick.Stop()
	defer beat.Stop()
	changed := make(map[uuid.UUID]bool)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-a.deps.Stopping:
			return
		case id := <-feed:
			changed[id] = true
			if len(changed) < streamBatch {
				continue
			}
			err = a.send(ctx, w, filter, changed)
		case <-tick.C:
			err = a.send(ctx, w, filter, changed)
		case <-beat.C:
			fmt.Fprint(w, ": still here\n\n")
			err = w.Flush()
		}
		if err != nil {
			return
		}
	}
}

// send writes the deliveries that changed and match, and empties the set.
func (a *API) send(ctx context.Context, w *bufio.Writer, filter ledger.Filter, changed map[uuid.UUID]bool) error {
	if len(changed) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, 0, len(changed))
	for id := range changed {
		ids = append(ids, id)
	}
	clear(changed)
	items, err := a.deps.Ledger.Matching(ctx, filter, ids)
	if err != nil {
		return err
	}
	return writeItems(w, items)
}

// catchUp writes what came after a delivery the client has seen, oldest first.
func (a *API) catchUp(ctx context.Context, w *bufio.Writer, filter ledger.Filter, after uuid.UUID) error {
	items, err := a.deps.Ledger.After(ctx, filter, after, streamResume)
	if err != nil {
		return err
	}
	return writeItems(w, items)
}

func writeItems(w *bufio.Writer, items []ledger.Item) error {
	for _, item := range items {
		data, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("writing a delivery: %w", err)
		}
		if _, err := fmt.Fprintf(w, "event: delivery\nid: %s\ndata: %s\n\n", item.ID, data); err != nil {
			return err
		}
	}
	return w.Flush()
}
