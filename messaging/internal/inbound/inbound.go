// Package inbound stores what happens at the chat networks: messages of contacts, receipts
// of sent messages, and states of connections. It is the drivers' [driver.Sink].
package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/media"
	"integrationhub/messaging/internal/store"
)

// Service stores what happens at the networks.
type Service struct {
	host    module.Host
	store   *store.Store
	drivers *driver.Drivers
	media   *media.Service
	replies *autoreply.Service
	batches batches
}

var _ driver.Sink = (*Service)(nil)

// New returns the service of an opened product.
func New(host module.Host, s *store.Store, drivers *driver.Drivers, files *media.Service, replies *autoreply.Service) *Service {
	return &Service{host: host, store: s, drivers: drivers, media: files, replies: replies, batches: batches{waiting: make(map[int64][]*arrival)}}
}

// ChangeConnection implements [driver.Sink].
func (s *Service) ChangeConnection(ctx context.Context, change driver.ConnectionChange) error {
	return s.store.InTx(ctx, "changing a connection's state", func(tx *store.Tx) error {
		_, err := tx.ChangeConnectionState(ctx, change)
		return ignoreNoRows(err) // it was deleted meanwhile
	})
}

// ReceiveMessage implements [driver.Sink]. The message goes to the contact's live ticket; a
// new contact, and a contact without a ticket, get theirs in the same transaction.
func (s *Service) ReceiveMessage(ctx context.Context, in driver.Incoming) error {
	in = cleanMessage(in, s.host.Now())
	if isStored, err := s.storeInBatch(ctx, in); isStored || err != nil {
		return err
	}
	return s.receive(ctx, in)
}

// receive stores a message in a transaction of its own, with all that follows from it.
func (s *Service) receive(ctx context.Context, in driver.Incoming) error {
	connection, company, err := s.connectionOf(ctx, in.ConnectionID)
	if err != nil {
		return ignoreNoRows(err)
	}
	scope := store.Scope{Company: company.ID, Tenant: company.TenantID}
	if !chat.IsNumber(in.From) {
		if in.From = ""; in.LID == "" { // no driver should pass a message without number and LID
			s.host.Log.WarnContext(ctx, "dropped a message without a sender", "connection_id", connection.ID, "remote_id", in.RemoteID)
			return nil
		}
	}
	if in.FromMe {
		return s.receiveOwn(ctx, scope, connection, in)
	}
	var replies []store.OutboxEntry
	err = s.store.InTx(ctx, "receiving a message", func(tx *store.Tx) error {
		replies = nil
		contact, err := tx.ContactOfChat(ctx, scope, store.ChatName{Number: in.From, LID: in.LID, Name: in.Name})
		if err != nil {
			return err
		}
		// The contact is locked: a copy of the message waits here, and finds it stored.
		if isKnown, err := tx.IsRemoteIDStored(ctx, scope.Company, connection.ID, in.RemoteID); err != nil || isKnown {
			return err
		}
		routed, err := s.routeToTicket(ctx, tx, company, contact, connection.ID, in.Body)
		if err != nil {
			return err
		}
		ticket := routed.ticket
		draft, err := draftOf(ctx, tx, connection, in)
		if err != nil {
			return err
		}
		message, err := tx.AddMessage(ctx, ticket, draft)
		if err != nil {
			return err
		}
		if err := s.enqueueMedia(ctx, tx, message); err != nil {
			return err
		}
		if err := tx.SetContactLastInbound(ctx, in.At, scope.Company, contact.ID); err != nil {
			return err
		}
		if err := tx.PublishReceived(ctx, scope, contact, ticket, message); err != nil {
			return err
		}
		if routed.isRating && ticket.Status != chat.TicketClosed {
			return nil // what else the contact wrote waits for a user
		}
		if routed.isRating { // nobody has to read it
			return tx.MarkTicketRead(ctx, scope.Company, ticket.ID)
		}
		replies, err = s.replies.Respond(ctx, tx, autoreply.Received{Company: company, Connection: connection, Contact: contact, Ticket: ticket, Body: in.Body, QuotedID: draft.QuotedID, IsAsked: routed.isAskedByCampaign, At: in.At})
		return err
	})
	if err == nil {
		s.replies.Send(ctx, scope, replies)
	}
	return err
}

// receiveOwn stores a message that was written on the phone of a connection: as one that was sent,
// in the contact's ticket.
func (s *Service) receiveOwn(ctx context.Context, scope store.Scope, connection store.Connection, in driver.Incoming) error {
	return s.store.InTx(ctx, "storing a message of the phone", func(tx *store.Tx) error {
		contact, err := tx.ContactOfChat(ctx, scope, store.ChatName{Number: in.From, LID: in.LID})
		if err != nil {
			return err
		}
		// What the hub sends gets its remote id behind the same lock.
		if err := tx.LockRemoteID(ctx, in.RemoteID, connection.ID); err != nil {
			return fmt.Errorf("locking a message's remote id: %w", err)
		}
		if isKnown, err := tx.IsRemoteIDStored(ctx, scope.Company, connection.ID, in.RemoteID); err != nil || isKnown {
			return err
		}
		ticket, err := tx.FindOrCreateTicket(ctx, scope, contact, connection.ID, store.NewTicket{Status: chat.TicketPending, Reopens: true})
		if err != nil {
			return err
		}
		draft, err := draftOf(ctx, tx, connection, in)
		if err != nil {
			return err
		}
		draft.FromMe, draft.Origin, draft.Ack = true, chat.OriginPhone, chat.AckServer
		message, err := tx.AddMessage(ctx, ticket, draft)
		if err != nil {
			return err
		}
		if err := s.enqueueMedia(ctx, tx, message); err != nil {
			return err
		}
		if ticket.Chatbot { // a person has answered
			ticket.Chatbot = false
			if err := tx.SaveTicketMenu(ctx, ticket); err != nil {
				return fmt.Errorf("ending a menu: %w", err)
			}
		}
		return tx.PublishWrittenOnPhone(ctx, scope, contact, message)
	})
}

// draftOf returns a received message as it is stored.
func draftOf(ctx context.Context, tx *store.Tx, connection store.Connection, in driver.Incoming) (draft store.Message, err error) {
	draft = store.Message{RemoteID: &in.RemoteID, Body: in.Body, MediaType: chat.MediaText, Origin: chat.OriginContact, SentAt: in.At}
	if in.Kind != "" {
		draft.MediaType = in.Kind
	}
	addIncomingMedia(&draft, in.Media)
	draft.QuotedID, err = quotedID(ctx, tx, connection, in.QuotedRemoteID)
	return draft, err
}

// routedTicket is the ticket that a contact's message goes to.
type routedTicket struct {
	ticket            store.Ticket
	isRating          bool // the message rates the ticket
	isAskedByCampaign bool // a campaign waits for the contact's answer
}

// routeToTicket finds the ticket of a contact's message. A rating is stored, and goes to the
// ticket that it rates. Other messages go to the live ticket, which is created or reopened where
// there is none, and gets the messages that campaigns sent to the contact.
func (s *Service) routeToTicket(ctx context.Context, tx *store.Tx, company store.Company, contact store.Contact, connection int64, body string) (routedTicket, error) {
	rated, err := s.replies.StoreRating(ctx, tx, contact, connection, body)
	if err != nil {
		return routedTicket{}, err
	}
	if rated != nil {
		return routedTicket{ticket: *rated, isRating: true}, nil
	}
	scope := store.Scope{Company: company.ID, Tenant: company.TenantID}
	ticket, err := tx.FindOrCreateTicket(ctx, scope, contact, connection, store.NewTicket{Status: chat.TicketPending, Reopens: true})
	if err != nil {
		return routedTicket{}, err
	}
	isAskedByCampaign, err := tx.AttachCampaignMessages(ctx, ticket, connection)
	return routedTicket{ticket: ticket, isAskedByCampaign: isAskedByCampaign}, err
}

// ReceiveReceipt implements [driver.Sink].
func (s *Service) ReceiveReceipt(ctx context.Context, receipt driver.Receipt) error {
	connection, company, err := s.connectionOf(ctx, receipt.ConnectionID)
	if err != nil {
		return ignoreNoRows(err)
	}
	scope := store.Scope{Company: company.ID, Tenant: company.TenantID}
	ids := slices.Compact(slices.Sorted(slices.Values(receipt.RemoteIDs))) // in one order, so that two receipts do not wait for each other
	return s.store.InTx(ctx, "storing a receipt", func(tx *store.Tx) error {
		for _, id := range ids {
			if err := tx.ApplyReceipt(ctx, scope, connection, id, receipt); err != nil {
				return err
			}
		}
		return nil
	})
}

// connectionOf returns a connection and the company it belongs to.
func (s *Service) connectionOf(ctx context.Context, id int64) (store.Connection, store.Company, error) {
	row, err := s.store.ReceivingConnection(ctx, id)
	return row.Connection, row.Company, err
}

// quotedID returns the id of the message that another one quotes, or nil if it is not
// stored here.
func quotedID(ctx context.Context, tx *store.Tx, connection store.Connection, remoteID string) (*string, error) {
	if remoteID == "" {
		return nil, nil
	}
	id, err := tx.MessageIDByRemoteID(ctx, connection.CompanyID, connection.ID, remoteID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &id, err
}

func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
