package autoreply

import (
	"context"
	"fmt"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

// handleReminderAnswer applies a message that answers the question of a reminder: by one of its
// numbers, as a reply to it, or in a word where it is the only open one. After other messages
// of people or programs, and after a later menu, a number is no answer.
func (c *responder) handleReminderAnswer(ctx context.Context) (handled bool, err error) {
	rows, err := c.tx.AppointmentQuestionsOfContact(ctx, dbgen.AppointmentQuestionsOfContactParams{
		CompanyID: c.Company.ID, ContactID: c.Contact.ID, ConnectionID: c.Connection.ID, Since: c.tx.Now().Add(-store.LateAnswerTime),
	})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	var named, worded []store.AppointmentQuestion // the newest first
	for _, row := range rows {
		question := row.AppointmentQuestion
		if question.Status == store.QuestionOpen && !row.Interrupted && c.tx.Now().Before(question.ExpiresAt) {
			c.hasLaterReminder = true
		}
		answer, byNumber := ruleOf(question).Answer(c.Body)
		if answer == chat.NoAnswer {
			continue
		}
		if c.QuotedID != nil && *c.QuotedID == question.MessageID {
			return c.applyAnswer(ctx, question, answer)
		}
		hasLaterMenu := c.Ticket.Chatbot && c.Ticket.MenuSentAt != nil && c.Ticket.MenuSentAt.After(question.AskedAt)
		switch {
		case row.Interrupted || hasLaterMenu:
		case byNumber:
			named = append(named, question)
		default:
			worded = append(worded, question)
		}
	}
	if open := c.openQuestions(worded); len(named) == 0 && len(open) > 1 {
		rules := make([]chat.AppointmentQuestion, len(open))
		for i, question := range open {
			rules[i] = ruleOf(question)
		}
		return true, c.write(ctx, chat.AskWhich(rules))
	}
	candidates := append(named, worded...)
	if len(candidates) == 0 {
		return false, nil
	}
	question := candidates[0]
	if open := c.openQuestions(candidates); len(open) > 0 {
		question = open[0]
	}
	answer, _ := ruleOf(question).Answer(c.Body)
	return c.applyAnswer(ctx, question, answer)
}

// openQuestions returns the questions that were not answered for good and are not expired.
func (c *responder) openQuestions(list []store.AppointmentQuestion) (open []store.AppointmentQuestion) {
	for _, question := range list {
		if question.Status != store.QuestionCancelled && c.tx.Now().Before(question.ExpiresAt) {
			open = append(open, question)
		}
	}
	return open
}

func ruleOf(q store.AppointmentQuestion) chat.AppointmentQuestion {
	return chat.AppointmentQuestion{Title: q.Title, Locale: q.Locale, FirstOption: q.FirstOption}
}

// applyAnswer stores an answer for the job that calls the scheduling product, or answers what
// needs no call.
func (c *responder) applyAnswer(ctx context.Context, q store.AppointmentQuestion, answer chat.AppointmentAnswer) (handled bool, err error) {
	texts := chat.TextsOf(q.Locale)
	wanted, done := store.QuestionConfirming, store.QuestionConfirmed
	if answer == chat.AnswerCancel {
		wanted, done = store.QuestionCancelling, store.QuestionCancelled
	}
	switch {
	case !c.tx.Now().Before(q.ExpiresAt):
		if q.Status != store.QuestionOpen {
			return false, nil
		}
		return true, c.write(ctx, texts.TooLate) // people read the message
	case q.Status == wanted:
		return true, nil // it is being done
	case q.Status == done:
		text := texts.AlreadyConfirmed
		if answer == chat.AnswerCancel {
			text = texts.AlreadyCancelled
		}
		if err := c.tx.DecrementUnread(ctx, c.Company.ID, c.Ticket.ID); err != nil {
			return true, fmt.Errorf("marking an answer read: %w", err)
		}
		return true, c.write(ctx, fmt.Sprintf(text, q.Title))
	case q.Status == store.QuestionCancelled:
		return true, c.write(ctx, texts.WasCancelled)
	}
	now := c.tx.Now()
	err = c.tx.SetAppointmentQuestionStatus(ctx, dbgen.SetAppointmentQuestionStatusParams{Status: wanted, AnsweredAt: &now, CompanyID: q.CompanyID, ID: q.ID})
	if err == nil {
		err = c.tx.EnqueueQuestionCall(ctx, q.CompanyID, q.ID, now)
	}
	if err != nil {
		return true, fmt.Errorf("storing the answer to a reminder: %w", err)
	}
	return true, nil
}
