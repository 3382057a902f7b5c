package api

import (
	"github.com/google/uuid"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/store"
)

// WebhookData makes the data of events for plain webhooks: the resources as the API shows
// them, with addresses of files that need no token for an hour. It implements
// [store.WebhookData].
type WebhookData struct{ Media *media.Service }

var _ store.WebhookData = (*WebhookData)(nil)

// MessageCreated is the data of message.created.
type MessageCreated struct {
	Message TicketMessage  `json:"message"`
	Ticket  *MessageTicket `json:"ticket"` // null: a campaign's message whose contact has not answered
	Contact MessageContact `json:"contact"`
}

// MessageTicket is the ticket of a message.
type MessageTicket struct {
	ID      int64             `json:"id"`
	UUID    uuid.UUID         `json:"uuid"`
	Status  chat.TicketStatus `json:"status"`
	QueueID *int64            `json:"queueId"`
	UserID  *int64            `json:"userId"`
}

// MessageContact is the contact of a message.
type MessageContact struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Number string `json:"number"`
	Email  string `json:"email"`
}

// TicketEvent is the data of ticket.created and ticket.updated.
type TicketEvent struct {
	Ticket         Ticket             `json:"ticket"`
	PreviousStatus *chat.TicketStatus `json:"previousStatus,omitempty"` // of ticket.updated
}

// ContactCreated is the data of contact.created.
type ContactCreated struct {
	Contact Contact `json:"contact"`
}

// Message implements [store.WebhookData].
func (d *WebhookData) Message(m store.Message, t *store.Ticket, c store.Contact) (any, error) {
	var ticket *MessageTicket
	if t != nil {
		ticket = &MessageTicket{t.ID, t.UUID, t.Status, t.QueueID, t.UserID}
	}
	return MessageCreated{toMessage(m, d.Media.SignedURL), ticket, MessageContact{c.ID, c.Name, c.Number, c.Email}}, nil
}

// Ticket implements [store.WebhookData].
func (*WebhookData) Ticket(t store.TicketView, earlier chat.TicketStatus) (any, error) {
	event := TicketEvent{Ticket: toTicket(t)}
	if earlier != "" {
		event.PreviousStatus = &earlier
	}
	return event, nil
}

// Contact implements [store.WebhookData].
func (*WebhookData) Contact(c store.Contact, tags []store.ContactTag) (any, error) {
	contacts, err := toContacts([]store.Contact{c}, tags)
	if err != nil {
		return nil, err
	}
	return ContactCreated{contacts[0]}, nil
}
