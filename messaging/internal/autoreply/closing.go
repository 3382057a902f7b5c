package autoreply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	ratingTime = 24 * time.Hour // after the question
	batchSize  = 100            // tickets that one run of a job changes at once
)

// WriteFarewell writes the farewell and the question for a rating of a ticket that a user has closed.
// After the commit the caller passes the entries to [Service.Send].
func (s *Service) WriteFarewell(ctx context.Context, tx *store.Tx, ticket store.Ticket) ([]store.OutboxEntry, error) {
	c, err := s.responderOf(ctx, tx, ticket)
	if c == nil || err != nil {
		return nil, err
	}
	if err := c.write(ctx, c.Connection.FarewellMessage); err != nil {
		return nil, err
	}
	if c.Connection.RatingMessage == "" {
		return c.entries, nil
	}
	if err := tx.SetRatingAsked(ctx, tx.Now(), ticket.CompanyID, ticket.ID); err != nil {
		return nil, fmt.Errorf("asking for a rating: %w", err)
	}
	return c.entries, c.write(ctx, c.Connection.RatingMessage)
}

// responderOf returns the responder of a ticket, or nil where its contact gets no
// automatic messages or its connection is not connected.
func (s *Service) responderOf(ctx context.Context, tx *store.Tx, ticket store.Ticket) (*responder, error) {
	if ticket.ConnectionID == nil {
		return nil, nil
	}
	c := &responder{Received: Received{Ticket: ticket}, service: s, tx: tx}
	var err error
	if c.Connection, err = tx.Connection(ctx, ticket.CompanyID, *ticket.ConnectionID); err != nil {
		return nil, fmt.Errorf("loading the ticket's connection: %w", err)
	}
	if c.Contact, err = tx.Contact(ctx, ticket.CompanyID, ticket.ContactID); err != nil {
		return nil, fmt.Errorf("loading the ticket's contact: %w", err)
	}
	if c.Company, err = tx.Company(ctx, ticket.CompanyID); err != nil {
		return nil, fmt.Errorf("loading the company: %w", err)
	}
	isReachable := c.Connection.Status == chat.ConnectionConnected || c.Connection.Status == chat.ConnectionTimeout
	if !isReachable || !mayReply(c.Contact) {
		return nil, nil
	}
	return c, nil
}

// StoreRating stores the rating that a message is, and returns the ticket that it
// belongs to: a closed one, or one that waits again. It returns nil for any other message. The transaction has locked the contact.
func (s *Service) StoreRating(ctx context.Context, tx *store.Tx, contact store.Contact, connection int64, body string) (*store.Ticket, error) {
	rating, ok := chat.ParseRating(body)
	if !ok {
		return nil, nil
	}
	ticket, err := tx.TicketToRate(ctx, dbgen.TicketToRateParams{
		CompanyID: contact.CompanyID, ContactID: contact.ID, ConnectionID: connection, Since: tx.Now().Add(-ratingTime),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for a ticket to rate: %w", err)
	}
	err = tx.SetTicketRating(ctx, dbgen.SetTicketRatingParams{CompanyID: ticket.CompanyID, ID: ticket.ID, Rating: rating, At: tx.Now()})
	return &ticket, err
}

// companyUpdate changes some tickets of the companies that have any.
type companyUpdate struct {
	companies func(ctx context.Context, excluded []int64, at time.Time) ([]int64, error)
	apply     func(ctx context.Context, company int64) (changed int, err error) // at most batchSize tickets
}

// TransferAndCloseWaiting is a background job: it moves tickets that nobody accepted to their
// connection's transfer queue, and closes those whose contact is inactive.
func (s *Service) TransferAndCloseWaiting(ctx context.Context, _ []byte) error {
	var failed []error
	for _, update := range []companyUpdate{{s.store.CompaniesWithTicketsToTransfer, s.transferTickets}, {s.store.CompaniesWithInactiveTickets, s.expireTickets}} {
		failed = append(failed, s.updateInTurns(ctx, update))
	}
	return errors.Join(failed...)
}

// updateInTurns goes in rounds: in each, every company has one batch of its tickets changed, so that
// a company with many does not hold up the others. A company that fails waits for the next run.
func (s *Service) updateInTurns(ctx context.Context, update companyUpdate) error {
	var failed []error
	for done := []int64{}; ctx.Err() == nil; {
		companies, err := update.companies(ctx, done, s.host.Now())
		if err != nil {
			return errors.Join(append(failed, fmt.Errorf("finding companies with waiting tickets: %w", err))...)
		}
		if len(companies) == 0 {
			break
		}
		for _, company := range companies {
			changed, err := update.apply(ctx, company)
			if err != nil {
				failed = append(failed, fmt.Errorf("company %d: %w", company, err))
			}
			if changed < batchSize {
				done = append(done, company)
			}
		}
	}
	return errors.Join(append(failed, ctx.Err())...)
}

// transferTickets moves some tickets of a company to their transfer queues and returns how many.
func (s *Service) transferTickets(ctx context.Context, company int64) (transferred int, err error) {
	err = s.store.InTx(ctx, "transferring tickets", func(tx *store.Tx) error {
		rows, err := tx.TicketsToTransfer(ctx, company, tx.Now(), batchSize)
		if err != nil {
			return err
		}
		transferred = len(rows)
		for _, row := range rows {
			row.Ticket.QueueID, row.Ticket.Chatbot = &row.TransferQueueID, false
			if err := tx.SaveTicketMenu(ctx, row.Ticket); err != nil {
				return fmt.Errorf("transferring a ticket: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return transferred, nil
}

// expireTickets closes some tickets of inactive contacts of a company and returns how many.
func (s *Service) expireTickets(ctx context.Context, companyID int64) (closed int, err error) {
	var written [][]store.OutboxEntry
	err = s.store.InTx(ctx, "closing tickets of inactive contacts", func(tx *store.Tx) error {
		written = nil
		tickets, err := tx.InactiveTickets(ctx, companyID, tx.Now(), batchSize)
		if err != nil {
			return err
		}
		closed = len(tickets)
		for _, ticket := range tickets {
			company, err := tx.Company(ctx, ticket.CompanyID)
			if err != nil {
				return fmt.Errorf("loading the company: %w", err)
			}
			scope := store.Scope{Company: company.ID, Tenant: company.TenantID}
			c, err := s.responderOf(ctx, tx, ticket)
			if err != nil {
				return err
			}
			if c != nil {
				if err := c.write(ctx, c.Connection.ExpiresInactiveMessage); err != nil {
					return err
				}
				written = append(written, c.entries)
			}
			earlier := ticket.Status
			ticket.Status = chat.TicketClosed
			if _, err := tx.SaveTicket(ctx, scope, earlier, ticket); err != nil {
				return fmt.Errorf("closing a ticket: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, entries := range written {
		s.leaveToOutbox(ctx, entries)
	}
	return closed, nil
}
