package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	streamTicketLife = time.Minute
	streamBatch      = 200             // changes in one reading
	streamCheck      = 3 * time.Second // interval of comments, and of checks whether the user may still read
	checkTimeout     = 2 * time.Second // of one check; a stream that cannot be checked ends
)

// StreamTicket is a login of a browser's event stream.
type StreamTicket struct {
	Ticket    string    `json:"ticket" doc:"Good for one GET /events?ticket=…"`
	ExpiresAt time.Time `json:"expiresAt" doc:"Until when it opens a stream"`
}

// createStreamTicket makes a ticket. It ends with the id of the login that it was made by: a
// stream ends with its login.
func (a *API) createStreamTicket(ctx context.Context, in *TokenInput) (*struct{ Body StreamTicket }, error) {
	user, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	_, login, _ := a.host.Credentials.VerifyAccessToken(in.token())
	secret, _ := accounts.NewSecret("msgs_")
	ticket := secret + hex.EncodeToString(login[:])
	expires := a.host.Now().Add(streamTicketLife).UTC()
	err = a.store.InsertStreamTicket(ctx, accounts.HashSecret(ticket), user.user.UID, expires)
	return &struct{ Body StreamTicket }{StreamTicket{ticket, expires}}, err
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
	LastEventID string `header:"Last-Event-ID" maxLength:"20" doc:"Id of the last event that was read: what came since comes first, for an hour; then the event reset says that the inbox has to be loaded anew"`
	Ticket      string `query:"ticket" maxLength:"100" doc:"Of POST /events/ticket, for browsers"`
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
	api    *API
	user   actor
	token  string    // that authorizes it; "" = a ticket
	login  uuid.UUID // that the ticket was made by; Nil: unknown
	viewer *store.Viewer

	checkedAt time.Time
	cursor    int64 // number of the last change that was sent
	reset     bool  // changes before the cursor are gone
}

// newStreamReader authenticates the caller and finds where the stream begins.
func (a *API) newStreamReader(ctx context.Context, in *StreamInput) (*streamReader, error) {
	user, err := a.streamUser(ctx, in.Ticket)
	if err != nil {
		return nil, err
	}
	reader := &streamReader{api: a, user: user, checkedAt: time.Now()}
	if _, ok := module.CallerFrom(ctx); ok {
		reader.token = in.token()
	} else {
		reader.login = loginOfTicket(in.Ticket)
	}
	newest, err := a.store.NumberNewChanges(ctx, user.scope.Company)
	if err != nil {
		return nil, err
	}
	reader.cursor = newest
	if in.LastEventID != "" {
		last, err := strconv.ParseInt(in.LastEventID, 10, 64)
		if err != nil || last < 0 {
			return nil, hub.Invalid("header.Last-Event-ID", "must be the id of an event of this stream")
		}
		oldest, err := a.store.OldestChange(ctx, user.scope.Company)
		if err != nil {
			return nil, err
		}
		isKept := last == newest || last < newest && oldest != 0 && oldest <= last+1
		if reader.reset = !isKept; isKept {
			reader.cursor = last
		}
	}
	reader.viewer, err = a.viewerOf(ctx, user)
	return reader, err
}

// streamUser returns the user of a stream, by its access token or by a stream ticket.
func (a *API) streamUser(ctx context.Context, ticket string) (actor, error) {
	if _, ok := module.CallerFrom(ctx); ok {
		return a.requireActor(ctx)
	}
	uid, err := a.store.TakeStreamTicket(ctx, accounts.HashSecret(ticket), a.host.Now())
	if errors.Is(err, pgx.ErrNoRows) {
		return actor{}, hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Send the token as Authorization: Bearer, or a fresh ticket of POST /events/ticket.")
	}
	if err != nil {
		return actor{}, err
	}
	return a.userByUID(ctx, uid)
}

// loginOfTicket returns the login that a valid ticket was made by. It is Nil for the tickets of
// earlier versions, which live for a minute.
func loginOfTicket(ticket string) uuid.UUID {
	const size = 2 * len(uuid.UUID{})
	if len(ticket) < size {
		return uuid.Nil
	}
	login, err := uuid.Parse(ticket[len(ticket)-size:])
	if err != nil {
		return uuid.Nil
	}
	return login
}

// userByUID returns an active user.
func (a *API) userByUID(ctx context.Context, uid uuid.UUID) (actor, error) {
	user, err := a.store.UserByUID(ctx, uid)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !user.IsActive {
		return actor{}, hub.Errorf(hub.ErrUnauthorized, "invalid_token", "The user is not active.")
	}
	if err != nil {
		return actor{}, err
	}
	if err := a.renewOnline(ctx, user); err != nil {
		return actor{}, err
	}
	company, err := a.store.Company(ctx, user.CompanyID)
	return actor{store.Scope{Company: company.ID, Tenant: company.TenantID}, user}, err
}

// run writes changes until the client disconnects, the hub stops, the user may no longer read
// or the time of a stream is over. Then the client comes back with the last id.
func (r *streamReader) run(ctx context.Context, w io.Writer) error {
	wake, stop := r.api.realtime.Subscribe(r.user.scope.Company)
	defer stop()
	check := time.NewTicker(streamCheck)
	defer check.Stop()
	begin := "retry: 1000\n\n"
	if r.reset {
		begin += fmt.Sprintf("id: %d\nevent: reset\ndata: {}\n\n", r.cursor)
	}
	if err := writeFlushed(w, begin); err != nil {
		return nil //nolint:nilerr // the client has gone
	}
	// Other readers may have been woken for these before this one subscribed.
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
			if r.checkAccess(ctx) != nil {
				return nil // a new stream is refused if it has to be
			}
			if writeFlushed(w, ":\n\n") != nil {
				return nil
			}
		case <-wake:
			if isGone, err := r.send(ctx, w); isGone || err != nil {
				return err
			}
		}
	}
}

// checkAccess returns an error when the user may not read any more, or with another profile: the
// token expired, its login ended, or the user was changed. It loads what the user sees now.
func (r *streamReader) checkAccess(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var err error
	if r.token != "" {
		_, err = r.api.Authenticate(ctx, r.token)
	} else if r.login != uuid.Nil {
		_, err = r.api.store.ActiveUserByLogin(ctx, r.user.user.UID, r.login)
	}
	if err != nil {
		return err
	}
	user, err := r.api.userByUID(ctx, r.user.user.UID)
	if err != nil {
		return err
	}
	if user.user.Profile != r.user.user.Profile {
		return hub.Errorf(hub.ErrForbidden, "profile_changed", "The user has another profile now.")
	}
	r.viewer, err = r.api.viewerOf(ctx, user)
	r.checkedAt = time.Now()
	return err
}

// send writes the changes since the cursor, unless the user may not read any more. isGone reports that the stream ends.
func (r *streamReader) send(ctx context.Context, w io.Writer) (isGone bool, err error) {
	for {
		if time.Since(r.checkedAt) > streamCheck && r.checkAccess(ctx) != nil {
			return true, nil
		}
		changes, err := r.api.store.ChangesAfter(ctx, r.user.scope.Company, r.cursor, streamBatch)
		if err != nil {
			return false, err
		}
		items, err := r.load(ctx, changes)
		if err != nil {
			return false, err
		}
		for _, change := range changes {
			r.cursor = change.Seq
			event, isVisible := r.event(change, items)
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
		if len(changes) < streamBatch {
			return false, nil
		}
	}
}

// streamItems are the resources of a batch of changes, as they are now.
type streamItems struct {
	tickets     map[int64]store.TicketView
	messages    map[string]store.Message
	contacts    map[int64]store.Contact
	connections map[int64]Connection
	campaigns   map[int64]store.CampaignView
}

// load reads the resources of changes, one query for each kind.
func (r *streamReader) load(ctx context.Context, changes []store.Change) (items streamItems, err error) {
	var messageIDs []string
	var contactIDs, ticketIDs []int64
	var campaignIDs []int64
	hasConnections := false
	for _, change := range changes {
		if change.TicketID != nil {
			messageIDs, ticketIDs = append(messageIDs, change.ItemID), append(ticketIDs, *change.TicketID)
			continue
		}
		id, err := strconv.ParseInt(change.ItemID, 10, 64)
		if err != nil {
			return items, fmt.Errorf("reading a change: %w", err)
		}
		switch change.Kind {
		case "ticket":
			ticketIDs = append(ticketIDs, id)
		case "contact":
			contactIDs = append(contactIDs, id)
		case "connection":
			hasConnections = true
		case "campaign":
			campaignIDs = append(campaignIDs, id)
		}
	}
	company, s := r.user.scope.Company, r.api.store
	items = streamItems{map[int64]store.TicketView{}, map[string]store.Message{}, map[int64]store.Contact{}, map[int64]Connection{}, map[int64]store.CampaignView{}}
	if len(ticketIDs) > 0 {
		views, err := s.TicketViews(ctx, r.user.scope, ticketIDs)
		if err != nil {
			return items, err
		}
		for _, view := range views {
			items.tickets[view.ID] = view
		}
	}
	if len(messageIDs) > 0 {
		messages, err := s.MessagesByID(ctx, company, messageIDs)
		if err != nil {
			return items, err
		}
		for _, message := range messages {
			items.messages[message.ID] = message
		}
	}
	if len(contactIDs) > 0 {
		contacts, err := s.ContactsByID(ctx, company, contactIDs)
		if err != nil {
			return items, err
		}
		for _, contact := range contacts {
			items.contacts[contact.ID] = contact
		}
	}
	if len(campaignIDs) > 0 {
		views, err := s.CampaignViews(ctx, company, campaignIDs)
		if err != nil {
			return items, err
		}
		for _, view := range views {
			items.campaigns[view.ID] = view
		}
	}
	if hasConnections {
		rows, err := s.Connections(ctx, company)
		if err != nil {
			return items, err
		}
		connections, err := r.api.toConnections(ctx, company, rows)
		if err != nil {
			return items, err
		}
		for _, connection := range connections {
			items.connections[connection.ID] = connection
		}
	}
	return items, nil
}

// event returns the data of a change, unless the user does not see its ticket. What is gone
// by now is a deletion.
func (r *streamReader) event(change store.Change, items streamItems) (event StreamEvent, isVisible bool) {
	event.Action = change.Action
	if change.TicketID != nil {
		event.ID = change.ItemID
		ticket, ok := items.tickets[*change.TicketID]
		message, hasMessage := items.messages[change.ItemID]
		if !ok || !hasMessage || !r.viewer.Sees(ticket.Ticket) {
			return event, false // a deleted ticket has a change of its own
		}
		shown := r.api.toMessage(message)
		event.Message = &shown
		return event, true
	}
	id, _ := strconv.ParseInt(change.ItemID, 10, 64)
	event.ID = id
	exists := false
	switch change.Kind {
	case "ticket":
		var view store.TicketView
		if view, exists = items.tickets[id]; exists {
			shown := toTicket(view)
			if event.Ticket = &shown; !r.viewer.Sees(view.Ticket) {
				return event, false
			}
		}
	case "contact":
		var contact store.Contact
		if contact, exists = items.contacts[id]; exists {
			event.Contact = &TicketContact{contact.ID, contact.Name, contact.Number, contact.Email, contact.PictureURL}
		}
	case "campaign":
		if r.user.user.Profile != profileAdmin {
			return event, false
		}
		var view store.CampaignView
		if view, exists = items.campaigns[id]; exists {
			if shown, err := r.api.toCampaign(view); err == nil {
				event.Campaign = &shown
			}
		}
	case "connection":
		var connection Connection
		if connection, exists = items.connections[id]; exists {
			shown := connection
			if r.user.user.Profile != profileAdmin {
				shown.QRCode = ""
			}
			event.Connection = &shown
		}
	}
	if !exists {
		event.Action = "delete"
	}
	return event, true
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
