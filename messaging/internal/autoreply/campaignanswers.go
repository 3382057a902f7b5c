package autoreply

import (
	"context"
	"errors"
	"fmt"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// campaignQuestions returns the questions of campaigns that the contact has not answered, the
// newest first.
func (c *responder) campaignQuestions(ctx context.Context) ([]store.CampaignQuestion, error) {
	if !c.IsAsked {
		return nil, nil
	}
	questions, err := c.tx.CampaignQuestions(ctx, c.Company.ID, c.Contact.ID, c.Connection.ID)
	if err != nil {
		return nil, fmt.Errorf("loading campaigns' questions: %w", err)
	}
	return questions, nil
}

// quotedQuestion returns the question that the message replies to, or nil.
func (c *responder) quotedQuestion(questions []store.CampaignQuestion) *store.CampaignQuestion {
	for i, question := range questions {
		if c.QuotedID != nil && *c.QuotedID == question.MessageID {
			return &questions[i]
		}
	}
	return nil
}

// handleCampaignAnswer stores the answer to the question that the message replies to, else to the
// newest one. After a reminder that is open, only a refusal answers it: what else the contact
// writes may be about the appointment.
func (c *responder) handleCampaignAnswer(ctx context.Context, questions []store.CampaignQuestion, quoted *store.CampaignQuestion) error {
	declines := chat.Declines(c.Body, c.Company.OptOutWords)
	switch {
	case len(questions) == 0:
		return nil
	case quoted != nil:
	case c.hasLaterReminder && !declines:
		return nil
	default:
		quoted = &questions[0]
	}
	return c.tx.AnswerCampaign(ctx, c.Contact, quoted.CampaignID, declines)
}

// declineAll declines all campaigns if the contact has opted out with this message.
func (c *responder) declineAll(ctx context.Context, questions []store.CampaignQuestion) error {
	if !chat.Declines(c.Body, c.Company.OptOutWords) {
		return nil
	}
	var errs []error
	for _, question := range questions {
		errs = append(errs, c.tx.AnswerCampaign(ctx, c.Contact, question.CampaignID, true))
	}
	return errors.Join(errs...)
}
