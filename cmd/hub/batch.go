package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// Limits of one call: those of the hub, the bytes with some room.
const (
	batchEvents = 500
	batchBytes  = 1_000_000
)

// A call without a response is made again this often, after a pause each.
const (
	batchRepeats     = 2
	batchRepeatPause = time.Second
)

// batch publishes JSON lines, call by call.
type batch struct {
	app       *app
	client    *client.Client
	pending   []json.RawMessage // lines of the next call
	bytes     int               // of pending
	line      int               // lines read
	sent      int               // lines whose events are stored
	stored    int               // events stored
	firstLine int               // first line of the next call
	unknown   bool              // the last call failed, but its events may be stored
}

func (a *app) publishBatch(cmd *cobra.Command, c *client.Client, name string) error {
	reader, closeInput, err := a.source(name)
	if err != nil {
		return err
	}
	defer closeInput()
	b := &batch{app: a, client: c}
	lines := bufio.NewScanner(reader)
	lines.Buffer(make([]byte, 0, 64<<10), dataMax)
	for lines.Scan() {
		if err := b.add(cmd.Context(), lines.Bytes()); err != nil {
			return b.partialFailure(err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = usagef("line %d is larger than the hub takes (1 MiB)", b.line+1)
		}
		return b.partialFailure(err)
	}
	if err := b.flush(cmd.Context()); err != nil {
		return b.partialFailure(err)
	}
	if b.stored == 0 {
		return usagef("there are no events in %s", name)
	}
	a.note("stored %d events", b.stored)
	return nil
}

// add adds a line to the next call, and makes the call first if it is full. Blank lines are skipped.
func (b *batch) add(ctx context.Context, line []byte) error {
	b.line++
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var head struct {
		EventType string `json:"event_type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return usagef("line %d is not a JSON object: %w", b.line, err)
	}
	if head.EventType == "" {
		return usagef("line %d has no event_type", b.line)
	}
	if len(b.pending) > 0 && (len(b.pending) == batchEvents || b.bytes+len(line)+1 > batchBytes) {
		b.line-- // this line belongs to the call after
		err := b.flush(ctx)
		b.line++
		if err != nil {
			return err
		}
	}
	if len(b.pending) == 0 {
		b.firstLine = b.line
	}
	b.pending = append(b.pending, bytes.Clone(line))
	b.bytes += len(line) + 1
	return nil
}

// flush publishes the pending lines and prints the ids.
func (b *batch) flush(ctx context.Context) error {
	if len(b.pending) == 0 {
		return nil
	}
	reply, err := b.publish(ctx)
	if err != nil {
		return fmt.Errorf("publishing lines %d to %d: %w", b.firstLine, b.line, err)
	}
	for _, item := range reply.Value.Items {
		if b.app.json() {
			if err := b.app.printLine(item); err != nil {
				return err
			}
			continue
		}
		b.app.print("%s", terminal.Printable(item.ID))
	}
	b.stored += len(b.pending)
	b.sent, b.pending, b.bytes = b.line, nil, 0
	return nil
}

// publish makes the next call. While none of its tries has a response it is repeated, with one
// key: the hub stores the events of a key once.
func (b *batch) publish(ctx context.Context) (client.Reply[client.BatchResult], error) {
	key := rand.Text()
	for try := 0; ; try++ {
		reply, err := b.client.PublishBatch(ctx, b.pending, key)
		b.unknown = err != nil && (b.unknown || mayBeDone(err))
		var connection *client.ConnectError
		if !errors.As(err, &connection) || ctx.Err() != nil || try == batchRepeats {
			return reply, err
		}
		select {
		case <-time.After(batchRepeatPause):
		case <-ctx.Done():
			return reply, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// mayBeDone reports whether the hub may have done what a failed call demands.
func mayBeDone(err error) bool {
	var problem *client.Problem
	var network *net.OpError
	switch {
	case errors.Is(err, client.ErrNotLoggedIn), errors.As(err, new(*client.NotHubError)), errors.As(err, &network) && network.Op == "dial":
		return false
	case errors.As(err, &problem):
		return problem.Status >= http.StatusInternalServerError
	}
	return true
}

// partialFailure adds to an error how many events were stored before it, which ones may be, and
// how to go on.
func (b *batch) partialFailure(err error) error {
	switch {
	case b.stored == 0 && !b.unknown:
		return err
	case b.stored == 0:
		return &failure{code: exitCode(err), err: err, hint: fmt.Sprintf("lines %d to %d may be stored: look with: hub events list", b.firstLine, b.line)}
	case b.unknown:
		return &failure{code: exitPartial, err: err, hint: fmt.Sprintf("%d events up to line %d are stored; lines %d to %d may be stored: look with: hub events list; go on after what is stored: tail -n +LINE FILE | hub publish --batch -",
			b.stored, b.sent, b.firstLine, b.line)}
	}
	return &failure{code: exitPartial, err: err, hint: fmt.Sprintf("%d events up to line %d are stored; go on with: tail -n +%d FILE | hub publish --batch -",
		b.stored, b.sent, b.sent+1)}
}
