package store

import (
	"context"
	"fmt"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/events"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store/dbgen"
)

// ReceivedText is a text of a contact that goes to the contact's live ticket.
type ReceivedText struct {
	Contact   Contact
	Ticket    Ticket
	RemoteID  string
	Body      string
	MediaType chat.MediaType
	SentAt    time.Time
}

// AddReceivedTexts stores texts that came on a connection, in their order, and publishes them.
// The transaction has locked the contacts and the tickets. It takes as many statements as one
// text.
func (t *Tx) AddReceivedTexts(ctx context.Context, scope Scope, connection int64, texts []ReceivedText) error {
	inserted := dbgen.InsertReceivedMessagesParams{CompanyID: scope.Company, ConnectionID: connection, At: t.Now()}
	tickets := dbgen.AddReceivedToTicketsParams{CompanyID: scope.Company, At: t.Now()}
	var contacts []int64
	var writtenAt []time.Time // by the contacts' places
	ticketPlaces, contactPlaces := make(map[int64]int), make(map[int64]int)
	for _, text := range texts {
		inserted.Ids = append(inserted.Ids, NewMessageID())
		inserted.Tickets = append(inserted.Tickets, text.Ticket.ID)
		inserted.Contacts = append(inserted.Contacts, text.Contact.ID)
		inserted.RemoteIds = append(inserted.RemoteIds, text.RemoteID)
		inserted.Bodies = append(inserted.Bodies, text.Body)
		inserted.MediaTypes = append(inserted.MediaTypes, string(text.MediaType))
		inserted.SentAt = append(inserted.SentAt, text.SentAt)

		place, isKnown := ticketPlaces[text.Ticket.ID]
		if !isKnown {
			place = len(tickets.Tickets)
			ticketPlaces[text.Ticket.ID] = place
			tickets.Tickets, tickets.LastMessages, tickets.Received = append(tickets.Tickets, text.Ticket.ID), append(tickets.LastMessages, ""), append(tickets.Received, 0)
		}
		tickets.LastMessages[place] = chat.Truncate(text.Body, maxPreview)
		tickets.Received[place]++

		place, isKnown = contactPlaces[text.Contact.ID]
		if !isKnown {
			place = len(contacts)
			contactPlaces[text.Contact.ID] = place
			contacts, writtenAt = append(contacts, text.Contact.ID), append(writtenAt, text.SentAt)
		}
		if writtenAt[place].Before(text.SentAt) {
			writtenAt[place] = text.SentAt
		}
	}
	stored, err := t.InsertReceivedMessages(ctx, inserted)
	if err == nil {
		err = t.AddReceivedToTickets(ctx, tickets)
	}
	if err == nil {
		err = t.SetContactsLastInbound(ctx, scope.Company, contacts, writtenAt)
	}
	if err != nil {
		return fmt.Errorf("storing %d received messages: %w", len(texts), err)
	}
	byID := make(map[string]Message, len(stored))
	for _, message := range stored {
		byID[message.ID] = message
	}
	messages := make([]Message, len(texts))
	for i, id := range inserted.Ids {
		messages[i] = byID[id]
	}
	return t.publishReceivedTexts(ctx, scope, texts, messages)
}

// publishReceivedTexts publishes stored texts.
func (t *Tx) publishReceivedTexts(ctx context.Context, scope Scope, texts []ReceivedText, stored []Message) error {
	received := make([]events.MessageReceived, len(texts))
	for i, text := range texts {
		received[i] = receivedEvent(text.Contact, text.Ticket, stored[i])
	}
	subscribers, err := t.subscribedProducts(ctx, scope, events.TypeMessageReceived)
	if err != nil {
		return err
	}
	if len(subscribers) == 0 {
		if err := publishToProducts(ctx, t, scope, received...); err != nil {
			return err
		}
	} else {
		for i, text := range texts {
			if err := t.publishToLinkedAmong(ctx, scope, subscribers, text.Contact.ID, hub.PriorityNormal, received[i]); err != nil {
				return err
			}
		}
	}
	return t.publishToWebhooks(ctx, scope, webhookEvent{eventType: events.TypeMessageCreated}, func() ([]webhookData, error) {
		list := make([]webhookData, len(texts))
		for i, text := range texts {
			var err error
			list[i].orderingKey = chat.FormatID(text.Ticket.ID)
			if list[i].data, err = t.webhooks.Message(stored[i], &text.Ticket, text.Contact); err != nil {
				return nil, err
			}
		}
		return list, nil
	})
}
