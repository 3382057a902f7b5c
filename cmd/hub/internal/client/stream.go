package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Message is one message of the live tail (server-sent events).
type Message struct {
	ID   string // to resume after
	Name string // kind of message; "message" where the hub names none
	Data []byte // JSON
}

// lineMax is the longest line of the live tail, in bytes: an envelope of 1 MiB with
// its escapes fits.
const lineMax = 16 << 20

// Waits between reconnects: they double from the first to the last.
const (
	firstWait = 500 * time.Millisecond
	lastWait  = 10 * time.Second
)

// TailHooks are called when the connection of a [Client.Tail] changes.
type TailHooks struct {
	Opened func()                              // connected, again or for the first time
	Lost   func(err error, wait time.Duration) // lost; reconnects after wait
}

// Tail calls each for every message of the live tail, in order. It returns nil when ctx ends,
// the error of each, or the [Problem] of a hub that refuses. Once it was connected it
// reconnects by itself and resumes after the last message.
func (c *Client) Tail(ctx context.Context, filter DeliveryQuery, hooks TailHooks, each func(Message) error) error {
	t := tail{client: c, filter: filter, hooks: hooks, each: each, wait: firstWait}
	for {
		err := t.follow(ctx)
		var stop *stopError
		switch {
		case errors.As(err, &stop):
			return stop.error
		case ctx.Err() != nil:
			return nil
		case !t.connected || !worthRetrying(err):
			return err
		}
		hooks.Lost(err, t.wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(t.wait):
		}
		t.wait = min(2*t.wait, lastWait)
	}
}

// stopError carries the caller's own error out of the loop.
type stopError struct{ error }

type tail struct {
	client    *Client
	filter    DeliveryQuery
	hooks     TailHooks
	each      func(Message) error
	connected bool   // was connected at least once
	last      string // id of the last message
	wait      time.Duration
	recent    map[string]bool // ids of recent messages
	order     []string        // the same, oldest first
}

// maxRecent is how many ids of messages are kept: after a reconnect the hub repeats some of
// the last seconds.
const maxRecent = 4096

// isNew adds an id to the recent ones and reports whether it was not among them.
func (t *tail) isNew(id string) bool {
	if t.recent[id] {
		return false
	}
	if t.recent == nil {
		t.recent = make(map[string]bool)
	}
	t.recent[id] = true
	if t.order = append(t.order, id); len(t.order) > maxRecent {
		delete(t.recent, t.order[0])
		t.order = t.order[1:]
	}
	return true
}

// worthRetrying reports whether an error is temporary: the hub restarts (without a token for
// this machine meanwhile) or is busy.
func worthRetrying(err error) bool {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.Status >= 500 || problem.Status == http.StatusTooManyRequests
	}
	var lost *ConnectError
	return errors.As(err, &lost) || errors.Is(err, ErrNotLoggedIn)
}

// follow connects once and reads until the connection ends.
func (t *tail) follow(ctx context.Context) error {
	request := get("/api/v1/events/stream", t.filter.values())
	request.header = http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	if t.last != "" {
		request.header.Set("Last-Event-ID", t.last)
	}
	resp, err := t.client.open(ctx, request)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		return &stopError{&AnswerError{URL: t.client.base + request.path, Reason: "it is not an event stream"}}
	}
	t.connected = true
	t.hooks.Opened()
	if err := t.read(resp.Body); err != nil {
		return err
	}
	return &ConnectError{URL: t.client.base, Err: io.ErrUnexpectedEOF}
}

// read calls each for the messages of a stream until it ends.
func (t *tail) read(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 64<<10), lineMax)
	message, lastID := Message{Name: "message"}, t.last
	var data []string
	named := false // the message has an id of its own
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if len(data) > 0 {
				message.ID, message.Data = lastID, []byte(strings.Join(data, "\n"))
				if !named || t.isNew(message.ID) {
					if err := t.each(message); err != nil {
						return &stopError{err}
					}
				}
				t.wait = firstWait
			}
			t.last = lastID
			message, data, named = Message{Name: "message"}, nil, false
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			message.Name = value
		case "id":
			lastID, named = value, value != ""
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil && ms > 0 {
				t.wait = min(time.Duration(ms)*time.Millisecond, lastWait)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return &ConnectError{URL: t.client.base, Err: fmt.Errorf("reading the live tail: %w", err)}
	}
	return nil
}
