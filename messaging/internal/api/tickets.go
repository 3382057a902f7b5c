package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// ticketsPerPage is the page size of the list.
const ticketsPerPage = 40

// Ticket is a conversation with a contact.
type Ticket struct {
	ID              int64             `json:"id" doc:"Id of the ticket" example:"12"`
	UUID            uuid.UUID         `json:"uuid" doc:"The same, unguessable"`
	CompanyID       int64             `json:"companyId" doc:"The company it belongs to" example:"1"`
	Status          chat.TicketStatus `json:"status" enum:"open,pending,closed" doc:"pending: waits for a user"`
	UnreadMessages  int               `json:"unreadMessages" doc:"Messages of the contact that nobody has read"`
	LastMessage     string            `json:"lastMessage" doc:"Beginning of the newest message, notes left out"`
	IsGroup         bool              `json:"isGroup" doc:"The contact is a group"`
	ContactID       int64             `json:"contactId" doc:"Whom the conversation is with"`
	UserID          *int64            `json:"userId" doc:"Who has accepted it"`
	QueueID         *int64            `json:"queueId" doc:"Its queue; null: none"`
	WhatsappID      *int64            `json:"whatsappId" doc:"Its connection; null: deleted"`
	Chatbot         bool              `json:"chatbot" doc:"A menu waits for the contact's answer"`
	Resolution      *string           `json:"resolution" doc:"How it ended"`
	Rating          *int              `json:"rating" doc:"1 to 5, by the contact"`
	QueuedAt        *time.Time        `json:"queuedAt" doc:"Since when it waits or waited"`
	StartedAt       *time.Time        `json:"startedAt" doc:"When a user accepted it"`
	FirstResponseAt *time.Time        `json:"firstResponseAt" doc:"When a user first wrote since it was accepted, or while it waits; null: not yet"`
	ClosedAt        *time.Time        `json:"closedAt" doc:"When it was closed; null: it is not"`
	CreatedAt       time.Time         `json:"createdAt" doc:"When it was made"`
	UpdatedAt       time.Time         `json:"updatedAt" doc:"When it was last changed"`
	Contact         TicketContact     `json:"contact" doc:"The contact with whom it is"`
	User            *NamedItem        `json:"user" doc:"Its owner; null: nobody"`
	Queue           *TicketQueue      `json:"queue" doc:"Its queue; null: none"`
	Whatsapp        *NamedItem        `json:"whatsapp" doc:"Its connection; null: it was deleted"`
	Tags            []TagSummary      `json:"tags" nullable:"false" doc:"Its tags, ordered by name"`
}

// TicketContact is the contact in a ticket.
type TicketContact struct {
	ID            int64  `json:"id" doc:"Id of the contact"`
	Name          string `json:"name" doc:"Name of the contact" example:"Ana Souza"`
	Number        string `json:"number" doc:"Digits with the country code" example:"5511987654321"`
	Email         string `json:"email" doc:"E-mail address; empty: unknown"`
	ProfilePicURL string `json:"profilePicUrl" doc:"Picture of the contact; empty: unknown"`
}

// TicketQueue is the queue in a ticket.
type TicketQueue struct {
	ID    int64  `json:"id" doc:"Id of the queue"`
	Name  string `json:"name" doc:"Name of the queue" example:"Sales"`
	Color string `json:"color" doc:"Color of the queue" example:"#00aa88"`
}

// NamedItem is another resource, by name.
type NamedItem struct {
	ID   int64  `json:"id" doc:"Names it in paths"`
	Name string `json:"name" doc:"Display name"`
}

type ticketOutput struct{ Body Ticket }

func toTicket(v store.TicketView) Ticket {
	t := Ticket{
		ID: v.ID, UUID: v.UUID, CompanyID: v.CompanyID, Status: v.Status, UnreadMessages: v.UnreadMessages, LastMessage: v.LastMessage, ContactID: v.ContactID,
		UserID: v.UserID, QueueID: v.QueueID, WhatsappID: v.ConnectionID, Chatbot: v.Chatbot, Resolution: v.Resolution, Rating: v.Rating,
		QueuedAt: v.QueuedAt, StartedAt: v.StartedAt, FirstResponseAt: v.FirstResponseAt, ClosedAt: v.ClosedAt, CreatedAt: v.CreatedAt.UTC(), UpdatedAt: v.UpdatedAt.UTC(),
		Contact: TicketContact{v.ContactID, v.ContactName, v.ContactNumber, v.ContactEmail, v.ContactPicture},
		Tags:    rest.Map(v.Tags, func(tag store.TicketTag) TagSummary { return TagSummary{tag.ID, tag.Name, tag.Color} }),
	}
	if v.UserID != nil && v.UserName != nil {
		t.User = &NamedItem{*v.UserID, *v.UserName}
	}
	if v.QueueID != nil && v.QueueName != nil {
		t.Queue = &TicketQueue{*v.QueueID, *v.QueueName, *v.QueueColor}
	}
	if v.ConnectionID != nil && v.ConnectionName != nil {
		t.Whatsapp = &NamedItem{*v.ConnectionID, *v.ConnectionName}
	}
	return t
}

type listTicketsInput struct {
	Status             string `query:"status" enum:"open,closed,pending" doc:"Only tickets in this state"`
	QueueID            int64  `query:"queueId" minimum:"1" maximum:"9007199254740991" doc:"Only tickets of this queue"`
	QueueIDs           string `query:"queueIds" maxLength:"2000" doc:"Only tickets of these queues: a JSON array of ids" example:"[1,2]"`
	Tags               string `query:"tags" maxLength:"2000" doc:"Only tickets that have all of these tags: a JSON array of ids" example:"[3,8]"`
	UserID             int64  `query:"userId" minimum:"1" maximum:"9007199254740991" doc:"Only tickets of this user"`
	Date               string `query:"date" format:"date" doc:"Only tickets that began on this day of the company's zone"`
	WithUnreadMessages bool   `query:"withUnreadMessages" doc:"Only tickets with unread messages"`
	ShowAll            bool   `query:"showAll" doc:"Accepted for other clients: administrators see every ticket, users never do"`
	PageNumber         int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 40 tickets"`
	SearchParam        string `query:"searchParam" maxLength:"200" doc:"Part of the contact's name or number, its whole number in any form, or beginnings of words of its messages"`
}

// filter returns the tickets that the query selects.
func (in *listTicketsInput) filter(zone *time.Location) (store.TicketFilter, error) {
	f := store.TicketFilter{
		Status: chat.TicketStatus(in.Status), UserID: in.UserID, Unread: in.WithUnreadMessages, Search: in.SearchParam,
		Page: store.Page{Offset: (in.PageNumber - 1) * ticketsPerPage, Limit: ticketsPerPage},
	}
	if in.QueueID != 0 {
		f.Queues = []int64{in.QueueID}
	}
	tags, err := parseIDs(in.Tags, "query.tags")
	if err != nil {
		return f, err
	}
	f.Tags = uniqueIDs(tags)
	if in.QueueIDs != "" {
		ids, err := parseIDs(in.QueueIDs, "query.queueIds")
		if err != nil {
			return f, err
		}
		if f.Queues = append(f.Queues, ids...); f.Queues == nil {
			f.Queues = []int64{}
		}
	}
	if in.Date != "" {
		day, err := time.ParseInLocation(time.DateOnly, in.Date, zone)
		if err != nil {
			return f, hub.Invalid("query.date", "must be YYYY-MM-DD")
		}
		f.CreatedAt = [2]time.Time{day, day.AddDate(0, 0, 1)}
	}
	return f, nil
}

// parseIDs returns the ids of a JSON array in a query; an empty text has none.
func parseIDs(text, location string) ([]int64, error) {
	if text == "" {
		return nil, nil
	}
	var ids []int64
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		return nil, hub.Invalid(location, "must be a JSON array of ids, such as [1,2]")
	}
	return ids, nil
}

// TicketList is a page of tickets, the last changed first.
type TicketList struct {
	Tickets []Ticket `json:"tickets" nullable:"false" doc:"A page of tickets, the last changed first"`
	Count   int      `json:"count" doc:"Tickets of all pages; 10,000 or more: at least as many. Where a search finds very many and a filter narrows them, up to one more than the page reaches"`
	HasMore bool     `json:"hasMore" doc:"There is another page"`
}

func (a *API) listTickets(ctx context.Context, in *listTicketsInput) (*struct{ Body TicketList }, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	company, err := a.store.Company(ctx, user.scope.Company)
	if err != nil {
		return nil, err
	}
	filter, err := in.filter(chat.LoadZone(company.Timezone))
	if err != nil {
		return nil, err
	}
	if filter.Viewer, err = a.viewerOf(ctx, user); err != nil {
		return nil, err
	}
	views, count, err := a.store.ListTickets(ctx, user.scope, filter)
	if err != nil {
		return nil, err
	}
	return &struct{ Body TicketList }{TicketList{rest.Map(views, toTicket), count, count > filter.Offset+len(views)}}, nil
}

// ticketView returns a ticket of the company, or a [hub.ErrNotFound].
func (a *API) ticketView(ctx context.Context, scope store.Scope, id int64) (*ticketOutput, error) {
	view, err := a.store.TicketView(ctx, scope, id)
	return &ticketOutput{toTicket(view)}, dberr.MapNoRows(err, errNoTicket())
}

func errNoTicket() *hub.Error { return notFound("no_ticket_found", "ticket") }

// requireTicket returns a ticket that the user sees. It is a [hub.ErrNotFound] if the company
// has none with this id, and a [hub.ErrForbidden] for a ticket of others.
func (a *API) requireTicket(ctx context.Context, user userPrincipal, id int64) (store.Ticket, error) {
	return requireTicketIn(ctx, a.store, user, id)
}

// ticketReader reads tickets and who sees them: the store, or a transaction.
type ticketReader interface {
	queueReader
	Ticket(ctx context.Context, companyID, id int64) (store.Ticket, error)
}

// requireTicketIn is [API.requireTicket] with what a reader finds.
func requireTicketIn(ctx context.Context, reader ticketReader, user userPrincipal, id int64) (store.Ticket, error) {
	ticket, err := reader.Ticket(ctx, user.scope.Company, id)
	if err != nil {
		return ticket, dberr.MapNoRows(err, errNoTicket())
	}
	viewer, err := viewerIn(ctx, reader, user)
	if err == nil && !viewer.Sees(ticket) {
		err = errNoPermission()
	}
	return ticket, err
}

// lockTicket is [API.requireTicket] for a change: no other user takes the ticket until the transaction
// ends.
func lockTicket(ctx context.Context, tx *store.Tx, user userPrincipal, id int64) (store.Ticket, error) {
	ticket, err := tx.LockTicket(ctx, user.scope.Company, id)
	if err != nil {
		return ticket, dberr.MapNoRows(err, errNoTicket())
	}
	viewer, err := viewerIn(ctx, tx, user)
	if err == nil && !viewer.Sees(ticket) {
		err = errNoPermission()
	}
	return ticket, err
}

func (a *API) getTicket(ctx context.Context, in *IDParam) (*ticketOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.requireTicket(ctx, user, in.ID); err != nil {
		return nil, err
	}
	return a.ticketView(ctx, user.scope, in.ID)
}

type createTicketInput struct {
	Body struct {
		ContactID  int64  `json:"contactId" minimum:"1" maximum:"9007199254740991" doc:"Who it is with"`
		Status     string `json:"status,omitempty" enum:"open,pending" default:"open" doc:"open: the caller accepts it, or the user of userId"`
		UserID     *int64 `json:"userId,omitempty" nullable:"true" minimum:"1" maximum:"9007199254740991" doc:"Its owner; absent or null: the caller, if it is open"`
		QueueID    *int64 `json:"queueId,omitempty" nullable:"true" minimum:"1" maximum:"9007199254740991" doc:"Queue of the ticket; absent or null: none"`
		WhatsappID *int64 `json:"whatsappId,omitempty" nullable:"true" minimum:"1" maximum:"9007199254740991" doc:"Its connection; absent or null: the default one"`
	} `nameHint:"NewTicket"`
}

func (a *API) createTicket(ctx context.Context, in *createTicketInput) (*ticketOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	b, scope := &in.Body, user.scope
	// What the request names comes before what the company lacks: an unknown id is a 404.
	connection, connectionErr := a.ticketConnection(ctx, scope, b.WhatsappID)
	if connectionErr != nil && b.WhatsappID != nil {
		return nil, connectionErr
	}
	if _, err := a.requireContact(ctx, user, b.ContactID); err != nil {
		return nil, err
	}
	if b.UserID == nil && chat.TicketStatus(b.Status) == chat.TicketOpen {
		b.UserID = &user.user.ID
	}
	var ticket store.Ticket
	err = a.store.InTx(ctx, "making a ticket", func(tx *store.Tx) error {
		contact, err := tx.LockContact(ctx, scope.Company, b.ContactID)
		if err != nil {
			return dberr.MapNoRows(err, errNoContact())
		}
		if contact.AnonymizedAt != nil {
			return errAnonymized()
		}
		if err := cmp.Or(requireAssignees(ctx, tx, scope, b.UserID, b.QueueID), connectionErr); err != nil {
			return err
		}
		switch _, err := tx.LiveTicket(ctx, scope.Company, contact.ID, connection.ID); {
		case err == nil:
			return errOtherTicket()
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		ticket, err = tx.FindOrCreateTicket(ctx, scope, contact, connection.ID, store.NewTicket{Status: chat.TicketStatus(b.Status), UserID: b.UserID, QueueID: b.QueueID})
		return err
	})
	if err != nil {
		return nil, err
	}
	return a.ticketView(ctx, scope, ticket.ID)
}

// ticketConnection returns the connection of a new ticket: the one asked for, or the default
// one.
func (a *API) ticketConnection(ctx context.Context, scope store.Scope, id *int64) (store.Connection, error) {
	if id != nil {
		return a.requireConnection(ctx, scope, *id)
	}
	connection, err := a.store.DefaultConnection(ctx, scope.Company)
	return connection, dberr.MapNoRows(err, refused("no_def_wapp_found", "The company has no default connection: make one first."))
}

func errOtherTicket() *hub.Error {
	return refused("other_open_ticket", "The contact has another open ticket on this connection.")
}

// requireAssignees returns a [hub.ErrNotFound] if the company has no such user or queue
// (no_user_found, queue_not_found), and a [hub.ErrInvalid] if the user is disabled
// (validation_failed). The user cannot be disabled until the transaction ends.
func requireAssignees(ctx context.Context, tx *store.Tx, scope store.Scope, userID, queueID *int64) error {
	if userID != nil {
		owner, err := tx.ShareUser(ctx, scope.Company, *userID)
		if err != nil {
			return dberr.MapNoRows(err, notFound("no_user_found", "user"))
		}
		if !owner.IsActive {
			return hub.Invalid("body.userId", "must be a user who is not disabled")
		}
	}
	if queueID != nil {
		if _, err := tx.Queue(ctx, scope.Company, *queueID); err != nil {
			return dberr.MapNoRows(err, errNoQueue())
		}
	}
	return nil
}

type updateTicketInput struct {
	IDParam
	Body struct {
		Status     rest.Optional[string]  `json:"status,omitempty" enum:"open,pending,closed" doc:"open, pending or closed"`
		UserID     rest.Nullable[int64]   `json:"userId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Its owner; null: nobody"`
		QueueID    rest.Nullable[int64]   `json:"queueId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"null: no queue"`
		WhatsappID rest.Optional[int64]   `json:"whatsappId,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Its connection"`
		TagIDs     rest.Optional[[]int64] `json:"tagIds,omitempty" maxItems:"100" doc:"Ids of its tags; replaces what was"`
		Resolution rest.Nullable[string]  `json:"resolution,omitempty" maxLength:"500" doc:"How it ended; null: none"`
	} `nameHint:"TicketFields"`
}

func (a *API) updateTicket(ctx context.Context, in *updateTicketInput) (*ticketOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.requireTicket(ctx, user, in.ID); err != nil {
		return nil, err
	}
	var replies []store.OutboxEntry
	err = a.store.InTx(ctx, "changing a ticket", func(tx *store.Tx) error {
		replies = nil
		var userID, queueID *int64
		in.Body.UserID.ApplyTo(&userID)
		in.Body.QueueID.ApplyTo(&queueID)
		if err := requireAssignees(ctx, tx, user.scope, userID, queueID); err != nil {
			return err
		}
		ticket, err := lockTicket(ctx, tx, user, in.ID)
		if err != nil {
			return err
		}
		earlier := ticket.Status
		if err := in.applyTo(ctx, tx, user, &ticket); err != nil {
			return err
		}
		if err := setTags(ctx, in.Body.TagIDs, tx.SetTicketTags, ticket.CompanyID, ticket.ID); err != nil {
			return err
		}
		if ticket, err = tx.SaveTicket(ctx, user.scope, earlier, ticket); err != nil {
			return err
		}
		if earlier != chat.TicketClosed && ticket.Status == chat.TicketClosed {
			replies, err = a.replies.WriteFarewell(ctx, tx, ticket)
		}
		return err
	})
	if dberr.ConstraintName(err) == "tickets_live" {
		return nil, errOtherTicket()
	}
	if err != nil {
		return nil, err
	}
	a.replies.Send(ctx, user.scope, replies)
	return a.ticketView(ctx, user.scope, in.ID)
}

// applyTo checks the fields of a change and sets them in the ticket.
func (in *updateTicketInput) applyTo(ctx context.Context, tx *store.Tx, user userPrincipal, ticket *store.Ticket) error {
	b, earlier, status := &in.Body, ticket.Status, string(ticket.Status)
	b.Status.ApplyTo(&status)
	ticket.Status = chat.TicketStatus(status)
	b.UserID.ApplyTo(&ticket.UserID)
	if b.QueueID.ApplyTo(&ticket.QueueID); b.QueueID.Set {
		ticket.Chatbot = false // no menu: a person has chosen
	}
	if earlier == chat.TicketClosed && ticket.Status == chat.TicketOpen {
		ticket.Resolution = nil // it was that of the earlier closing
	}
	b.Resolution.ApplyTo(&ticket.Resolution)
	if !ticket.Status.IsValid() {
		return hub.Invalid("body.status", "must be open, pending or closed")
	}
	if earlier == chat.TicketClosed && ticket.Status == chat.TicketPending {
		return refused("invalid_transition", "The ticket is closed: open it. Only messages take it back to pending.")
	}
	if b.TagIDs.HasValue() && len(b.TagIDs.Value) > maxTagsOfObject {
		return hub.Invalid("body.tagIds", "must have at most 100 entries")
	}
	if b.Resolution.HasValue() {
		var errs rest.FieldErrors
		errs.CheckLength(*ticket.Resolution, "body.resolution", 0, 500)
		if err := errs.Err(); err != nil {
			return err
		}
	}
	if b.WhatsappID.HasValue() {
		if _, err := tx.Connection(ctx, user.scope.Company, b.WhatsappID.Value); err != nil {
			return dberr.MapNoRows(err, notFound("no_wapp_found", "connection"))
		}
		ticket.ConnectionID = &b.WhatsappID.Value
	}
	switch {
	case ticket.Status == chat.TicketOpen && earlier != chat.TicketOpen && !b.UserID.Set:
		owner, err := ownerOfOpened(ctx, tx, user, *ticket)
		if ticket.UserID = &owner; err != nil {
			return err
		}
	case ticket.Status == chat.TicketPending && earlier != chat.TicketPending && !b.UserID.Set:
		ticket.UserID = nil // back to the queue
	}
	return nil
}

// ownerOfOpened returns who owns a ticket that a user opens without naming an owner: its
// earlier owner, unless that user is disabled, else the user who opens it.
func ownerOfOpened(ctx context.Context, tx *store.Tx, user userPrincipal, ticket store.Ticket) (int64, error) {
	if ticket.UserID == nil {
		return user.user.ID, nil
	}
	owner, err := tx.ShareUser(ctx, user.scope.Company, *ticket.UserID)
	if err != nil || !owner.IsActive {
		return user.user.ID, err
	}
	return owner.ID, nil
}

func (a *API) deleteTicket(ctx context.Context, in *IDParam) (*messageOutput, error) {
	user, err := a.requireUser(ctx)
	if err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "deleting a ticket", func(tx *store.Tx) error {
		return dberr.MapNoRows(tx.RemoveTicket(ctx, user.scope.Company, in.ID), errNoTicket())
	})
	return &messageOutput{Message{"Ticket deleted"}}, err
}
