package autoreply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/messaging/internal/appointments"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	maxCalls      = 16               // calls at once, each of another company
	callPoll      = time.Second      // between two looks for calls while others are being made
	callRunTime   = 3 * time.Minute  // of the job, in which calls begin
	callLease     = time.Minute      // longer than the calls of one step
	callGiveUp    = 2 * time.Minute  // after the contact's answer; then users take over
	firstCallWait = 2 * time.Second  // after a failure; doubles …
	maxCallWait   = 30 * time.Second // … up to this
)

// CallScheduling is a background job: it makes the calls to scheduling products that contacts'
// answers ask for, and answers the contacts. Calls begin as others end: a product that is slow, or
// fails, delays its own company only.
func (s *Service) CallScheduling(ctx context.Context, _ []byte) error {
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(callPoll)
	defer tick.Stop()
	finished, busy := make(chan struct{}, maxCalls), 0
	for end := time.Now().Add(callRunTime); ; {
		var calls []store.AppointmentCall
		if busy < maxCalls && time.Now().Before(end) {
			var err error
			now := s.host.Now()
			if calls, err = s.store.ClaimAppointmentCalls(ctx, now.Add(callLease), now, maxCalls-busy); err != nil {
				return err
			}
		}
		for _, call := range calls {
			running.Go(func() {
				if err := s.runCall(ctx, call); err != nil { // its lease ends, and another run makes it
					s.host.Log.WarnContext(ctx, "a call to the scheduling product waits", "company_id", call.CompanyID, "error", err)
				}
				finished <- struct{}{}
			})
		}
		if busy += len(calls); busy == 0 {
			return nil
		}
		select {
		case <-finished:
			busy--
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runCall does what one row asks for. A row whose chat was erased no longer exists.
func (s *Service) runCall(ctx context.Context, call store.AppointmentCall) error {
	company, err := s.store.Company(ctx, call.CompanyID)
	if err != nil {
		return fmt.Errorf("loading the company: %w", err)
	}
	run := &callRun{service: s, call: call, company: company, scope: store.Scope{Company: company.ID, Tenant: company.TenantID}}
	if call.QuestionID != nil {
		err = run.answerQuestion(ctx)
	} else {
		err = run.continueBooking(ctx)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		s.Send(ctx, run.scope, run.entries)
	}
	return err
}

// callRun is the work on one row.
type callRun struct {
	service *Service
	call    store.AppointmentCall
	company store.Company
	scope   store.Scope
	entries []store.OutboxEntry
}

// postpone stores that a call is made again, unless it has failed for too long: then
// postponed is false.
func (r *callRun) postpone(ctx context.Context, cause error) (postponed bool, err error) {
	now := r.service.host.Now()
	if !appointments.IsTemporary(cause) || now.Sub(r.call.CreatedAt) >= callGiveUp {
		r.service.host.Log.WarnContext(ctx, "calling the scheduling product failed; users take over", "company_id", r.scope.Company, "error", cause)
		return false, nil
	}
	wait := firstCallWait
	for range r.call.Attempts - 1 {
		wait = min(2*wait, maxCallWait)
	}
	var problem *hub.Error
	if errors.As(cause, &problem) {
		wait = max(wait, problem.RetryAfter)
	}
	return true, r.service.store.PostponeAppointmentCall(ctx, now.Add(wait), r.scope.Company, r.call.ID)
}

// settle stores the result of a call in a transaction that has locked the contact and the ticket.
func (r *callRun) settle(ctx context.Context, contactID int64, find func(tx *store.Tx, contact store.Contact) (store.Ticket, error), work func(c *responder) error) error {
	return r.service.store.InTx(ctx, "storing the response of a scheduling product", func(tx *store.Tx) error {
		contact, err := tx.LockContact(ctx, r.scope.Company, contactID)
		if err != nil {
			return err
		}
		ticket, err := find(tx, contact)
		if err != nil {
			return err
		}
		c := &responder{Received: Received{Company: r.company, Contact: contact, Ticket: ticket, At: tx.Now()}, service: r.service, tx: tx}
		if ticket.ConnectionID == nil {
			return tx.DeleteBookingChat(ctx, r.scope.Company, ticket.ID)
		}
		if c.Connection, err = tx.Connection(ctx, r.scope.Company, *ticket.ConnectionID); err != nil {
			return fmt.Errorf("loading the ticket's connection: %w", err)
		}
		if err := work(c); err != nil {
			return err
		}
		r.entries = c.entries
		deleted, err := tx.DeleteAppointmentCall(ctx, r.scope.Company, r.call.ID, r.call.Attempts)
		if err == nil && deleted == 0 { // the contact has answered once more
			err = tx.PostponeAppointmentCall(ctx, tx.Now(), r.scope.Company, r.call.ID)
		}
		return err
	})
}

// answerQuestion confirms or cancels the appointment of a question.
func (r *callRun) answerQuestion(ctx context.Context) error {
	s := r.service
	question, err := s.store.AppointmentQuestion(ctx, r.scope.Company, *r.call.QuestionID)
	if err != nil {
		return err
	}
	contact, err := s.store.Contact(ctx, r.scope.Company, question.ContactID)
	if err != nil {
		return err
	}
	texts := chat.TextsOf(question.Locale)
	change := appointments.AppointmentRef{AppointmentID: question.AppointmentID, Phone: chat.FormatE164(contact.Number)}
	status, text := store.QuestionConfirmed, fmt.Sprintf(texts.Confirmed, question.Title)
	switch question.Status {
	case store.QuestionConfirming:
		err = s.appointments.Confirm(ctx, question.IntegrationID, change)
	case store.QuestionCancelling:
		status, text = store.QuestionCancelled, fmt.Sprintf(texts.Cancelled, question.Title)
		err = s.appointments.Cancel(ctx, question.IntegrationID, change)
	}
	switch {
	case err == nil:
	case errors.Is(err, appointments.ErrTooLate):
		status, text = store.QuestionFailed, texts.TooLate
	case errors.Is(err, appointments.ErrNotOpen):
		status, text = store.QuestionFailed, texts.NotPossible
	default:
		if postponed, err := r.postpone(ctx, err); postponed || err != nil {
			return err
		}
		status, text = store.QuestionFailed, texts.PeopleHelp
	}
	find := func(tx *store.Tx, contact store.Contact) (store.Ticket, error) {
		return tx.FindOrCreateTicket(ctx, r.scope, contact, question.ConnectionID, store.NewTicket{Status: chat.TicketPending, Reopens: true})
	}
	return r.settle(ctx, question.ContactID, find, func(c *responder) error {
		locked, err := c.tx.LockAppointmentQuestion(ctx, question.CompanyID, question.ID)
		if err != nil || locked.Status != question.Status { // the contact has changed its mind
			return err
		}
		err = c.tx.SetAppointmentQuestionStatus(ctx, dbgen.SetAppointmentQuestionStatusParams{Status: status, CompanyID: question.CompanyID, ID: question.ID})
		if err != nil {
			return fmt.Errorf("storing a question's status: %w", err)
		}
		if status != store.QuestionFailed {
			if err := c.tx.DecrementUnread(ctx, question.CompanyID, c.Ticket.ID); err != nil {
				return fmt.Errorf("marking an answer read: %w", err)
			}
		}
		if c.Contact.Consent == chat.ConsentOptedOut {
			return nil
		}
		return c.write(ctx, text)
	})
}

// writeNote writes a note to the company's users in the ticket.
func (c *responder) writeNote(ctx context.Context, text string) error {
	_, err := c.tx.AddMessage(ctx, c.Ticket, store.Message{Body: text, FromMe: true, IsPrivate: true, MediaType: chat.MediaText, Origin: chat.OriginBot, SentAt: c.tx.Now()})
	return err
}
