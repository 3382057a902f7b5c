package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/module/rest"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

// AppointmentQuestion is the appointment that a message asks about.
type AppointmentQuestion struct {
	ID     string    `json:"id" minLength:"1" maxLength:"200" doc:"As the connected product calls it, which is called with action/confirm or action/cancel" example:"0198c1de-0000-7000-8000-000000000001"`
	Title  string    `json:"title" maxLength:"200" doc:"Service and time, for the answers" example:"Cut, seg 02/03 às 09:00"`
	Locale string    `json:"locale" maxLength:"35" doc:"Language of the question and the answers: pt, en or es; others are pt" example:"pt-BR"`
	Until  time.Time `json:"until" doc:"When answers are too late: the start of the appointment" example:"2026-03-02T12:00:00Z"`
}

const (
	maxQuestion = 100                  // characters that a question adds to a message
	maxAhead    = 366 * 24 * time.Hour // of a question's end
)

// check adds what is wrong with the question of a request; nil is no question.
func (q *AppointmentQuestion) check(errs *rest.FieldErrors, from sendCaller, text string, now time.Time) {
	if q == nil {
		return
	}
	errs.Check(from.integration != uuid.Nil, "body.appointment", "is for keys of connected products only")
	errs.CheckLength(q.ID, "body.appointment.id", 1, 200)
	errs.CheckLength(q.Title, "body.appointment.title", 0, 200)
	errs.CheckLength(q.Locale, "body.appointment.locale", 0, 35)
	errs.Check(q.Until.After(now) && q.Until.Before(now.Add(maxAhead)), "body.appointment.until", "must lie in the future, within a year")
	errs.Check(len([]rune(text)) <= maxBody-maxQuestion, "body.body", "must have at most 3996 characters with a question")
}

// writeSent writes the message of a request, with its question.
func (a *API) writeSent(ctx context.Context, tx *store.Tx, from sendCaller, asked *AppointmentQuestion, d outbound.Draft) (message store.Message, entry store.OutboxEntry, err error) {
	question, option := store.NewQuestion{}, 0
	if asked != nil {
		question = store.NewQuestion{
			Connection: *d.Ticket.ConnectionID, MessageID: d.Message.ID, Integration: from.integration, AppointmentID: asked.ID, Title: asked.Title, Locale: asked.Locale, ExpiresAt: asked.Until,
		}
		if option, err = tx.NextQuestionOption(ctx, d.Contact, question); err != nil {
			return message, entry, err
		}
		d.Message.Body += "\n\n" + chat.AppointmentQuestion{Locale: asked.Locale, FirstOption: option}.FormatQuestion()
	}
	if message, entry, err = a.outbound.Write(ctx, tx, d); err != nil || asked == nil {
		return message, entry, err
	}
	return message, entry, tx.AddQuestion(ctx, d.Contact, question, option)
}
