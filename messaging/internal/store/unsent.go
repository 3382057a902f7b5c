package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/store/dbgen"
)

// Error codes of messages that are not sent, and of their schedules and shipments.
const (
	CodeOptedOut          = "opted_out"          // the contact wants no messages
	CodeAnonymized        = "anonymized"         // the contact was anonymized
	CodeNoNumber          = "no_number"          // no event had the contact's number yet
	CodeConnectionDeleted = "connection_deleted" //
	CodeTicketDeleted     = "ticket_deleted"     // the message was deleted with its ticket
	CodeCampaignCancelled = "campaign_cancelled" // until the campaign goes on
)

// RemoveConnection deletes a connection. What waits to be sent on it has failed; running
// campaigns that send on it are cancelled; they continue once an administrator sets another
// connection and starts them. If it was the company's default, the oldest of the others is now.
// It does nothing if there is no such connection.
func (t *Tx) RemoveConnection(ctx context.Context, company, id int64) error {
	// Before the connection, as a process does that writes their messages.
	campaigns, err := t.LockRunningCampaignsOfConnection(ctx, company, id)
	if err != nil {
		return fmt.Errorf("finding the campaigns of a connection: %w", err)
	}
	if _, err := t.LockConnectionToDelete(ctx, company, id); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return fmt.Errorf("locking a connection: %w", err)
	}
	err = t.FailOutboxOfConnection(ctx, dbgen.FailOutboxOfConnectionParams{CompanyID: company, ConnectionID: id, Code: CodeConnectionDeleted, At: t.Now()})
	if err != nil {
		return fmt.Errorf("removing the messages of a connection from the outbox: %w", err)
	}
	for _, campaign := range campaigns {
		if err := t.StopCampaign(ctx, campaign, CampaignCancelled); err != nil {
			return err
		}
	}
	if _, err = t.DeleteConnection(ctx, company, id); err != nil {
		return fmt.Errorf("deleting a connection: %w", err)
	}
	return t.EnsureDefaultConnection(ctx, t.Now(), company)
}

// RemoveTicket deletes a ticket with its messages and their files. Messages that wait to be sent
// have failed. It returns [pgx.ErrNoRows] if there is no such ticket.
func (t *Tx) RemoveTicket(ctx context.Context, company, id int64) error {
	if _, err := t.LockTicket(ctx, company, id); err != nil {
		return err
	}
	files, err := t.MediaOfTicket(ctx, company, id)
	if err != nil {
		return fmt.Errorf("loading the files of a ticket: %w", err)
	}
	err = t.FailMessagesOfTicket(ctx, dbgen.FailMessagesOfTicketParams{CompanyID: company, TicketID: id, Code: CodeTicketDeleted, At: t.Now()})
	if err != nil {
		return fmt.Errorf("settling the messages of a ticket: %w", err)
	}
	if _, err = t.DeleteTicket(ctx, company, id); err != nil {
		return fmt.Errorf("deleting a ticket: %w", err)
	}
	return t.EraseMedia(ctx, company, files)
}

// RemoveContact deletes a contact with its tickets, messages and files. Imports in progress do not
// bring it back. It returns [pgx.ErrNoRows] if there is no such contact.
func (t *Tx) RemoveContact(ctx context.Context, company, id int64) error {
	contact, err := t.LockContact(ctx, company, id)
	if err != nil {
		return err
	}
	files, err := t.MediaOfContact(ctx, company, id)
	if err != nil {
		return fmt.Errorf("loading the files of a contact: %w", err)
	}
	if err := t.leaveOutOfImports(ctx, contact); err != nil {
		return fmt.Errorf("leaving a contact out of imports: %w", err)
	}
	if _, err := t.DeleteContact(ctx, company, id); err != nil {
		return fmt.Errorf("deleting a contact: %w", err)
	}
	return t.EraseMedia(ctx, company, files)
}

// RemoveSchedule deletes a scheduled message that the transaction has locked, with its file.
func (t *Tx) RemoveSchedule(ctx context.Context, s Schedule) error {
	if err := t.DeleteSchedule(ctx, s.CompanyID, s.ID); err != nil {
		return fmt.Errorf("deleting a scheduled message: %w", err)
	}
	return t.EraseMedia(ctx, s.CompanyID, mediaOf(s))
}

// mediaOf returns the id of the file of a scheduled message, or none.
func mediaOf(s Schedule) []string {
	if s.MediaID == nil {
		return nil
	}
	return []string{*s.MediaID}
}
