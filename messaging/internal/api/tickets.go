package api

import (
	"context"
	"time"

	"github.com/google/uuid"

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
	ID              int64             `json:"id" example:"12"`
	UUID            uuid.UUID         `json:"uuid"`
	CompanyID       int64             `json:"companyId" example:"1"`
	Status          chat.TicketStatus `json:"status" enum:"open,pending,closed" doc:"pending: waits for a user"`
	UnreadMessages  int               `json:"unreadMessages" doc:"Messages of the contact that nobody has read"`
	LastMessage     string            `json:"lastMessage" doc:"Beginning of the newest message"`
	IsGroup         bool              `json:"isGroup"`
	ContactID       int64             `json:"contactId"`
	UserID          *int64            `json:"userId" doc:"Who has accepted it"`
	QueueID         *int64            `json:"queueId"`
	WhatsappID      *int64            `json:"whatsappId" doc:"Its connection; null: deleted"`
	Chatbot         bool              `json:"chatbot" doc:"A menu waits for the contact's answer"`
	Resolution      *string           `json:"resolution" doc:"How it ended"`
	Rating          *int              `json:"rating" doc:"1 to 5, by the contact"`
	QueuedAt        *time.Time        `json:"queuedAt" doc:"Since when it waits or waited"`
	StartedAt       *time.Time        `json:"startedAt" doc:"When a user accepted it"`
	FirstResponseAt *time.Time        `json:"firstResponseAt"`
	ClosedAt        *time.Time        `json:"closedAt"`
	CreatedAt       time.Time         `json:"createdAt"`
	UpdatedAt       time.Time         `json:"updatedAt"`
	Contact         TicketContact     `json:"contact"`
	User            *NamedItem        `json:"user"`
	Queue           *TicketQueue      `json:"queue"`
	Whatsapp        *NamedItem        `json:"whatsapp"`
}

// TicketContact is the contact in a ticket.
type TicketContact struct {
	ID            int64  `json:"id"`
	Name          string `json:"name" example:"Ana Souza"`
	Number        string `json:"number" example:"5511987654321"`
	Email         string `json:"email"`
	ProfilePicURL string `json:"profilePicUrl"`
}

// TicketQueue is the queue in a ticket.
type TicketQueue struct {
	ID    int64  `json:"id"`
	Name  string `json:"name" example:"Sales"`
	Color string `json:"color" example:"#00aa88"`
}

// NamedItem is another resource, by name.
type NamedItem struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type ticketOutput struct{ Body Ticket }

func toTicket(v store.TicketView) Ticket {
	t := Ticket{
		ID: v.ID, UUID: v.UUID, CompanyID: v.CompanyID, Status: v.Status, UnreadMessages: v.UnreadMessages, LastMessage: v.LastMessage, ContactID: v.ContactID,
		UserID: v.UserID, QueueID: v.QueueID, WhatsappID: v.ConnectionID, Chatbot: v.Chatbot, Resolution: v.Resolution, Rating: v.Rating,
		QueuedAt: v.QueuedAt, StartedAt: v.StartedAt, FirstResponseAt: v.FirstResponseAt, ClosedAt: v.ClosedAt, CreatedAt: v.CreatedAt.UTC(), UpdatedAt: v.UpdatedAt.UTC(),
		Contact: TicketContact{v.ContactID, v.ContactName, v.ContactNumber, v.ContactEmail, v.ContactPicture},
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
	Status      string `query:"status" enum:"open,closed,pending" doc:"Only tickets in this state"`
	QueueID     int64  `query:"queueId" minimum:"1" doc:"Only tickets of this queue"`
	PageNumber  int    `query:"pageNumber" minimum:"1" maximum:"100000" default:"1" doc:"From 1; a page has 40 tickets"`
	SearchParam string `query:"searchParam" maxLength:"200" doc:"Part of the contact's name or number"`
}

// TicketList is a page of tickets, the last changed first.
type TicketList struct {
	Tickets []Ticket `json:"tickets" nullable:"false"`
	Count   int      `json:"count" doc:"Of all pages"`
	HasMore bool     `json:"hasMore" doc:"There is another page"`
}

func (a *API) listTickets(ctx context.Context, in *listTicketsInput) (*struct{ Body TicketList }, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	offset := (in.PageNumber - 1) * ticketsPerPage
	views, count, err := a.store.ListTickets(ctx, actor.scope, store.TicketFilter{
		Status: chat.TicketStatus(in.Status), QueueID: in.QueueID, Search: in.SearchParam, Offset: offset, Limit: ticketsPerPage,
	})
	if err != nil {
		return nil, err
	}
	return &struct{ Body TicketList }{TicketList{rest.Map(views, toTicket), count, count > offset+len(views)}}, nil
}

// ticketView returns a ticket of the company, or a [hub.ErrNotFound].
func (a *API) ticketView(ctx context.Context, scope store.Scope, id int64) (*ticketOutput, error) {
	view, err := a.store.TicketView(ctx, scope, id)
	return &ticketOutput{toTicket(view)}, mapNoRows(err, errNoTicket())
}

func errNoTicket() *hub.Error { return notFound("no_ticket_found", "ticket") }

func (a *API) getTicket(ctx context.Context, in *IDParam) (*ticketOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	return a.ticketView(ctx, actor.scope, in.ID)
}

type updateTicketInput struct {
	IDParam
	Body struct {
		Status     rest.Optional[string] `json:"status,omitempty" doc:"open, pending or closed"`
		Resolution rest.Optional[string] `json:"resolution,omitempty" maxLength:"500" doc:"How it ended"`
	} `nameHint:"TicketFields"`
}

func (a *API) updateTicket(ctx context.Context, in *updateTicketInput) (*ticketOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	err = a.store.InTx(ctx, "changing a ticket", func(tx *store.Tx) error {
		ticket, err := tx.LockTicket(ctx, actor.scope.Company, in.ID)
		if err != nil {
			return mapNoRows(err, errNoTicket())
		}
		earlier, status := ticket.Status, string(ticket.Status)
		in.Body.Status.ApplyTo(&status)
		in.Body.Resolution.ApplyToNullable(&ticket.Resolution)
		ticket.Status = chat.TicketStatus(status)
		if !ticket.Status.IsValid() {
			return hub.Invalid("body.status", "must be open, pending or closed")
		}
		if ticket.Status == chat.TicketOpen && earlier != chat.TicketOpen && ticket.UserID == nil {
			ticket.UserID = &actor.user.ID
		}
		_, err = tx.SaveTicket(ctx, actor.scope, earlier, ticket)
		return err
	})
	if dberr.ConstraintName(err) == "tickets_live" {
		return nil, refused("other_open_ticket", "The contact has another open ticket on this connection.")
	}
	if err != nil {
		return nil, err
	}
	return a.ticketView(ctx, actor.scope, in.ID)
}

func (a *API) deleteTicket(ctx context.Context, in *IDParam) (*messageOutput, error) {
	actor, err := a.requireActor(ctx)
	if err != nil {
		return nil, err
	}
	deleted, err := a.store.DeleteTicket(ctx, actor.scope.Company, in.ID)
	if err == nil && deleted == 0 {
		err = errNoTicket()
	}
	return &messageOutput{Message{"Ticket deleted"}}, err
}
