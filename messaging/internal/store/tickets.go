package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/pointer"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// Ticket is a row of messaging.tickets.
type Ticket = dbgen.Ticket

// NewTicket describes the ticket that a message gets where its contact has no live one.
type NewTicket struct {
	Status  chat.TicketStatus // pending or open
	UserID  *int64
	QueueID *int64
	Reopens bool // a ticket that was closed a short time ago is reopened instead
}

// FindOrCreateTicket returns the live ticket of a contact on a connection, locked. Where
// there is none, it creates one. Where the draft reopens tickets, it reopens the contact's newest
// instead, if that was closed within the company's ReopenMinutes. The caller has locked
// the contact (see [Tx.FindOrCreateContact]).
func (t *Tx) FindOrCreateTicket(ctx context.Context, scope Scope, contact Contact, connection int64, draft NewTicket) (Ticket, error) {
	ticket, err := t.LiveTicket(ctx, scope.Company, contact.ID, connection)
	if !errors.Is(err, pgx.ErrNoRows) {
		return ticket, err
	}
	if draft.Reopens {
		ticket, err := t.reopenTicket(ctx, scope, contact, connection)
		if !errors.Is(err, pgx.ErrNoRows) {
			return ticket, err
		}
	}
	created, err := t.CreateTickets(ctx, scope, []TicketDraft{{contact, connection, draft}})
	if err != nil {
		return Ticket{}, err
	}
	return created[0], nil
}

// TicketDraft is a ticket to create for a contact without a live one on a connection.
type TicketDraft struct {
	Contact    Contact
	Connection int64
	NewTicket
}

// CreateTickets inserts tickets of different contacts and connections and publishes them. It
// returns them in the order of the drafts. The transaction has locked the contacts. It takes as
// many statements as one ticket.
func (t *Tx) CreateTickets(ctx context.Context, scope Scope, drafts []TicketDraft) ([]Ticket, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	params := dbgen.InsertTicketsParams{CompanyID: scope.Company, At: t.Now()}
	for _, draft := range drafts {
		params.Statuses = append(params.Statuses, string(draft.Status))
		params.Contacts, params.Connections = append(params.Contacts, draft.Contact.ID), append(params.Connections, draft.Connection)
		params.Users, params.Queues = append(params.Users, pointer.ValueOrZero(draft.UserID)), append(params.Queues, pointer.ValueOrZero(draft.QueueID))
	}
	created, err := t.InsertTickets(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("creating tickets: %w", err)
	}
	if err := t.countTickets(ctx, len(created)); err != nil {
		return nil, err
	}
	type place struct{ contact, connection int64 }
	byPlace := make(map[place]Ticket, len(created))
	for _, ticket := range created {
		byPlace[place{ticket.ContactID, *ticket.ConnectionID}] = ticket
	}
	tickets := make([]Ticket, len(drafts))
	for i, draft := range drafts {
		tickets[i] = byPlace[place{draft.Contact.ID, draft.Connection}]
	}
	return tickets, t.publishCreatedTickets(ctx, scope, drafts, tickets)
}

// reopenTicket returns a ticket that was closed within the company's window to pending, without
// the resolution it was closed with. It returns [pgx.ErrNoRows] if there is none.
func (t *Tx) reopenTicket(ctx context.Context, scope Scope, contact Contact, connection int64) (Ticket, error) {
	company, err := t.Company(ctx, scope.Company)
	if err != nil {
		return Ticket{}, err
	}
	ticket, err := t.NewestClosedTicket(ctx, dbgen.NewestClosedTicketParams{
		CompanyID: scope.Company, ContactID: contact.ID, ConnectionID: connection,
		Since: t.Now().Add(-time.Duration(company.ReopenMinutes) * time.Minute),
	})
	if err != nil {
		return Ticket{}, err
	}
	ticket.Status, ticket.UserID, ticket.Resolution = chat.TicketPending, nil, nil
	return t.SaveTicket(ctx, scope, chat.TicketClosed, ticket)
}

// CloseTicket closes a ticket for a program, with a resolution unless that is nil. A closed one
// stays as it is; an unknown one is a [hub.ErrNotFound].
func (t *Tx) CloseTicket(ctx context.Context, scope Scope, ticketID int64, resolution *string) error {
	ticket, err := t.LockTicket(ctx, scope.Company, ticketID)
	if err != nil {
		return dberr.MapNoRows(err, hub.Errorf(hub.ErrNotFound, "no_ticket_found", "There is no ticket with this id."))
	}
	earlier := ticket.Status
	if earlier == chat.TicketClosed {
		return nil
	}
	if ticket.Status = chat.TicketClosed; resolution != nil {
		ticket.Resolution = resolution
	}
	_, err = t.SaveTicket(ctx, scope, earlier, ticket)
	return err
}

// CloseTicketOf closes the ticket of a message that was sent, unless it was deleted meanwhile.
func (t *Tx) CloseTicketOf(ctx context.Context, scope Scope, m Message) error {
	if m.TicketID == nil {
		return nil
	}
	if err := t.CloseTicket(ctx, scope, *m.TicketID, nil); err != nil && !errors.Is(err, hub.ErrNotFound) {
		return err
	}
	return nil
}

// SaveTicket stores a ticket that the transaction has locked, sets the times that its
// status implies, and publishes a change of its status. earlier is the stored status.
func (t *Tx) SaveTicket(ctx context.Context, scope Scope, earlier chat.TicketStatus, ticket Ticket) (Ticket, error) {
	now := t.Now()
	if ticket.Status != earlier {
		ticket.Chatbot = false // people or the contact take over
		if ticket.Status != chat.TicketPending || earlier != chat.TicketClosed {
			ticket.RatingAskedAt = nil // until a user accepts it, the contact may still answer
		}
		switch ticket.Status {
		case chat.TicketPending:
			ticket.QueuedAt, ticket.StartedAt, ticket.ClosedAt = &now, nil, nil
		case chat.TicketOpen:
			if earlier == chat.TicketClosed {
				ticket.QueuedAt = &now // it did not wait while it was closed
			}
			ticket.StartedAt, ticket.ClosedAt = &now, nil
		case chat.TicketClosed:
			ticket.ClosedAt = &now
		}
	}
	saved, err := t.UpdateTicket(ctx, dbgen.UpdateTicketParams{
		CompanyID: scope.Company, ID: ticket.ID, Status: ticket.Status, UserID: ticket.UserID, QueueID: ticket.QueueID, ConnectionID: ticket.ConnectionID,
		Resolution: ticket.Resolution, QueuedAt: ticket.QueuedAt, StartedAt: ticket.StartedAt, ClosedAt: ticket.ClosedAt,
		Chatbot: ticket.Chatbot, RatingAskedAt: ticket.RatingAskedAt, BeginsAnew: ticket.Status != earlier && ticket.Status != chat.TicketClosed, UpdatedAt: now,
	})
	if err != nil || saved.Status == earlier {
		return saved, err
	}
	if err := t.publishTicketToWebhooks(ctx, scope, saved.ID, earlier); err != nil || saved.Status != chat.TicketClosed {
		return saved, err
	}
	closed := events.TicketClosed{TicketID: chat.FormatID(saved.ID)}
	if saved.Resolution != nil {
		closed.Resolution = *saved.Resolution
	}
	return saved, publishToProducts(ctx, t, scope, closed)
}
