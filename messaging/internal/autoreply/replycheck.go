package autoreply

import (
	"context"
	"encoding/json"
	"fmt"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/store"
)

// ReplyCheck finds messages of a connection that need no automatic reply. It loads the
// queues once for all of them.
type ReplyCheck struct {
	Company    store.Company
	Connection store.Connection
	HasQueues  bool // whether the connection has queues

	queues map[int64]store.Queue // of the company; nil: not loaded
	only   *store.Queue          // the connection's only one; nil: not loaded, or there are several

	onlyLoaded bool // whether only is loaded
}

// NeedsNoReply reports whether [Service.Respond] does nothing for a message of a contact to
// whom no question is open. It may report false for a message that gets no reply.
func (s *ReplyCheck) NeedsNoReply(ctx context.Context, tx *store.Tx, r Received) (bool, error) {
	if _, isChange := consentChange(r); isChange {
		return false, nil
	}
	if _, isNumber := chat.ParseRating(r.Body); isNumber && r.Ticket.Status == chat.TicketPending {
		return false, nil // it may be the rating of a ticket that was closed before
	}
	if !mayReply(r.Contact) {
		return true, nil
	}
	isWaiting := r.Ticket.Status == chat.TicketPending && r.Ticket.UserID == nil
	if isWaiting && r.Ticket.Chatbot {
		return false, nil
	}
	queue, isKnown, err := s.queueOfHours(ctx, tx, r.Ticket)
	if err != nil || !isKnown {
		return false, err
	}
	hours, text := outOfHours(s.Company, s.Connection, queue)
	if text != "" {
		var opening []chat.OpeningHours
		if err := json.Unmarshal(hours, &opening); err != nil {
			return false, fmt.Errorf("decoding opening hours: %w", err)
		}
		if !chat.IsOpen(opening, tx.Now().In(chat.LoadZone(s.Company.Timezone))) {
			last := r.Contact.OutOfHoursAt
			return last != nil && tx.Now().Sub(*last) < outOfHoursPause, nil
		}
	}
	isGreeted := r.Ticket.GreetedAt != nil || r.Ticket.QueueID != nil || !s.HasQueues && s.Connection.GreetingMessage == ""
	return !isWaiting || isGreeted, nil
}

// queueOfHours is [responder.queueOfHours]. A ticket's queue that is gone is not known.
func (s *ReplyCheck) queueOfHours(ctx context.Context, tx *store.Tx, ticket store.Ticket) (queue *store.Queue, isKnown bool, err error) {
	switch {
	case ticket.QueueID != nil:
		queue, err = s.queue(ctx, tx, *ticket.QueueID)
		return queue, queue != nil, err
	case !s.HasQueues:
		return nil, true, nil
	case !s.onlyLoaded:
		if s.only, err = onlyQueue(ctx, tx, s.Connection); err != nil {
			return nil, false, err
		}
		s.onlyLoaded = true
	}
	return s.only, true, nil
}

// queue returns a queue of the company, or nil.
func (s *ReplyCheck) queue(ctx context.Context, tx *store.Tx, id int64) (*store.Queue, error) {
	if s.queues == nil {
		list, err := tx.Queues(ctx, s.Company.ID)
		if err != nil {
			return nil, fmt.Errorf("loading queues: %w", err)
		}
		s.queues = make(map[int64]store.Queue, len(list))
		for _, queue := range list {
			s.queues[queue.ID] = queue
		}
	}
	queue, isKnown := s.queues[id]
	if !isKnown {
		return nil, nil
	}
	return &queue, nil
}
