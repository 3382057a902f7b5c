package api

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/accounts"
	"integrationhub/hub/module/dberr"
	"integrationhub/messaging/internal/store"
)

const (
	streamTicketLifetime = time.Minute
	streamCheckInterval  = 3 * time.Second  // interval of comments, and of checks whether the user may still read
	checkTimeout         = 2 * time.Second  // of one check
	maxFailing           = 30 * time.Second // a stream ends if it could not be checked, or read, for so long: a database that stalls a moment ends none
	minRetry, maxRetry   = 1000, 5000       // milliseconds until a client comes back; each at another time
)

// StreamTicket is a login of a browser's event stream.
type StreamTicket struct {
	Ticket    string    `json:"ticket" doc:"Good for one GET /events?ticket=…"`
	ExpiresAt time.Time `json:"expiresAt" doc:"Until when it opens a stream"`
}

// createStreamTicket makes a ticket. It ends with the id of the login that it was made by: a
// stream ends with its login.
func (a *API) createStreamTicket(ctx context.Context, in *TokenInput) (*struct{ Body StreamTicket }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	_, login, _ := a.host.Credentials.VerifyAccessToken(in.token())
	secret, _ := accounts.NewSecret("msgs_")
	streamTicket := secret + hex.EncodeToString(login[:])
	expires := a.host.Now().Add(streamTicketLifetime).UTC()
	err = a.store.InsertStreamTicket(ctx, accounts.HashSecret(streamTicket), user.user.UID, expires)
	return &struct{ Body StreamTicket }{StreamTicket{streamTicket, expires}}, err
}

// StreamEvent describes the data of a stream's messages: the action, and the resource under
// the name of the event.
type StreamEvent struct {
	Action     string         `json:"action" enum:"create,update,delete" doc:"What happened to the resource"`
	ID         any            `json:"id" doc:"Of the resource"`
	Ticket     *Ticket        `json:"ticket,omitempty" doc:"With event: ticket"`
	Message    *TicketMessage `json:"message,omitempty" doc:"With event: message or ack"`
	Contact    *TicketContact `json:"contact,omitempty" doc:"With event: contact"`
	Connection *Connection    `json:"connection,omitempty" doc:"With event: connection; without the QR code, except for administrators"`
	Campaign   *Campaign      `json:"campaign,omitempty" doc:"With event: campaign, for administrators: on changes of its settings or state, not on every message"`
}

// StreamInput selects where a stream begins.
type StreamInput struct {
	TokenInput
	LastEventID      string `header:"Last-Event-ID" doc:"Id of the last event that was read: what came since comes first, for an hour; then, and after an unknown id, the event reset says that the inbox has to be loaded anew"`
	QueryLastEventID string `query:"lastEventId" maxLength:"1000" doc:"The same as Last-Event-ID, for browsers: theirs sends the header only when it comes back by itself, with the same ticket"`
	Ticket           string `query:"ticket" maxLength:"100" doc:"Of POST /events/ticket, for browsers"`
}

// bindStream binds the event stream, whose response never ends by itself.
func (a *API) bindStream(api huma.API, op huma.Operation) {
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Server-sent events: ticket, message, ack, contact, connection, campaign, and reset",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[StreamEvent](), true, "StreamEvent")}},
	}}
	op.Errors = append(op.Errors, http.StatusUnauthorized)
	huma.Register(api, op, func(ctx context.Context, in *StreamInput) (*huma.StreamResponse, error) {
		reader, err := a.newStreamReader(ctx, in)
		if err != nil {
			return nil, dberr.Wrap(op.OperationID, err)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			c.SetHeader("Content-Type", "text/event-stream")
			c.SetHeader("Cache-Control", "no-store")
			c.SetHeader("X-Accel-Buffering", "no")
			module.Stream(c, reader.run, func(err error) {
				a.host.Log.Warn("an event stream ended early", "error", err)
			})
		}}, nil
	})
}

// streamReader is one open stream.
type streamReader struct {
	api     *API
	user    userPrincipal
	token   string    // that authorizes it; "" = a ticket
	login   uuid.UUID // that the token or ticket was made by; Nil: unknown
	viewer  *store.Viewer
	release func() // uncounts it

	checkedAt time.Time
	cursor    int64 // number of the last change that was sent
	reset     bool  // what the client has is no longer right: it has to load all anew
	// failingSince is since when changes cannot be read, which is tried again; zero: they can.
	failingSince time.Time
}

// newStreamReader authenticates the caller, counts the stream and finds where it begins.
func (a *API) newStreamReader(ctx context.Context, in *StreamInput) (reader *streamReader, err error) {
	user, err := a.streamUser(ctx, in.Ticket)
	if err != nil {
		return nil, err
	}
	reader = &streamReader{api: a, user: user, checkedAt: time.Now(), login: loginOfStreamTicket(in.Ticket)}
	if _, ok := module.CallerFrom(ctx); ok {
		reader.token = in.token()
		_, reader.login, _ = a.host.Credentials.VerifyAccessToken(reader.token)
	}
	if reader.release, err = a.realtime.AcquireStream(user.scope.Company, user.user.ID); err != nil {
		return nil, err
	}
	if err = reader.begin(ctx, cmp.Or(in.LastEventID, in.QueryLastEventID)); err != nil {
		reader.release()
	}
	return reader, err
}

// begin finds where the stream begins, and what its user sees.
func (r *streamReader) begin(ctx context.Context, lastEventID string) error {
	s, company := r.api.store, r.user.scope.Company
	newest, err := s.NumberNewChanges(ctx, company)
	if err != nil {
		return err
	}
	r.cursor = newest
	if lastEventID != "" {
		oldest, err := s.OldestChange(ctx, company)
		if err != nil {
			return err
		}
		// What is no id of this stream is unknown, as an old one is: at an error a browser would end for good.
		last, err := strconv.ParseInt(lastEventID, 10, 64)
		isKept := err == nil && last >= 0 && (last == newest || last < newest && oldest != 0 && oldest <= last+1)
		if r.reset = !isKept; isKept {
			r.cursor = last
		}
	}
	r.viewer, err = r.api.viewerOf(ctx, r.user)
	return err
}

// streamUser returns the user of a stream, by its access token or by a stream ticket.
func (a *API) streamUser(ctx context.Context, streamTicket string) (userPrincipal, error) {
	if _, ok := module.CallerFrom(ctx); ok {
		return a.requireUser(ctx)
	}
	uid, err := a.store.TakeStreamTicket(ctx, accounts.HashSecret(streamTicket), a.host.Now())
	if errors.Is(err, pgx.ErrNoRows) {
		return userPrincipal{}, hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Send the token as Authorization: Bearer, or a fresh ticket of POST /events/ticket.")
	}
	if err == nil { // requests with a token are counted before
		err = a.host.RateLimiter.Allow(ctx, limitUsers, uid.String())
	}
	if err != nil {
		return userPrincipal{}, err
	}
	return a.userByUID(ctx, uid)
}

// loginOfStreamTicket returns the login that a valid ticket was made by. It is Nil for the tickets of
// earlier versions, which live for a minute.
func loginOfStreamTicket(streamTicket string) uuid.UUID {
	const size = 2 * len(uuid.UUID{})
	if len(streamTicket) < size {
		return uuid.Nil
	}
	login, err := uuid.Parse(streamTicket[len(streamTicket)-size:])
	if err != nil {
		return uuid.Nil
	}
	return login
}

// userByUID returns an active user.
func (a *API) userByUID(ctx context.Context, uid uuid.UUID) (userPrincipal, error) {
	user, err := a.store.UserByUID(ctx, uid)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !user.IsActive {
		return userPrincipal{}, hub.Errorf(hub.ErrUnauthorized, "invalid_token", "The user is not active.")
	}
	if err != nil {
		return userPrincipal{}, err
	}
	if err := a.renewOnline(ctx, user); err != nil {
		return userPrincipal{}, err
	}
	company, err := a.store.Company(ctx, user.CompanyID)
	if err == nil {
		err = a.host.Tenants.CheckActive(company.TenantID)
	}
	return userPrincipal{store.Scope{Company: company.ID, Tenant: company.TenantID}, user}, err
}

// run writes changes until the client disconnects, the hub stops, the user may no longer read
// or the time of a stream is over. Then the client comes back with the last id.
func (r *streamReader) run(ctx context.Context, w io.Writer) error {
	defer r.release()
	wake, stop := r.api.realtime.Subscribe(r.user.scope.Company)
	defer stop()
	check := time.NewTicker(streamCheckInterval)
	defer check.Stop()
	// Other readers may have been woken for what comes first before this one subscribed.
	retry := minRetry + rand.IntN(maxRetry-minRetry+1) //nolint:gosec // spreads clients, nobody guards it
	if writeFlushed(w, fmt.Sprintf("retry: %d\n", retry)+r.position()+r.takeReset()) != nil {
		return nil
	}
	if isGone, err := r.send(ctx, w); isGone || err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.api.host.Stopping:
			return nil
		case <-check.C:
			if r.isOver(ctx) {
				return nil // a new stream is refused if it has to be
			}
			if writeFlushed(w, ":\n"+r.position()+r.takeReset()) != nil {
				return nil
			}
			if r.failingSince.IsZero() {
				continue
			}
			if isGone, err := r.send(ctx, w); isGone || err != nil {
				return err
			}
		case <-wake:
			if isGone, err := r.send(ctx, w); isGone || err != nil {
				return err
			}
		}
	}
}

// position returns the lines that say how far the stream is, without an event. The client resumes
// from there, also where its user has seen no event.
func (r *streamReader) position() string {
	if r.reset {
		return "\n" // the event reset says it
	}
	return fmt.Sprintf("id: %d\n\n", r.cursor)
}

// takeReset returns the event reset, once if it is due.
func (r *streamReader) takeReset() string {
	if !r.reset {
		return ""
	}
	r.reset = false
	return fmt.Sprintf("id: %d\nevent: reset\ndata: {}\n\n", r.cursor)
}

// isOver checks whether the user may still read. A check without an answer ends the stream only
// after a while: else a database that stalls ends those of all companies, which come back at once.
func (r *streamReader) isOver(ctx context.Context) bool {
	err := r.checkAccess(ctx)
	isAnswer := errors.Is(err, hub.ErrUnauthorized) || errors.Is(err, hub.ErrForbidden) || errors.Is(err, pgx.ErrNoRows)
	return isAnswer || err != nil && time.Since(r.checkedAt) > maxFailing
}

// outlive returns an error of reading changes if it has lasted for too long; before, the next check
// reads them again.
func (r *streamReader) outlive(err error) error {
	if r.failingSince.IsZero() {
		r.failingSince = time.Now()
	}
	if time.Since(r.failingSince) > maxFailing {
		return err
	}
	return nil
}

// checkAccess returns an error when the user may not read any more, or with another profile: the
// token expired, its login ended, or the user was changed. It loads what the user sees now: where
// that is something else than before, the client has to load all anew.
func (r *streamReader) checkAccess(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if r.token != "" {
		if _, _, ok := r.api.host.Credentials.VerifyAccessToken(r.token); !ok {
			return hub.Errorf(hub.ErrUnauthorized, "invalid_token", "Log in again.")
		}
	}
	row, err := r.api.store.StreamUser(ctx, r.login, r.user.user.UID)
	if err != nil {
		return err
	}
	switch {
	case !row.IsLoggedIn && r.login != uuid.Nil:
		return hub.Errorf(hub.ErrUnauthorized, "invalid_token", "Log in again.")
	case row.User.Profile != r.user.user.Profile:
		return hub.Errorf(hub.ErrForbidden, "profile_changed", "Your profile was changed; log in again.")
	}
	if err := r.api.renewOnline(ctx, row.User); err != nil {
		return err
	}
	if viewer := viewerWith(row.User, row.Queues); !viewer.Equal(r.viewer) {
		r.viewer, r.reset = viewer, true
	}
	r.checkedAt = time.Now()
	return nil
}

// send writes the changes since the cursor, unless the user may not read any more. isGone reports that the stream ends.
func (r *streamReader) send(ctx context.Context, w io.Writer) (isGone bool, err error) {
	for {
		if time.Since(r.checkedAt) > streamCheckInterval && r.isOver(ctx) {
			return true, nil
		}
		batch, err := r.api.realtime.Next(ctx, r.user.scope, r.cursor)
		var connections map[int64]Connection
		if err == nil {
			connections, err = r.connections(ctx, batch)
		}
		if err != nil {
			return false, r.outlive(err)
		}
		r.failingSince = time.Time{}
		if batch.HasGap {
			r.cursor, r.reset = batch.Last, true
		}
		if _, err := io.WriteString(w, r.takeReset()); err != nil {
			return true, nil
		}
		for _, change := range batch.Changes {
			r.cursor = change.Seq
			event, isVisible := r.event(change, batch, connections)
			if !isVisible {
				continue
			}
			data, err := json.Marshal(event)
			if err != nil {
				return false, fmt.Errorf("writing an event: %w", err)
			}
			if _, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", change.Seq, change.Kind, data); err != nil {
				return true, nil
			}
		}
		if err := writeFlushed(w, ""); err != nil {
			return true, nil
		}
		if batch.IsLast {
			return false, nil
		}
	}
}

// writeFlushed writes a text and sends it at once.
func writeFlushed(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	if flusher, ok := w.(interface{ Flush() error }); ok {
		return flusher.Flush()
	}
	return nil
}
