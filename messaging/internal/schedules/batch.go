package schedules

import (
	"context"
	"fmt"
	"strconv"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

// CodeNoConnection is the error code of a message of a company without a default connection.
// Those of packages outbound and store come beside it.
const CodeNoConnection = "no_connection"

// chatKey names a chat of a company.
type chatKey struct{ contact, connection int64 }

// batch is the writing of some messages of a company in one transaction, which has locked the
// company and the schedules.
type batch struct {
	tx        *store.Tx
	company   store.Company
	scope     store.Scope
	schedules []store.Schedule // in their order

	contacts          map[int64]store.Contact
	tickets           map[int64]store.Ticket // by id
	live              map[chatKey]store.Ticket
	connections       map[int64]bool
	defaultConnection int64 // 0: none
	activeUsers       map[int64]bool

	failed dbgen.FailSchedulesParams
}

// write stores the messages, and why some cannot be sent.
func (b *batch) write(ctx context.Context) error {
	if err := b.load(ctx); err != nil {
		return err
	}
	sendable := b.sendable()
	if err := b.createTickets(ctx, sendable); err != nil {
		return err
	}
	var messages []store.ScheduledMessage
	for _, schedule := range sendable {
		if message, ok := b.messageOf(schedule); ok {
			messages = append(messages, message)
		}
	}
	if err := b.tx.AddScheduledMessages(ctx, b.scope.Company, messages); err != nil {
		return err
	}
	if len(b.failed.Schedules) == 0 {
		return nil
	}
	b.failed.CompanyID, b.failed.At = b.scope.Company, b.tx.Now()
	if err := b.tx.FailSchedules(ctx, b.failed); err != nil {
		return fmt.Errorf("storing why messages are not sent: %w", err)
	}
	return nil
}

// load loads what the schedules name, and locks contacts and tickets.
func (b *batch) load(ctx context.Context) error {
	company := b.scope.Company
	contactIDs := idsOf(b.schedules, func(s store.Schedule) *int64 { return &s.ContactID })
	contacts, err := b.tx.LockContactsByID(ctx, company, contactIDs)
	if err != nil {
		return fmt.Errorf("loading contacts: %w", err)
	}
	b.contacts = make(map[int64]store.Contact, len(contacts))
	for _, contact := range contacts {
		b.contacts[contact.ID] = contact
	}
	tickets, err := b.tx.LockTicketsOfSchedules(ctx, company, idsOf(b.schedules, func(s store.Schedule) *int64 { return s.TicketID }), contactIDs)
	if err != nil {
		return fmt.Errorf("loading tickets: %w", err)
	}
	b.tickets, b.live = make(map[int64]store.Ticket, len(tickets)), make(map[chatKey]store.Ticket, len(tickets))
	for _, ticket := range tickets {
		b.addTicket(ticket)
	}
	connections, err := b.tx.Connections(ctx, company)
	if err != nil {
		return fmt.Errorf("loading connections: %w", err)
	}
	b.connections = make(map[int64]bool, len(connections))
	for _, connection := range connections {
		if b.connections[connection.ID] = true; connection.IsDefault {
			b.defaultConnection = connection.ID
		}
	}
	users, err := b.tx.ActiveUsersAmong(ctx, company, idsOf(b.schedules, func(s store.Schedule) *int64 { return s.UserID }))
	if err != nil {
		return fmt.Errorf("loading users: %w", err)
	}
	b.activeUsers = make(map[int64]bool, len(users))
	for _, user := range users {
		b.activeUsers[user] = true
	}
	return nil
}

func (b *batch) addTicket(ticket store.Ticket) {
	b.tickets[ticket.ID] = ticket
	if ticket.Status.IsLive() && ticket.ConnectionID != nil {
		b.live[chatKey{ticket.ContactID, *ticket.ConnectionID}] = ticket
	}
}

// fail notes that a message cannot be sent.
func (b *batch) fail(schedule store.Schedule, code string) {
	b.failed.Schedules, b.failed.Errors = append(b.failed.Schedules, schedule.ID), append(b.failed.Errors, code)
}

// sendable returns the schedules whose contacts take messages and that have a connection.
func (b *batch) sendable() (list []store.Schedule) {
	for _, schedule := range b.schedules {
		contact, isKnown := b.contacts[schedule.ContactID]
		switch _, hasConnection := b.chatOf(schedule); {
		case !isKnown: // it is being deleted, and the schedule with it
		case outbound.CheckConsent(contact, chat.OriginSchedule, b.tx.Now()) != nil:
			b.fail(schedule, store.CodeOptedOut)
		case !hasConnection:
			b.fail(schedule, CodeNoConnection)
		default:
			list = append(list, schedule)
		}
	}
	return list
}

// chatOf returns the chat of a schedule: that of the ticket that it names while that is live,
// else the contact's on the connection that it names, or on the default one.
func (b *batch) chatOf(schedule store.Schedule) (key chatKey, ok bool) {
	if schedule.TicketID != nil {
		ticket := b.tickets[*schedule.TicketID]
		if ticket.Status.IsLive() && ticket.ConnectionID != nil && ticket.ContactID == schedule.ContactID {
			return chatKey{schedule.ContactID, *ticket.ConnectionID}, true
		}
	}
	connection := b.defaultConnection
	if schedule.ConnectionID != nil {
		connection = *schedule.ConnectionID
	}
	return chatKey{schedule.ContactID, connection}, b.connections[connection]
}

// createTickets creates the tickets of chats without a live one: for the user who made the
// first schedule there.
func (b *batch) createTickets(ctx context.Context, list []store.Schedule) error {
	var drafts []store.TicketDraft
	planned := make(map[chatKey]bool)
	for _, schedule := range list {
		key, _ := b.chatOf(schedule)
		if _, isLive := b.live[key]; isLive || planned[key] {
			continue
		}
		planned[key] = true
		draft := store.TicketDraft{Contact: b.contacts[key.contact], Connection: key.connection, NewTicket: store.NewTicket{Status: chat.TicketPending}}
		if schedule.UserID != nil && b.activeUsers[*schedule.UserID] {
			draft.Status, draft.UserID = chat.TicketOpen, schedule.UserID
		}
		drafts = append(drafts, draft)
	}
	tickets, err := b.tx.CreateTickets(ctx, b.scope, drafts)
	for _, ticket := range tickets {
		b.addTicket(ticket)
	}
	return err
}

// messageOf returns the message of a schedule. ok is false if a variable of its template has
// no value.
func (b *batch) messageOf(schedule store.Schedule) (message store.ScheduledMessage, ok bool) {
	key, _ := b.chatOf(schedule)
	ticket, contact := b.live[key], b.contacts[key.contact]
	variables := chat.Variables{
		Name: contact.Name, Email: contact.Email, Number: contact.Number, Protocol: strconv.FormatInt(ticket.ID, 10), At: b.tx.Now().In(chat.LoadZone(b.company.Timezone)),
	}
	draft := store.Message{Body: chat.Render(schedule.Body, variables)}
	if schedule.Template != nil {
		rendered, ok := schedule.Template.Render(variables)
		if !ok {
			b.fail(schedule, outbound.CodeTemplateParameter)
			return message, false
		}
		draft = store.WithTemplate(draft, rendered)
	}
	return store.ScheduledMessage{Schedule: schedule.ID, Ticket: ticket.ID, Connection: key.connection, Body: draft.Body, Template: draft.Template}, true
}
