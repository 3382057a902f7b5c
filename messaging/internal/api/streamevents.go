package api

import (
	"context"
	"slices"
	"strconv"

	"integrationhub/messaging/internal/realtime"
	"integrationhub/messaging/internal/store"
)

// connections returns the connections of a batch as the user sees them.
func (r *streamReader) connections(ctx context.Context, batch *realtime.Batch) (map[int64]Connection, error) {
	if batch.Connections == nil {
		return nil, nil
	}
	list, err := r.api.toConnections(ctx, r.user, batch.Connections)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]Connection, len(list))
	for _, connection := range list {
		byID[connection.ID] = connection
	}
	return byID, nil
}

// event returns the data of a change, unless the user does not see what it is about. What is gone
// by now, or gone from what the user sees, is a deletion.
func (r *streamReader) event(change store.Change, batch *realtime.Batch, connections map[int64]Connection) (event StreamEvent, isVisible bool) {
	event.Action = change.Action
	if change.TicketID != nil {
		event.ID = change.ItemID
		ticket, ok := batch.Tickets[*change.TicketID]
		message, hasMessage := batch.Messages[change.ItemID]
		if !ok || !hasMessage || !r.viewer.Sees(ticket.Ticket) {
			return event, false // a deleted ticket has a change of its own
		}
		shown := r.api.toMessage(message)
		event.Message = &shown
		return event, true
	}
	id, _ := strconv.ParseInt(change.ItemID, 10, 64)
	event.ID = id
	exists := false
	switch change.Kind {
	case "ticket":
		return r.ticketEvent(event, change, batch.Tickets, id)
	case "contact":
		var contact store.Contact
		if contact, exists = batch.Contacts[id]; exists {
			event.Contact = &TicketContact{contact.ID, contact.Name, contact.Number, contact.Email, contact.PictureURL}
			if !r.seesContact(batch.Holders[id]) {
				return event, false
			}
		}
	case "campaign":
		if r.user.user.Profile != profileAdmin {
			return event, false
		}
		var view store.CampaignView
		if view, exists = batch.Campaigns[id]; exists {
			if shown, err := r.api.toCampaign(view); err == nil {
				event.Campaign = &shown
			}
		}
	case "connection":
		var connection Connection
		if connection, exists = connections[id]; exists {
			event.Connection = &connection
		}
	}
	if !exists {
		event.Action = "delete"
	}
	return event, true
}

// ticketEvent returns the data of a ticket's change. One that moved out of what the user sees is a
// deletion; other moves have an update beside them.
func (r *streamReader) ticketEvent(event StreamEvent, change store.Change, tickets map[int64]store.TicketView, id int64) (StreamEvent, bool) {
	view, exists := tickets[id]
	isSeen := exists && r.viewer.Sees(view.Ticket)
	switch {
	case change.IsMove:
		earlier := store.Ticket{UserID: change.EarlierUserID, QueueID: change.EarlierQueueID}
		event.Action = "delete"
		return event, exists && !isSeen && r.viewer.Sees(earlier)
	case !exists:
		event.Action = "delete"
		return event, true
	}
	shown := toTicket(view)
	event.Ticket = &shown
	return event, isSeen
}

// seesContact reports whether the user sees a contact: one without a ticket, or with a ticket that
// the user sees.
func (r *streamReader) seesContact(holders []store.Ticket) bool {
	return len(holders) == 0 || slices.ContainsFunc(holders, r.viewer.Sees)
}
