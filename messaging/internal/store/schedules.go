package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

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

// ClaimSchedule locks the scheduled message that has been due for the longest time and that no
// other process holds. found is false where there is none.
func (t *Tx) ClaimSchedule(ctx context.Context) (s Schedule, found bool, err error) {
	s, err = t.ClaimDueSchedule(ctx, t.Now())
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, nil
	}
	return s, err == nil, err
}
