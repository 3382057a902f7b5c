package store

import (
	"context"
	"encoding/json"
	"fmt"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/hub/module"
	"integrationhub/hub/module/pointer"
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
	// Contact returns the data of contact.created; tags are the contact's.
	Contact(c Contact, tags []ContactTag) (any, error)
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
	subscribers, err := t.subscribedProducts(ctx, scope, events.TypeTicketCreated)
	if err != nil {
		return err
	}
	queueNames, err := t.queueNames(ctx, scope, tickets)
	if err != nil {
		return err
	}
	var created []events.TicketCreated
	ids := make([]int64, len(tickets))
	for i, ticket := range tickets {
		contact := drafts[i].Contact
		if ids[i] = ticket.ID; contact.Number == "" { // connected products know people by numbers
			continue
		}
		data := events.TicketCreated{Phone: chat.FormatE164(contact.Number), Name: contact.Name, TicketID: chat.FormatID(ticket.ID), Queue: queueNames[pointer.ValueOrZero(ticket.QueueID)]}
		if len(subscribers) == 0 {
			created = append(created, data)
		} else if err := t.publishToLinkedAmong(ctx, scope, subscribers, contact.ID, hub.PriorityBulk, data); err != nil { // bulk: its first message raises the priority, if a person waits
			return err
		}
	}
	if err := publishToProducts(ctx, t, scope, created...); err != nil {
		return err
	}
	return t.publishToWebhooks(ctx, scope, webhookEvent{eventType: events.TypeTicketCreated}, func() ([]webhookData, error) { return t.ticketData(ctx, scope, ids, "") })
}

// queueNames returns the names of the queues of tickets, by their ids.
func (t *Tx) queueNames(ctx context.Context, scope Scope, tickets []Ticket) (map[int64]string, error) {
	var ids []int64
	for _, ticket := range tickets {
		if ticket.QueueID != nil {
			ids = append(ids, *ticket.QueueID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	queues, err := t.QueuesByID(ctx, scope.Company, ids)
	if err != nil {
		return nil, fmt.Errorf("loading the queues of tickets: %w", err)
	}
	names := make(map[int64]string, len(queues))
	for _, queue := range queues {
		names[queue.ID] = queue.Name
	}
	return names, nil
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
	if err := t.publishContactsToProducts(ctx, scope, contacts); err != nil {
		return err
	}
	return t.publishToWebhooks(ctx, scope, webhookEvent{eventType: events.TypeContactCreated}, func() ([]webhookData, error) {
		list, ids := make([]webhookData, len(contacts)), make([]int64, len(contacts))
		for i, c := range contacts {
			ids[i] = c.ID
		}
		tags, err := t.TagsOfContacts(ctx, scope.Company, ids)
		if err != nil {
			return nil, fmt.Errorf("loading tags of contacts: %w", err)
		}
		tagsOf := make(map[int64][]ContactTag)
		for _, tag := range tags {
			tagsOf[tag.ContactID] = append(tagsOf[tag.ContactID], tag)
		}
		for i, c := range contacts {
			list[i].orderingKey = chat.FormatID(c.ID)
			if list[i].data, err = t.webhooks.Contact(c, tagsOf[c.ID]); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}

// publishContactsToProducts publishes new contacts to connected products, which know people by
// their numbers: contacts without one are left out.
func (t *Tx) publishContactsToProducts(ctx context.Context, scope Scope, contacts []Contact) error {
	var created []events.ContactCreated
	for _, c := range contacts {
		if c.Number != "" {
			created = append(created, events.ContactCreated{Phone: chat.FormatE164(c.Number), Name: c.Name, Email: c.Email})
		}
	}
	return publishToProducts(ctx, t, scope, created...)
}

// PublishReceived publishes a message from a contact. Plain webhooks get it when its file is there.
func (t *Tx) PublishReceived(ctx context.Context, scope Scope, contact Contact, ticket Ticket, m Message) error {
	if contact.Number != "" {
		if err := publishToLinked(ctx, t, scope, contact.ID, hub.PriorityNormal, receivedEvent(contact, ticket, m)); err != nil {
			return err
		}
	}
	return t.publishMessage(ctx, scope, m)
}

// receivedEvent returns what connected products get of a message from a contact.
func receivedEvent(contact Contact, ticket Ticket, m Message) events.MessageReceived {
	return events.MessageReceived{Phone: chat.FormatE164(contact.Number), Name: contact.Name, Body: m.Body, TicketID: chat.FormatID(ticket.ID)}
}

// PublishWrittenOnPhone publishes a message that was written on the phone of a connection.
func (t *Tx) PublishWrittenOnPhone(ctx context.Context, scope Scope, contact Contact, m Message) error {
	return t.publishSent(ctx, scope, m, contact.Number)
}

// publishSent publishes a message that the network has accepted.
func (t *Tx) publishSent(ctx context.Context, scope Scope, m Message, number string) error {
	searchPriority := hub.PriorityNormal
	if m.Origin == chat.OriginCampaign || m.Origin == chat.OriginSchedule || m.Origin == chat.OriginAPI {
		searchPriority = hub.PriorityBulk
		t = t.withPriority(hub.PriorityBulk)
	}
	if number != "" {
		if err := publishToLinked(ctx, t, scope, m.ContactID, searchPriority, events.MessageSent{Phone: chat.FormatE164(number), Body: m.Body, TicketID: ticketIDOf(m)}); err != nil {
			return err
		}
	}
	return t.publishMessage(ctx, scope, m)
}

// publishMessage publishes a message to plain webhooks. One whose file is still at the
// network is published with the file: see [Tx.SetReceivedMedia].
func (t *Tx) publishMessage(ctx context.Context, scope Scope, m Message) error {
	if m.MediaReference != nil {
		return nil
	}
	event := webhookEvent{eventType: events.TypeMessageCreated}
	if m.FromMe {
		event.topic = TopicSent
	}
	return t.publishToWebhooks(ctx, scope, event, func() ([]webhookData, error) {
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
