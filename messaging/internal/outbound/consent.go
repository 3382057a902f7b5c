package outbound

import (
	"time"

	"integrationhub/hub"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// answerTime is how long a contact that has opted out may be answered.
const answerTime = 24 * time.Hour

var (
	errOptedOut   = hub.Errorf(hub.ErrMalformed, "opted_out", "The contact has opted out of messages.")
	errAnonymized = hub.Errorf(hub.ErrMalformed, "anonymized_contact", "The contact's data was erased; make a new contact.")
)

// CheckConsent is an error for callers if a contact wants no messages, or was anonymized.
// Answers of users and automatic answers are allowed for a day after the contact wrote.
func CheckConsent(contact store.Contact, origin chat.Origin, now time.Time) error {
	if contact.AnonymizedAt != nil {
		return errAnonymized
	}
	isAnswer := (origin == chat.OriginAgent || origin == chat.OriginBot) && contact.LastInboundAt != nil && now.Sub(*contact.LastInboundAt) < answerTime
	if contact.Consent != chat.ConsentOptedOut || isAnswer {
		return nil
	}
	return errOptedOut
}
