package store

import (
	"context"
	"fmt"
	"time"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// anonymizedName is the name of contacts whose data was erased.
const anonymizedName = "Anonymized"

// retentionBatch is how many rows are erased in one transaction.
const retentionBatch = 1000

// AnonymizeContact erases the data of a contact that the transaction has locked: it has no
// number any more, its live tickets are closed, and of its messages only direction and time
// stay. What waits to be sent to it is not sent. A contact that was anonymized before stays as it is.
func (t *Tx) AnonymizeContact(ctx context.Context, scope Scope, contact Contact) (Contact, error) {
	if contact.AnonymizedAt != nil {
		return contact, nil
	}
	tickets, err := t.LiveTicketsOfContact(ctx, scope.Company, contact.ID)
	if err != nil {
		return contact, fmt.Errorf("loading the contact's tickets: %w", err)
	}
	for _, ticket := range tickets {
		earlier := ticket.Status
		ticket.Status, ticket.Resolution = chat.TicketClosed, nil
		if _, err := t.SaveTicket(ctx, scope, earlier, ticket); err != nil {
			return contact, fmt.Errorf("closing a ticket: %w", err)
		}
	}
	files, err := t.MediaOfContact(ctx, scope.Company, contact.ID)
	if err != nil {
		return contact, fmt.Errorf("loading the contact's files: %w", err)
	}
	for _, erase := range []func(ctx context.Context, company, contact int64) error{
		func(ctx context.Context, company, contact int64) error {
			return t.FailOutboxOfContact(ctx, dbgen.FailOutboxOfContactParams{CompanyID: company, ContactID: contact, Code: CodeAnonymized, At: t.Now()})
		},
		t.EraseTicketsOfContact, t.DeleteListItemsOfContact, t.DeleteContactTags, t.DeleteSchedulesOfContact,
		t.DeleteLinksOfContact, t.DeleteAppointmentQuestions, t.DeleteBookingChatsOfContact,
		func(ctx context.Context, company, contact int64) error {
			return t.EraseShipmentsOfContact(ctx, dbgen.EraseShipmentsOfContactParams{CompanyID: company, ContactID: contact, Code: CodeAnonymized, At: t.Now()})
		},
		func(ctx context.Context, company, contact int64) error {
			return t.EraseMessagesOfContact(ctx, company, contact, t.Now())
		},
		func(ctx context.Context, company, _ int64) error { return t.EraseMedia(ctx, company, files) },
	} {
		if err := erase(ctx, scope.Company, contact.ID); err != nil {
			return contact, fmt.Errorf("erasing a contact's data: %w", err)
		}
	}
	return t.AnonymizeContactRow(ctx, dbgen.AnonymizeContactRowParams{Name: anonymizedName, At: t.Now(), CompanyID: scope.Company, ID: contact.ID})
}

// EraseOldMessages is a background job: it deletes the messages of closed tickets that are
// older than their company keeps messages, scheduled messages that were sent or failed before,
// and what campaigns keep of such messages.
func (s *Store) EraseOldMessages(ctx context.Context, _ []byte) error {
	companies, err := s.CompaniesWithRetention(ctx)
	if err != nil {
		return fmt.Errorf("loading the companies that erase messages: %w", err)
	}
	for _, company := range companies {
		before := s.host.Now().Add(-time.Duration(*company.RetentionDays) * 24 * time.Hour)
		for _, erase := range []func(ctx context.Context, company int64, before time.Time) (int, error){s.eraseMessages, s.eraseSchedules} {
			for deleted := retentionBatch; deleted == retentionBatch; {
				if deleted, err = erase(ctx, company.ID, before); err != nil {
					return err
				}
			}
		}
		if err := s.eraseShipments(ctx, company.ID, before); err != nil {
			return err
		}
	}
	return nil
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
