package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// Schedule is a row of messaging.schedules.
type Schedule = dbgen.Schedule

// States of scheduled messages.
const (
	SchedulePending = "pending"
	ScheduleQueued  = "queued" // in the outbox
	ScheduleSent    = "sent"
	ScheduleError   = "error"
)

// ScheduleFilter selects scheduled messages. Zero members select everything.
type ScheduleFilter struct {
	UserID, ContactID *int64
	Status, Search    string
	Page
}

// ListSchedules returns a page of a company's scheduled messages, the latest first, and how
// many there are on all pages.
func (s *Store) ListSchedules(ctx context.Context, company int64, f ScheduleFilter) ([]Schedule, int, error) {
	count, err := s.ScheduleCount(ctx, dbgen.ScheduleCountParams{CompanyID: company, UserID: f.UserID, ContactID: f.ContactID, Status: f.Status, Search: f.Search})
	if err != nil {
		return nil, 0, fmt.Errorf("counting scheduled messages: %w", err)
	}
	rows, err := s.SchedulesPage(ctx, dbgen.SchedulesPageParams{
		CompanyID: company, UserID: f.UserID, ContactID: f.ContactID, Status: f.Status, Search: f.Search, Skip: f.Offset, MaxRows: f.Limit,
	})
	return rows, int(count), err
}

// CreateSchedule inserts a scheduled message. It sets the id, the state and the times.
func (t *Tx) CreateSchedule(ctx context.Context, s Schedule) (Schedule, error) {
	return t.InsertSchedule(ctx, dbgen.InsertScheduleParams{
		CompanyID: s.CompanyID, ContactID: s.ContactID, TicketID: s.TicketID, UserID: s.UserID, ConnectionID: s.ConnectionID, Body: s.Body,
		MediaID: s.MediaID, SendAt: s.SendAt, Template: s.Template, CreatedAt: t.Now(),
	})
}

// SaveSchedule stores a scheduled message that the transaction has locked.
func (t *Tx) SaveSchedule(ctx context.Context, s Schedule) (Schedule, error) {
	return t.UpdateSchedule(ctx, dbgen.UpdateScheduleParams{
		CompanyID: s.CompanyID, ID: s.ID, ContactID: s.ContactID, TicketID: s.TicketID, ConnectionID: s.ConnectionID, Body: s.Body, MediaID: s.MediaID,
		SendAt: s.SendAt, Status: s.Status, MessageID: s.MessageID, Attempts: s.Attempts, Error: s.Error, SentAt: s.SentAt, Template: s.Template, UpdatedAt: t.Now(),
	})
}

// ScheduledMessage is the message of a schedule that the transaction has claimed.
type ScheduledMessage struct {
	Schedule   int64
	Ticket     int64 // locked
	Connection int64
	Body       string
	Template   *chat.Template // nil: none
}

// AddScheduledMessages stores messages in their tickets and adds them to the outbox, in their
// order. No process has leased them. It takes as many statements as one message.
func (t *Tx) AddScheduledMessages(ctx context.Context, company int64, messages []ScheduledMessage) error {
	if len(messages) == 0 {
		return nil
	}
	inserted := dbgen.InsertScheduledMessagesParams{CompanyID: company, At: t.Now()}
	for _, message := range messages {
		template := ""
		if message.Template != nil {
			encoded, err := json.Marshal(message.Template)
			if err != nil {
				return fmt.Errorf("encoding a template: %w", err)
			}
			template = string(encoded)
		}
		inserted.Schedules, inserted.MessageIds = append(inserted.Schedules, message.Schedule), append(inserted.MessageIds, NewMessageID())
		inserted.Tickets, inserted.Connections = append(inserted.Tickets, message.Ticket), append(inserted.Connections, message.Connection)
		inserted.Bodies, inserted.Templates = append(inserted.Bodies, message.Body), append(inserted.Templates, template)
	}
	stored, err := t.InsertScheduledMessages(ctx, inserted)
	if err != nil {
		return fmt.Errorf("storing %d scheduled messages: %w", len(messages), err)
	}
	if err := t.AddSentToTickets(ctx, lastMessages(company, t.Now(), stored)); err != nil {
		return fmt.Errorf("adding scheduled messages to tickets: %w", err)
	}
	if err := t.InsertWaitingMessages(ctx, t.Now(), company, inserted.MessageIds); err != nil {
		return fmt.Errorf("adding scheduled messages to the outbox: %w", err)
	}
	err = t.QueueSchedules(ctx, dbgen.QueueSchedulesParams{At: t.Now(), CompanyID: company, Schedules: inserted.Schedules, MessageIds: inserted.MessageIds, Tickets: inserted.Tickets})
	if err != nil {
		return fmt.Errorf("storing the states of scheduled messages: %w", err)
	}
	return nil
}

// lastMessages returns what lists of tickets show of stored messages.
func lastMessages(company int64, at time.Time, stored []Message) dbgen.AddSentToTicketsParams {
	last := make(map[int64]Message, len(stored))
	for _, message := range stored {
		if known, ok := last[*message.TicketID]; !ok || known.Seq < message.Seq {
			last[*message.TicketID] = message
		}
	}
	params := dbgen.AddSentToTicketsParams{CompanyID: company, At: at}
	for ticket, message := range last {
		params.Tickets, params.LastMessages = append(params.Tickets, ticket), append(params.LastMessages, chat.Truncate(preview(message), maxPreview))
	}
	return params
}
