// Package autoreply replies to contacts by itself: greetings, menus of queues, messages outside
// of opening hours, bookings by menus, answers to reminders, and the words by which contacts
// opt out. It writes to the outbox, in the transaction that stores the contact's message.
package autoreply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/appointments"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	outOfHoursPause = 12 * time.Hour  // between two out-of-hours messages to a contact
	menuPause       = 5 * time.Second // between a menu and the same one again: a wrong answer may have been written before it was read

	// A contact that is a program may reply to every reply. After maxReplies automatic
	// messages within replyWindow a ticket gets no more of them.
	maxReplies  = 30
	replyWindow = time.Hour
)

// Texts that confirm a contact's choice.
const (
	optedOutText = "Pronto: você não receberá mais mensagens. Responda VOLTAR para voltar a receber."
	optedInText  = "Pronto: você voltará a receber mensagens."
)

// Service writes automatic messages.
type Service struct {
	host         module.Host
	store        *store.Store
	outbound     *outbound.Service
	appointments *appointments.Service
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store, outboundService *outbound.Service, scheduling *appointments.Service) *Service {
	return &Service{host, s, outboundService, scheduling}
}

// Received is a message of a contact that has been stored in a ticket. The transaction has locked
// the contact and the ticket.
type Received struct {
	Company    store.Company
	Connection store.Connection
	Contact    store.Contact
	Ticket     store.Ticket
	Body       string
	QuotedID   *string   // message that it replies to; nil: none
	IsAsked    bool      // a campaign may wait for the contact's answer
	At         time.Time // when the contact wrote it
}

// Respond stores a message's answer to an open question, and writes the automatic replies to the
// message. After the commit the caller passes the entries to [Service.Send].
func (s *Service) Respond(ctx context.Context, tx *store.Tx, r Received) ([]store.OutboxEntry, error) {
	c := &responder{Received: r, service: s, tx: tx}
	campaigns, err := c.campaignQuestions(ctx)
	if err != nil {
		return nil, err
	}
	if handled, err := c.changeConsent(ctx); handled || err != nil {
		return c.entries, errors.Join(err, c.declineAll(ctx, campaigns))
	}
	quoted := c.quotedQuestion(campaigns)
	if r.Contact.AnonymizedAt == nil && r.Contact.Consent != chat.ConsentOptedOut && quoted == nil {
		if handled, err := c.handleReminderAnswer(ctx); handled || err != nil {
			return c.entries, err
		}
	}
	if err := c.handleCampaignAnswer(ctx, campaigns, quoted); err != nil {
		return nil, err
	}
	if !mayReply(r.Contact) {
		return nil, nil
	}
	isWaiting := r.Ticket.Status == chat.TicketPending && r.Ticket.UserID == nil
	if isWaiting && r.Ticket.Chatbot {
		err := c.handleMenuAnswer(ctx)
		return c.entries, err
	}
	isNew := isWaiting && r.Ticket.GreetedAt == nil && r.Ticket.QueueID == nil
	isClosed, err := c.replyOutOfHours(ctx, isNew)
	if err == nil && !isClosed && isNew {
		err = c.greet(ctx)
	}
	return c.entries, err
}

// mayReply reports whether a contact gets automatic messages.
func mayReply(contact store.Contact) bool {
	return !contact.DisableBot && contact.Consent != chat.ConsentOptedOut && contact.AnonymizedAt == nil
}

// Send sends what was written. What fails now is sent by the outbox's job.
func (s *Service) Send(ctx context.Context, scope store.Scope, entries []store.OutboxEntry) {
	for _, entry := range entries {
		if _, err := s.outbound.Send(ctx, scope, entry); err != nil {
			s.host.Log.WarnContext(ctx, "an automatic message waits in the outbox", "message_id", entry.MessageID, "error", err)
		}
	}
}

// leaveToOutbox leaves messages of a company to the job that sends connection by connection: a
// network that hangs then delays no other.
func (s *Service) leaveToOutbox(ctx context.Context, entries []store.OutboxEntry) {
	leased := slices.DeleteFunc(slices.Clone(entries), func(entry store.OutboxEntry) bool { return entry.LeasedUntil == nil })
	if err := s.outbound.Release(ctx, leased); err != nil { // their leases end by themselves
		s.host.Log.WarnContext(ctx, "automatic messages are sent later", "error", err)
	}
}

// responder handles one message: it stores what the message answers, and writes the replies.
type responder struct {
	Received
	service *Service
	tx      *store.Tx
	entries []store.OutboxEntry

	hasLaterReminder bool // an open reminder is the last that people or programs wrote
}

// isExhausted reports whether the ticket got as many automatic messages as it may.
func (c *responder) isExhausted(ctx context.Context) (bool, error) {
	written, err := c.tx.CountAutomaticMessages(ctx, dbgen.CountAutomaticMessagesParams{
		CompanyID: c.Company.ID, TicketID: c.Ticket.ID, Since: c.tx.Now().Add(-replyWindow), LookedAt: 4 * maxReplies,
	})
	if err != nil {
		return false, fmt.Errorf("counting automatic messages: %w", err)
	}
	return written >= maxReplies, nil
}

// write writes an automatic message with its variables replaced. An empty text is none, and
// a ticket that got enough of them gets no more.
func (c *responder) write(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	if exhausted, err := c.isExhausted(ctx); exhausted || err != nil {
		return err
	}
	_, entry, err := c.service.outbound.Write(ctx, c.tx, outbound.Draft{
		Contact: c.Contact, Ticket: c.Ticket, Message: store.Message{Body: c.render(text), MediaType: chat.MediaText, Origin: chat.OriginBot},
	})
	if err != nil {
		return fmt.Errorf("writing an automatic message: %w", err)
	}
	c.entries = append(c.entries, entry)
	return nil
}

func (c *responder) render(text string) string {
	return chat.Render(text, chat.Variables{
		Name: c.Contact.Name, Email: c.Contact.Email, Number: c.Contact.Number, Protocol: strconv.FormatInt(c.Ticket.ID, 10), At: c.localTime(),
	})
}

// localTime returns the time on the company's own clock.
func (c *responder) localTime() time.Time {
	return c.tx.Now().In(chat.LoadZone(c.Company.Timezone))
}

// changeConsent stores the contact's choice to get no more messages, or to get them again, and
// confirms it. A choice that is in force already is an ordinary message.
func (c *responder) changeConsent(ctx context.Context) (handled bool, err error) {
	consent, isChange := consentChange(c.Received)
	if !isChange {
		return false, nil
	}
	confirmation := optedOutText
	if consent == chat.ConsentOptedIn {
		confirmation = optedInText
	}
	err = c.tx.SetContactConsent(ctx, dbgen.SetContactConsentParams{Consent: consent, At: c.tx.Now(), CompanyID: c.Company.ID, ID: c.Contact.ID})
	if err != nil {
		return true, fmt.Errorf("storing a contact's consent: %w", err)
	}
	if c.Ticket.Chatbot { // the menu has its answer
		c.Ticket.Chatbot = false
		if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
			return true, fmt.Errorf("ending a menu: %w", err)
		}
	}
	return true, c.write(ctx, confirmation)
}

// consentChange returns the consent that a message asks for, and whether that differs from the stored one.
func consentChange(r Received) (consent string, isChange bool) {
	switch consent = chat.ConsentOf(r.Body, r.Company.OptOutWords); consent {
	case "", r.Contact.Consent:
		return consent, false
	case chat.ConsentOptedIn:
		return consent, r.Contact.Consent == chat.ConsentOptedOut
	}
	return consent, true
}

// replyOutOfHours writes the out-of-hours message, once in twelve hours, while the ticket's
// queue or else the company is closed. Without such a message being closed has no effect. A new
// ticket is put in the connection's only queue where that has hours of its own.
func (c *responder) replyOutOfHours(ctx context.Context, isNew bool) (isClosed bool, err error) {
	queue, err := c.queueOfHours(ctx)
	if err != nil {
		return false, err
	}
	isClosed, err = c.replyIfClosed(ctx, queue)
	if err != nil || !isClosed || !isNew || queue == nil || !hasHours(*queue) {
		return isClosed, err
	}
	c.Ticket.QueueID = &queue.ID
	if err := c.tx.SaveTicketMenu(ctx, c.Ticket); err != nil {
		return true, fmt.Errorf("putting a ticket in its queue: %w", err)
	}
	return true, nil
}

// queueOfHours returns the queue whose opening hours count: the ticket's, else the
// connection's only one; nil: the company's count.
func (c *responder) queueOfHours(ctx context.Context) (*store.Queue, error) {
	if c.Ticket.QueueID != nil {
		row, err := c.tx.Queue(ctx, c.Company.ID, *c.Ticket.QueueID)
		if err != nil {
			return nil, fmt.Errorf("loading the ticket's queue: %w", err)
		}
		return &row, nil
	}
	return onlyQueue(ctx, c.tx, c.Connection)
}

// onlyQueue returns the queue of a connection that has exactly one, else nil.
func onlyQueue(ctx context.Context, tx *store.Tx, connection store.Connection) (*store.Queue, error) {
	queues, err := tx.ListQueuesOfConnection(ctx, connection.CompanyID, connection.ID)
	if err != nil {
		return nil, fmt.Errorf("loading the connection's queues: %w", err)
	}
	if len(queues) != 1 {
		return nil, nil
	}
	return &queues[0], nil
}

// replyIfClosed writes the out-of-hours message of a queue, or of the company where queue is nil,
// if it is closed and the contact has not got one for twelve hours.
func (c *responder) replyIfClosed(ctx context.Context, queue *store.Queue) (isClosed bool, err error) {
	hours, text := outOfHours(c.Company, c.Connection, queue)
	if text == "" {
		return false, nil
	}
	var opening []chat.OpeningHours
	if err := json.Unmarshal(hours, &opening); err != nil {
		return false, fmt.Errorf("decoding opening hours: %w", err)
	}
	if chat.IsOpen(opening, c.localTime()) {
		return false, nil
	}
	if last := c.Contact.OutOfHoursAt; last != nil && c.tx.Now().Sub(*last) < outOfHoursPause {
		return true, nil
	}
	if err := c.tx.SetContactOutOfHours(ctx, c.tx.Now(), c.Company.ID, c.Contact.ID); err != nil {
		return true, fmt.Errorf("storing an out-of-hours message: %w", err)
	}
	return true, c.write(ctx, text)
}

// outOfHours returns the opening hours that count, as the JSON array of `schedules` (the queue's
// own, else the company's), and the text for contacts outside of them; "" for none.
func outOfHours(company store.Company, connection store.Connection, queue *store.Queue) (hours []byte, text string) {
	hours, text = company.Schedules, connection.OutOfHoursMessage
	if queue != nil {
		if hasHours(*queue) {
			hours = queue.Schedules
		}
		if queue.OutOfHoursMessage != "" {
			text = queue.OutOfHoursMessage
		}
	}
	return hours, text
}

// hasHours reports whether a queue has opening hours of its own.
func hasHours(queue store.Queue) bool { return string(queue.Schedules) != "[]" }
