// Package schedules sends messages at the times that users chose. A message that came due
// while no process ran is sent after the start. Claiming it, storing it in the contact's
// ticket and adding it to the outbox is one transaction, so that it is sent once.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

// Error codes of messages that were not sent. Those of package outbound come beside them.
const (
	CodeNoConnection = "no_connection" // the company has no default connection
	CodeOptedOut     = "opted_out"     // the contact wants no messages
)

// runTime is how long one run of the job sends; the next one goes on.
const runTime = 20 * time.Second

// Service sends scheduled messages.
type Service struct {
	host   module.Host
	store  *store.Store
	sender *outbound.Service
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store, sender *outbound.Service) *Service {
	return &Service{host, s, sender}
}

// SendDue sends the messages that are due: the job of this package.
func (s *Service) SendDue(ctx context.Context, _ []byte) error {
	for begin := time.Now(); ctx.Err() == nil && time.Since(begin) < runTime; {
		found, err := s.sendNext(ctx)
		if err != nil || !found {
			return err
		}
	}
	return nil
}

// sendNext sends the next due message.
func (s *Service) sendNext(ctx context.Context) (found bool, err error) {
	var scope store.Scope
	var entry *store.OutboxEntry
	err = s.store.InTx(ctx, "writing a scheduled message", func(tx *store.Tx) error {
		var schedule store.Schedule
		entry = nil
		if schedule, found, err = tx.ClaimSchedule(ctx); err != nil || !found {
			return err
		}
		company, err := tx.Company(ctx, schedule.CompanyID)
		if err != nil {
			return fmt.Errorf("loading the company: %w", err)
		}
		scope = store.Scope{Company: company.ID, Tenant: company.TenantID}
		entry, err = s.write(ctx, tx, company, schedule)
		return err
	})
	if err != nil || entry == nil {
		return found, err
	}
	if _, err := s.sender.Send(ctx, scope, *entry); err != nil {
		s.host.Log.WarnContext(ctx, "a scheduled message waits in the outbox", "message_id", entry.MessageID, "error", err)
	}
	return true, nil
}

// write stores the message of a schedule in a ticket and in the outbox. It returns nil for a
// message that cannot be sent; the schedule says why.
func (s *Service) write(ctx context.Context, tx *store.Tx, company store.Company, schedule store.Schedule) (*store.OutboxEntry, error) {
	scope := store.Scope{Company: company.ID, Tenant: company.TenantID}
	contact, err := tx.LockContact(ctx, scope.Company, schedule.ContactID)
	if err != nil {
		return nil, fmt.Errorf("loading the contact: %w", err)
	}
	schedule.Attempts++
	if err := outbound.CheckConsent(contact, chat.OriginSchedule, tx.Now()); err != nil || contact.AnonymizedAt != nil {
		return nil, fail(ctx, tx, schedule, CodeOptedOut)
	}
	ticket, err := ticketOf(ctx, tx, scope, schedule, contact)
	if errors.Is(err, errNoConnection) {
		return nil, fail(ctx, tx, schedule, CodeNoConnection)
	}
	if err != nil {
		return nil, err
	}
	variables := chat.Variables{
		Name: contact.Name, Email: contact.Email, Number: contact.Number, Protocol: strconv.FormatInt(ticket.ID, 10), At: tx.Now().In(chat.LoadZone(company.Timezone)),
	}
	draft := store.Message{UserID: schedule.UserID, Body: chat.Render(schedule.Body, variables), MediaType: chat.MediaText, Origin: chat.OriginSchedule}
	if schedule.Template != nil {
		rendered, ok := schedule.Template.Render(variables)
		if !ok {
			return nil, fail(ctx, tx, schedule, outbound.CodeTemplateParameter)
		}
		draft = store.WithTemplate(draft, rendered)
	}
	if schedule.MediaID != nil {
		file, err := tx.MediaFile(ctx, *schedule.MediaID)
		if err != nil {
			return nil, fmt.Errorf("loading the file: %w", err)
		}
		draft = store.WithMedia(draft, file)
	}
	message, entry, err := s.sender.Write(ctx, tx, outbound.Draft{Contact: contact, Ticket: ticket, Message: draft})
	if err != nil {
		return nil, err
	}
	schedule.Status, schedule.MessageID, schedule.TicketID, schedule.Error = store.ScheduleQueued, &message.ID, &ticket.ID, nil
	if _, err := tx.SaveSchedule(ctx, schedule); err != nil {
		return nil, fmt.Errorf("storing a scheduled message's state: %w", err)
	}
	return &entry, nil
}

// fail stores that a message cannot be sent.
func fail(ctx context.Context, tx *store.Tx, schedule store.Schedule, code string) error {
	schedule.Status, schedule.Error = store.ScheduleError, &code
	_, err := tx.SaveSchedule(ctx, schedule)
	return err
}

var errNoConnection = hub.Errorf(hub.ErrMalformed, "no_def_wapp_found", "The company has no default connection.")

// ticketOf returns the ticket of a scheduled message, locked: the one that it names while
// that is live, the contact's live one, or a new one of the user who made it.
func ticketOf(ctx context.Context, tx *store.Tx, scope store.Scope, schedule store.Schedule, contact store.Contact) (store.Ticket, error) {
	if schedule.TicketID != nil {
		ticket, err := tx.LockTicket(ctx, scope.Company, *schedule.TicketID)
		if err != nil {
			return ticket, fmt.Errorf("loading the ticket: %w", err)
		}
		if ticket.Status.IsLive() && ticket.ConnectionID != nil && ticket.ContactID == contact.ID {
			return ticket, nil
		}
	}
	var connection store.Connection
	var err error
	if schedule.ConnectionID != nil {
		connection, err = tx.Connection(ctx, scope.Company, *schedule.ConnectionID)
	} else {
		connection, err = tx.DefaultConnection(ctx, scope.Company)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Ticket{}, errNoConnection
	}
	if err != nil {
		return store.Ticket{}, fmt.Errorf("loading the connection: %w", err)
	}
	draft := store.NewTicket{Status: chat.TicketPending}
	if schedule.UserID != nil {
		user, err := tx.User(ctx, scope.Company, *schedule.UserID)
		if err != nil {
			return store.Ticket{}, fmt.Errorf("loading the user: %w", err)
		}
		if user.IsActive {
			draft = store.NewTicket{Status: chat.TicketOpen, UserID: &user.ID}
		}
	}
	return tx.FindOrCreateTicket(ctx, scope, contact, connection.ID, draft)
}
