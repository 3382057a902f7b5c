package store

import (
	"context"
	"fmt"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// anonymizedName is the name of contacts whose data was erased.
const anonymizedName = "Anonymized"

// retentionBatch is how many rows are erased in one transaction.
const retentionBatch = 1000

// anonymizeContact erases the data of a contact that the transaction has locked: it has no
// number any more, its live tickets are closed, and of its messages only direction and time
// stay. What waits to be sent to it is not sent. A contact that was anonymized before stays as it is.
//
// The tickets are closed last: the events that say so have nothing of the person.
func (t *Tx) anonymizeContact(ctx context.Context, scope Scope, contact Contact) (Contact, error) {
	if contact.AnonymizedAt != nil {
		return contact, nil
	}
	files, err := t.MediaOfContact(ctx, scope.Company, contact.ID)
	if err != nil {
		return contact, fmt.Errorf("loading the contact's files: %w", err)
	}
	for _, erase := range []func(ctx context.Context, company, id int64) error{
		func(ctx context.Context, company, id int64) error {
			return t.FailOutboxOfContact(ctx, dbgen.FailOutboxOfContactParams{CompanyID: company, ContactID: id, Code: CodeAnonymized, At: t.Now()})
		},
		t.EraseTicketsOfContact, t.DeleteListItemsOfContact, t.DeleteContactTags, t.DeleteSchedulesOfContact,
		t.DeleteLinksOfContact, t.DeleteAppointmentQuestions, t.DeleteBookingChatsOfContact,
		func(ctx context.Context, company, id int64) error {
			return t.EraseShipmentsOfContact(ctx, dbgen.EraseShipmentsOfContactParams{CompanyID: company, ContactID: id, Code: CodeAnonymized, At: t.Now()})
		},
		t.eraseMessagesOf,
		func(ctx context.Context, company, _ int64) error { return t.EraseMedia(ctx, company, files) },
		func(ctx context.Context, _, _ int64) error { return t.leaveOutOfImports(ctx, contact) },
	} {
		if err := erase(ctx, scope.Company, contact.ID); err != nil {
			return contact, fmt.Errorf("erasing a contact's data: %w", err)
		}
	}
	anonymized, err := t.AnonymizeContactRow(ctx, dbgen.AnonymizeContactRowParams{Name: anonymizedName, At: t.Now(), CompanyID: scope.Company, ID: contact.ID})
	if err != nil {
		return contact, fmt.Errorf("erasing a contact's data: %w", err)
	}
	return anonymized, t.closeTicketsOf(ctx, scope, contact.ID)
}

// closeTicketsOf closes the live tickets of a contact.
func (t *Tx) closeTicketsOf(ctx context.Context, scope Scope, contact int64) error {
	tickets, err := t.LiveTicketsOfContact(ctx, scope.Company, contact)
	if err != nil {
		return fmt.Errorf("loading the contact's tickets: %w", err)
	}
	for _, ticket := range tickets {
		earlier := ticket.Status
		ticket.Status = chat.TicketClosed
		if _, err := t.SaveTicket(ctx, scope, earlier, ticket); err != nil {
			return fmt.Errorf("closing a ticket: %w", err)
		}
	}
	return nil
}

// AnonymizeContactAndLog erases the data of a contact, and what the hub's log has of it. For the
// log it publishes an [events.TypePatientDeleted] that nobody receives: the hub's outbox stores
// an erasure with each event of this type, and a job of the hub carries it out. The event's data
// is empty; only its traces say who is meant.
func (t *Tx) AnonymizeContactAndLog(ctx context.Context, scope Scope, contact Contact) (Contact, error) {
	if contact.AnonymizedAt != nil {
		return contact, nil
	}
	traces := module.LogTraces{Names: []string{contact.Name}}
	if contact.Number != "" {
		traces.Phones = []string{chat.FormatE164(contact.Number)}
	}
	if contact.Email != "" {
		others, err := t.CountOthersWithEmail(ctx, scope.Company, contact.ID, contact.Email)
		if err != nil {
			return contact, fmt.Errorf("counting who has the contact's address: %w", err)
		}
		if others > 0 {
			traces.Shared = []string{contact.Email}
		} else {
			traces.Emails = []string{contact.Email}
		}
	}
	anonymized, err := t.anonymizeContact(ctx, scope, contact)
	if err != nil {
		return contact, err
	}
	nobody := module.Audience{Receivers: module.NoReceivers}
	event := hub.Event{TenantID: scope.Tenant, Environment: environment, Type: events.TypePatientDeleted, Data: []byte(`{}`)}
	ids, err := t.Host.Events.PublishTo(ctx, t.Raw, nobody, []hub.Event{event})
	if err != nil {
		return contact, fmt.Errorf("asking for an erasure of the log: %w", err)
	}
	event.ID = ids[0]
	return anonymized, t.Host.Erasures.AddTraces(ctx, t.Raw, event, traces)
}

// EraseOldMessages is a background job: it deletes the messages of closed tickets that are
// older than their company keeps messages, scheduled messages that were sent or failed before,
// and what campaigns keep of such messages. What fails for a company holds up nothing else.
func (s *Store) EraseOldMessages(ctx context.Context, _ []byte) error {
	companies, err := s.CompaniesWithRetention(ctx)
	if err != nil {
		return fmt.Errorf("loading the companies that erase messages: %w", err)
	}
	var failed failures
	for _, company := range companies {
		before := s.host.Now().Add(-time.Duration(*company.RetentionDays) * 24 * time.Hour)
		for _, erase := range []func(ctx context.Context, company int64, before time.Time) error{inBatches(s.eraseMessages), inBatches(s.eraseSchedules), s.eraseShipments} {
			if err := ctx.Err(); err != nil {
				failed.add(err)
				return failed.joined()
			}
			if err := erase(ctx, company.ID, before); err != nil {
				failed.add(fmt.Errorf("company %d: %w", company.ID, err))
			}
		}
	}
	return failed.joined()
}

// inBatches returns a function that calls erase until nothing is left to delete.
func inBatches(erase func(ctx context.Context, company int64, before time.Time) (deleted int, err error)) func(ctx context.Context, company int64, before time.Time) error {
	return func(ctx context.Context, company int64, before time.Time) error {
		for {
			if deleted, err := erase(ctx, company, before); err != nil || deleted < retentionBatch {
				return err
			}
		}
	}
}

// eraseSchedules deletes some of a company's old scheduled messages and returns how many.
func (s *Store) eraseSchedules(ctx context.Context, company int64, before time.Time) (deleted int, err error) {
	err = s.InTx(ctx, "erasing old scheduled messages", func(tx *Tx) error {
		schedules, err := tx.DeleteOldSchedules(ctx, company, before, retentionBatch)
		if err != nil {
			return err
		}
		deleted = len(schedules)
		var files []string
		for _, schedule := range schedules {
			if schedule.MediaID != "" {
				files = append(files, schedule.MediaID)
			}
		}
		return tx.EraseMedia(ctx, company, files)
	})
	return deleted, err
}

// eraseShipments erases the numbers and texts of a company's old shipments.
func (s *Store) eraseShipments(ctx context.Context, company int64, before time.Time) error {
	next := dbgen.EraseOldShipmentsParams{CompanyID: company, Before: before, MaxRows: retentionBatch}
	for {
		erased, err := s.EraseOldShipments(ctx, next)
		if err != nil {
			return fmt.Errorf("erasing old shipments: %w", err)
		}
		for _, shipment := range erased {
			if shipment.CampaignID > next.AfterCampaign || shipment.CampaignID == next.AfterCampaign && shipment.ContactID > next.AfterContact {
				next.AfterCampaign, next.AfterContact = shipment.CampaignID, shipment.ContactID
			}
		}
		if len(erased) < retentionBatch {
			return nil
		}
	}
}

// eraseMessages deletes some of a company's old messages and returns how many.
func (s *Store) eraseMessages(ctx context.Context, company int64, before time.Time) (deleted int, err error) {
	err = s.InTx(ctx, "erasing old messages", func(tx *Tx) error {
		messages, err := tx.DeleteOldMessages(ctx, company, before, retentionBatch)
		if err != nil {
			return err
		}
		deleted = len(messages)
		var tickets []int64
		var files []string
		for _, message := range messages {
			tickets = append(tickets, message.TicketID)
			if message.MediaID != nil {
				files = append(files, *message.MediaID)
			}
		}
		if err := tx.EraseMedia(ctx, company, files); err != nil {
			return err
		}
		return tx.ClearLastMessages(ctx, company, tickets)
	})
	return deleted, err
}

// ListMessagesOfContact returns messages of a contact after a place in their order.
func (s *Store) ListMessagesOfContact(ctx context.Context, company, contact, after int64, limit int) ([]Message, error) {
	return s.MessagesOfContact(ctx, dbgen.MessagesOfContactParams{CompanyID: company, ContactID: contact, After: after, MaxRows: limit})
}
