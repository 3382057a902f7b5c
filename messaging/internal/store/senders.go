package store

import (
	"context"
	"fmt"
	"time"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store/dbgen"
)

// LateAnswerTime is how long after a question of a reminder expired an answer to it is still
// distinguished from other messages.
const LateAnswerTime = 24 * time.Hour

// Sender is a contact who writes, with its live ticket.
type Sender struct {
	Contact Contact
	Ticket  Ticket
}

// Matches reports whether the contact has the name, the number and the LID that the message has.
func (s Sender) Matches(in driver.Incoming) bool {
	isRenamed := in.Name != "" && s.Contact.Name == s.Contact.Number && in.Name != s.Contact.Name
	isKnownLID := in.LID == "" || s.Contact.LID != nil && *s.Contact.LID == in.LID
	return !isRenamed && isKnownLID && isReachedAt(s.Contact, in.From)
}

// Senders are contacts who write, locked with their live tickets, and what is stored of their
// messages.
type Senders struct {
	byKey  map[string]*Sender
	stored map[string]bool // by remote id
}

// ByNumber returns a sender, or nil.
func (s *Senders) ByNumber(number string) *Sender { return s.byKey[chat.NumberKey(number)] }

// Drop removes a sender.
func (s *Senders) Drop(number string) { delete(s.byKey, chat.NumberKey(number)) }

// IsStored reports whether the message with a remote id is stored.
func (s *Senders) IsStored(remoteID string) bool { return s.stored[remoteID] }

// MarkStored makes [Senders.IsStored] report true.
func (s *Senders) MarkStored(remoteID string) { s.stored[remoteID] = true }

// LockAvailableSenders locks the contacts who wrote messages on a connection, and their live
// tickets. It leaves out contacts that another transaction has locked, contacts without a live
// ticket, and contacts whose answer a campaign or a question awaits: each of their messages
// needs a transaction of its own.
func (t *Tx) LockAvailableSenders(ctx context.Context, scope Scope, connection int64, messages []driver.Incoming) (*Senders, error) {
	keys, remoteIDs := make([]string, len(messages)), make([]string, len(messages))
	for i, in := range messages {
		keys[i], remoteIDs[i] = chat.NumberKey(in.From), in.RemoteID
	}
	senders := &Senders{byKey: make(map[string]*Sender), stored: make(map[string]bool)}
	locked, err := t.LockAvailableContacts(ctx, scope.Company, keys)
	if err != nil {
		return nil, fmt.Errorf("finding contacts: %w", err)
	}
	if len(locked) == 0 {
		return senders, nil
	}
	contacts, byID := make([]int64, len(locked)), make(map[int64]Contact, len(locked))
	for i, contact := range locked {
		contacts[i], byID[contact.ID] = contact.ID, contact
	}
	tickets, err := t.LockAvailableLiveTickets(ctx, scope.Company, contacts, connection)
	if err != nil {
		return nil, fmt.Errorf("finding live tickets: %w", err)
	}
	both := t.bothRemoteIDs(scope.Company, remoteIDs...)
	expectations, err := t.AwaitedAnswersOfContacts(ctx, dbgen.AwaitedAnswersOfContactsParams{
		CompanyID: scope.Company, ConnectionID: connection, RemoteIds: both, Contacts: contacts, Since: t.Now().Add(-LateAnswerTime),
	})
	if err != nil {
		return nil, fmt.Errorf("loading what contacts are asked: %w", err)
	}
	for _, id := range expectations.ExpectedContacts {
		delete(byID, id)
	}
	for _, ticket := range tickets {
		if contact, isFree := byID[ticket.ContactID]; isFree {
			senders.byKey[contact.NumberKey] = &Sender{contact, ticket}
		}
	}
	stored := make(map[string]bool, len(expectations.StoredRemoteIds))
	for _, id := range expectations.StoredRemoteIds {
		stored[id] = true
	}
	for i, id := range remoteIDs {
		if stored[id] || stored[both[len(remoteIDs)+i]] {
			senders.MarkStored(id)
		}
	}
	return senders, nil
}
