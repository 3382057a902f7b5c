package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

type (
	// AppointmentQuestion is the question of a reminder whether an appointment takes place.
	AppointmentQuestion = dbgen.AppointmentQuestion
	// AppointmentCall is a call to the scheduling product that waits.
	AppointmentCall = dbgen.AppointmentCall
)

// States of questions.
const (
	QuestionOpen       = "open"
	QuestionConfirming = "confirming" // the scheduling product is called
	QuestionCancelling = "cancelling" // the scheduling product is called
	QuestionConfirmed  = "confirmed"
	QuestionCancelled  = "cancelled"
	QuestionFailed     = "failed" // people answer
)

// NewQuestion is the question that a reminder asks.
type NewQuestion struct {
	Connection    int64
	MessageID     string // the reminder
	Integration   uuid.UUID
	AppointmentID string
	Title         string // service and time, for people
	Locale        string
	ExpiresAt     time.Time
}

// NextQuestionOption returns the number by which a contact confirms an appointment that it is
// asked about now: that of an earlier question about the same appointment, which it replaces,
// else one that no open question has. The transaction has locked the contact.
func (t *Tx) NextQuestionOption(ctx context.Context, contact Contact, q NewQuestion) (int, error) {
	replaced, err := t.ReplaceAppointmentQuestions(ctx, dbgen.ReplaceAppointmentQuestionsParams{
		CompanyID: contact.CompanyID, ContactID: contact.ID, IntegrationID: q.Integration, AppointmentID: q.AppointmentID,
	})
	if err != nil {
		return 0, fmt.Errorf("replacing an earlier question: %w", err)
	}
	if len(replaced) > 0 {
		return replaced[0], nil
	}
	rows, err := t.AppointmentQuestionsOfContact(ctx, dbgen.AppointmentQuestionsOfContactParams{CompanyID: contact.CompanyID, ContactID: contact.ID, ConnectionID: q.Connection, Since: t.Now()})
	if err != nil {
		return 0, fmt.Errorf("loading a contact's questions: %w", err)
	}
	var taken []int
	for _, row := range rows {
		if row.AppointmentQuestion.Status != QuestionCancelled {
			taken = append(taken, row.AppointmentQuestion.FirstOption)
		}
	}
	return chat.FreeOption(taken), nil
}

// AddQuestion stores the question of a message that the transaction has written.
func (t *Tx) AddQuestion(ctx context.Context, contact Contact, q NewQuestion, firstOption int) error {
	_, err := t.InsertAppointmentQuestion(ctx, dbgen.InsertAppointmentQuestionParams{
		CompanyID: contact.CompanyID, ContactID: contact.ID, ConnectionID: q.Connection, MessageID: q.MessageID, IntegrationID: q.Integration,
		AppointmentID: q.AppointmentID, Title: q.Title, Locale: q.Locale, FirstOption: firstOption, AskedAt: t.Now(), ExpiresAt: q.ExpiresAt,
	})
	return err
}

// Steps of a booking in a chat. The job does those that load or book; in the others the
// contact chooses.
const (
	BookingLoadServices  = "load_services"
	BookingChooseService = "choose_service"
	BookingLoadTimes     = "load_times"
	BookingChooseTime    = "choose_time"
	BookingBook          = "book"
)

// BookingState is what a contact has chosen so far, and what it can choose from.
type BookingState struct {
	Integration   uuid.UUID      `json:"integration"`
	WantedService string         `json:"wanted_service,omitempty"` // name or id by the queue's menu; "" = the contact chooses
	ServiceID     string         `json:"service_id,omitempty"`
	Service       string         `json:"service,omitempty"`
	Locale        string         `json:"locale,omitempty"`
	Notice        string         `json:"notice,omitempty"` // what the next menu begins with
	Offers        []BookingOffer `json:"offers,omitempty"`
	More          bool           `json:"more,omitempty"`      // later times can be asked for
	After         time.Time      `json:"after,omitzero"`      // only later times are offered
	Chosen        *BookingOffer  `json:"chosen,omitempty"`    // the time to book
	SourceID      string         `json:"source_id,omitempty"` // makes booking it repeatable
}

// BookingOffer is a service or a time that a contact can choose.
type BookingOffer struct {
	Title          string    `json:"title"`
	ServiceID      string    `json:"service_id,omitempty"`
	StartAt        time.Time `json:"start_at,omitzero"`
	ProfessionalID string    `json:"professional_id,omitempty"`
}

// BookingChat is a booking in a chat.
type BookingChat struct {
	Ticket    int64
	Step      string
	State     BookingState
	StartedAt time.Time // of the step
}

// LoadBookingChat returns the booking of a ticket, or [pgx.ErrNoRows].
func LoadBookingChat(ctx context.Context, queries *dbgen.Queries, company, ticket int64) (BookingChat, error) {
	row, err := queries.BookingChat(ctx, company, ticket)
	if err != nil {
		return BookingChat{}, err
	}
	booking := BookingChat{Ticket: ticket, Step: row.Step, StartedAt: row.StartedAt}
	if err := json.Unmarshal(row.State, &booking.State); err != nil {
		return booking, fmt.Errorf("decoding a booking: %w", err)
	}
	return booking, nil
}

// StoreBookingChat stores the step of a booking. The transaction has locked the ticket.
func (t *Tx) StoreBookingChat(ctx context.Context, company int64, booking BookingChat) error {
	state, err := json.Marshal(booking.State)
	if err != nil {
		return fmt.Errorf("encoding a booking: %w", err)
	}
	return t.SaveBookingChat(ctx, dbgen.SaveBookingChatParams{CompanyID: company, TicketID: booking.Ticket, Step: booking.Step, State: state, StartedAt: t.Now()})
}

// DeleteOldQuestions is a background job: it deletes questions that expired a month ago.
func (s *Store) DeleteOldQuestions(ctx context.Context, _ []byte) error {
	return s.DeleteOldAppointmentQuestions(ctx, s.host.Now().Add(-30*24*time.Hour))
}
