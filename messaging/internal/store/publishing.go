package store

import (
	"context"
	"encoding/json"
	"fmt"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/tx"
	"integrationhub/messaging/internal/chat"
)

// A company's changes have two audiences: connected products get the events of
// docs/interfaces/clinic.md, and plain webhooks those of docs/interfaces/messaging.md with
// the resources as the API shows them. Some names are in both.

// TopicSent is what a plain webhook subscribes to for sent messages, which it gets as
// message.created.
const TopicSent = events.TypeMessageSent

// WebhookData encodes rows as the data of events for plain webhooks.
type WebhookData interface {
	// Message returns the data of message.created. A campaign's message has no ticket.
	Message(m Message, t *Ticket, c Contact) (any, error)
	// Ticket returns the data of ticket.created and, with the status before the change, of
	// ticket.updated.
	Ticket(t TicketView, earlier chat.TicketStatus) (any, error)
	// Contact returns the data of contact.created for a contact without tags.
	Contact(c Contact) (any, error)
}

// connectedProducts are the audience of the events for connected products.
func connectedProducts() module.Audience { return module.Audience{Receivers: module.IntegrationsOnly} }

// publishToProducts publishes events to connected products.
func publishToProducts[D events.Data](ctx context.Context, t *Tx, scope Scope, list ...D) error {
	return tx.PublishTo(ctx, t.Tx, connectedProducts(), scope.Tenant, environment, list)
}

// webhookEvent is an event for plain webhooks.
type webhookEvent struct {
	eventType string
	topic     string // what they subscribe to; "" = eventType
}

// webhookData is what one event for plain webhooks says.
type webhookData struct {
	orderingKey string // the id of the ticket or contact that it is about; "": none
	data        any
}

// publishToWebhooks publishes an event to the company's plain webhooks. The data is made only
// if some subscribed to it; there is one event for each.
func (t *Tx) publishToWebhooks(ctx context.Context, scope Scope, e webhookEvent, makeData func() ([]webhookData, error)) error {
	event := hub.Event{TenantID: scope.Tenant, Environment: environment, Type: e.eventType, Priority: t.Priority}
	audience := module.Audience{Receivers: module.EndpointsOnly, Topic: e.topic}
	subscribers, err := t.Host.Events.Subscribers(ctx, t.Raw, audience, event)
	if err != nil || len(subscribers) == 0 {
		return err
	}
	list, err := makeData()
	if err != nil {
		return fmt.Errorf("making the data of %s: %w", e.eventType, err)
	}
	batch := make([]hub.Event, len(list))
	for i, item := range list {
		batch[i] = event
		batch[i].OrderingKey = item.orderingKey
		if batch[i].Data, err = json.Marshal(item.data); err != nil {
			return fmt.Errorf("encoding %s: %w", e.eventType, err)
		}
	}
	_, err = t.Host.Events.PublishTo(ctx, t.Raw, audience, batch)
	return err
}

// withPriority returns the transaction with another priority for its events.
func (t *Tx) withPriority(priority hub.Priority) *Tx {
	shared, own := *t, *t.Tx
	own.Priority = priority
	shared.Tx = &own
	return &shared
}

// publishTicketToWebhooks publishes the new status of a ticket to plain webhooks. earlier is the
// status before the change.
func (t *Tx) publishTicketToWebhooks(ctx context.Context, scope Scope, ticket int64, earlier chat.TicketStatus) error {
	return t.publishToWebhooks(ctx, scope, webhookEvent{eventType: events.TypeTicketUpdated}, func() ([]webhookData, error) { return t.ticketData(ctx, scope, []int64{ticket}, earlier) })
}

// publishCreatedTickets publishes new tickets, in the order of their drafts.
func (t *Tx) publishCreatedTickets(ctx context.Context, scope Scope, drafts []TicketDraft, tickets []Ticket) error {
	created, ids := make([]events.TicketCreated, len(tickets)), make([]int64, len(tickets))
	for i, ticket := range tickets {
		contact := drafts[i].Contact
		ids[i], created[i] = ticket.ID, events.TicketCreated{Phone: chat.FormatE164(contact.Number), Name: contact.Name, TicketID: chat.FormatID(ticket.ID)}
	}
	subscribers, err := t.subscribedProducts(ctx, scope, events.TypeTicketCreated)
	if err != nil {
		return err
	}
	if len(subscribers) == 0 {
		err = publishToProducts(ctx, t, scope, created...)
	}
	for i := 0; err == nil && len(subscribers) > 0 && i < len(created); i++ {
		err = t.publishToLinkedAmong(ctx, scope, subscribers, drafts[i].Contact.ID, true, created[i])
	}
	if err != nil {
		return err
	}
	return t.publishToWebhooks(ctx, scope, webhookEvent{eventType: events.TypeTicketCreated}, func() ([]webhookData, error) { return t.ticketData(ctx, scope, ids, "") })
}

// ticketData returns the data of tickets for plain webhooks, by their ids.
func (t *Tx) ticketData(ctx context.Context, scope Scope, ids []int64, earlier chat.TicketStatus) ([]webhookData, error) {
	views, err := ticketViews(ctx, t.Raw, scope, ids)
	list := make([]webhookData, len(views))
	for i := 0; err == nil && i < len(views); i++ {
		list[i].orderingKey = chat.FormatID(views[i].ID)
		list[i].data, err = t.webhooks.Ticket(views[i], earlier)
	}
	return list, err
}

// publishContacts publishes new contacts to connected products and plain webhooks.
func (t *Tx) publishContacts(ctx context.Context, scope Scope, contacts []Contact) error {
	created := make([]events.ContactCreated, len(contacts))
	for i, c := range contacts {
		created[i] = events.ContactCreated{Phone: chat.FormatE164(c.Number), Name: c.Name, Email: c.Email}
	}
	if err := publishToProducts(ctx, t, scope, created...); err != nil {
		return err
	}
	return t.publishToWebhooks(ctx, scope, webhookEvent{eventType: events.TypeContactCreated}, func() ([]webhookData, error) {
		list := make([]webhookData, len(contacts))
		for i, c := range contacts {
			var err error
			list[i].orderingKey = chat.FormatID(c.ID)
			if list[i].data, err = t.webhooks.Contact(c); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// PublishReceived publishes a message from a contact.
func (t *Tx) PublishReceived(ctx context.Context, scope Scope, contact Contact, ticket Ticket, m Message) error {
	if err := publishToLinked(ctx, t, scope, contact.ID, false, receivedEvent(contact, ticket, m)); err != nil {
		return err
	}
	return t.publishToWebhooks(ctx, scope, webhookEvent{eventType: events.TypeMessageCreated}, func() ([]webhookData, error) {
		data, err := t.webhooks.Message(m, &ticket, contact)
		return []webhookData{{chat.FormatID(ticket.ID), data}}, err
	})
}

// receivedEvent returns what connected products get of a message from a contact.
func receivedEvent(contact Contact, ticket Ticket, m Message) events.MessageReceived {
	return events.MessageReceived{Phone: chat.FormatE164(contact.Number), Name: contact.Name, Body: m.Body, TicketID: chat.FormatID(ticket.ID)}
}

// publishSent publishes a message that the network has accepted.
func (t *Tx) publishSent(ctx context.Context, scope Scope, m Message, number string) error {
	isBulk := m.Origin == chat.OriginCampaign || m.Origin == chat.OriginSchedule || m.Origin == chat.OriginAPI
	if isBulk {
		t = t.withPriority(hub.PriorityBulk)
	}
	if err := publishToLinked(ctx, t, scope, m.ContactID, isBulk, events.MessageSent{Phone: chat.FormatE164(number), Body: m.Body, TicketID: ticketIDOf(m)}); err != nil {
		return err
	}
	return t.publishToWebhooks(ctx, scope, webhookEvent{events.TypeMessageCreated, TopicSent}, func() ([]webhookData, error) {
		var ticket *Ticket
		if m.TicketID != nil {
			row, err := t.Ticket(ctx, scope.Company, *m.TicketID)
			if err != nil {
				return nil, err
			}
			ticket = &row
		}
		contact, err := t.Contact(ctx, scope.Company, m.ContactID)
		if err != nil {
			return nil, err
		}
		data, err := t.webhooks.Message(m, ticket, contact)
		return []webhookData{{ticketIDOf(m), data}}, err
	})
}
