package events

// Types of the events that a messaging product sends to connected products.
const (
	TypeMessageReceived = "message.received"
	TypeMessageSent     = "message.sent"
	TypeTicketCreated   = "ticket.created"
	TypeTicketClosed    = "ticket.closed"
	TypeContactCreated  = "contact.created"
)

// Types that only the plain webhooks of a messaging product have. The connector turns
// them into the ones above.
const (
	TypeMessageCreated = "message.created" // a message was received
	TypeTicketUpdated  = "ticket.updated"  // the status of a ticket changed
)

// MessageReceived says that a contact sent a chat message.
type MessageReceived struct {
	Phone    string `json:"phone"` // international format with a leading plus
	Name     string `json:"name"`
	Body     string `json:"body"`
	TicketID string `json:"ticket_id"`
}

// MessageSent says that a chat message was sent to a contact.
type MessageSent struct {
	Phone    string `json:"phone"`
	Body     string `json:"body"`
	TicketID string `json:"ticket_id"`
}

// TicketCreated says that a contact has a new ticket.
type TicketCreated struct {
	Phone    string `json:"phone"`
	Name     string `json:"name"`
	TicketID string `json:"ticket_id"`
	Queue    string `json:"queue"` // name
}

// TicketClosed says that a ticket was closed.
type TicketClosed struct {
	TicketID   string `json:"ticket_id"`
	Resolution string `json:"resolution"`
}

// ContactCreated says that there is a new contact.
type ContactCreated struct {
	Phone string `json:"phone"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// EventType implements [Data].
func (MessageReceived) EventType() string { return TypeMessageReceived }

// OrderingKey implements [Data].
func (e MessageReceived) OrderingKey() string { return e.TicketID }

// EventType implements [Data].
func (MessageSent) EventType() string { return TypeMessageSent }

// OrderingKey implements [Data].
func (e MessageSent) OrderingKey() string { return e.TicketID }

// EventType implements [Data].
func (TicketCreated) EventType() string { return TypeTicketCreated }

// OrderingKey implements [Data].
func (e TicketCreated) OrderingKey() string { return e.TicketID }

// EventType implements [Data].
func (TicketClosed) EventType() string { return TypeTicketClosed }

// OrderingKey implements [Data].
func (e TicketClosed) OrderingKey() string { return e.TicketID }

// EventType implements [Data].
func (ContactCreated) EventType() string { return TypeContactCreated }

// OrderingKey implements [Data]. There is no id of a contact.
func (ContactCreated) OrderingKey() string { return "" }
