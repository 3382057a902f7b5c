package outbound

import (
	"time"

	"integrationhub/hub"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// replyPeriod is how long after its last message a contact that has opted out may get replies.
const replyPeriod = 24 * time.Hour

var (
	errOptedOut   = hub.Errorf(hub.ErrMalformed, "opted_out", "The contact has opted out of messages.")
	errAnonymized = hub.Errorf(hub.ErrMalformed, "anonymized_contact", "The contact's data was erased; make a new contact.")
)

// CheckConsent returns a [hub.Error] (400 opted_out, anonymized_contact) if a contact wants
// no messages, or was anonymized. Replies of users and automatic replies are allowed for a day after the contact wrote.
func CheckConsent(contact store.Contact, origin chat.Origin, now time.Time) error {
	if contact.AnonymizedAt != nil {
		return errAnonymized
	}
	isReply := (origin == chat.OriginAgent || origin == chat.OriginBot) && contact.LastInboundAt != nil && now.Sub(*contact.LastInboundAt) < replyPeriod
	if contact.Consent != chat.ConsentOptedOut || isReply {
		return nil
	}
	return errOptedOut
}
