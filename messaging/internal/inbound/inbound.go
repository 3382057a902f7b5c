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
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store"
)

// Service stores what happens at the networks.
type Service struct {
	host  module.Host
	store *store.Store
}

var _ driver.Sink = (*Service)(nil)

// New returns the service of an opened product.
func New(host module.Host, s *store.Store) *Service { return &Service{host, s} }

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
	connection, scope, err := s.connectionOf(ctx, in.ConnectionID)
	if err != nil {
		return ignoreNoRows(err)
	}
	if !chat.IsNumber(in.From) {
		s.host.Log.WarnContext(ctx, "a message without a phone number was dropped", "connection_id", connection.ID, "remote_id", in.RemoteID)
		return nil
	}
	return s.store.InTx(ctx, "receiving a message", func(tx *store.Tx) error {
		contact, err := tx.FindOrCreateContact(ctx, scope, in.From, in.Name)
		if err != nil {
			return err
		}
		// The contact is locked: a copy of the message waits here, and finds it stored.
		if isKnown, err := tx.RemoteMessageExists(ctx, scope.Company, connection.ID, in.RemoteID); err != nil || isKnown {
			return err
		}
		ticket, err := tx.FindOrCreateTicket(ctx, scope, contact, connection.ID, store.NewTicket{Status: chat.TicketPending, Reopens: true})
		if err != nil {
			return err
		}
		draft := store.Message{RemoteID: &in.RemoteID, Body: in.Body, MediaType: chat.MediaText, Origin: chat.OriginContact, SentAt: in.At}
		if draft.QuotedID, err = quotedID(ctx, tx, connection, in.QuotedRemoteID); err != nil {
			return err
		}
		message, err := tx.AddMessage(ctx, ticket, draft)
		if err != nil {
			return err
		}
		if err := tx.SetContactLastInbound(ctx, in.At, scope.Company, contact.ID); err != nil {
			return err
		}
		return tx.PublishReceived(ctx, scope, contact, ticket, message)
	})
}

// ReceiveReceipt implements [driver.Sink].
func (s *Service) ReceiveReceipt(ctx context.Context, receipt driver.Receipt) error {
	connection, _, err := s.connectionOf(ctx, receipt.ConnectionID)
	if err != nil {
		return ignoreNoRows(err)
	}
	var errorCode *string
	if receipt.ErrorCode != "" {
		errorCode = &receipt.ErrorCode
	}
	ids := slices.Compact(slices.Sorted(slices.Values(receipt.RemoteIDs))) // in one order, so that two receipts do not wait for each other
	return s.store.InTx(ctx, "storing a receipt", func(tx *store.Tx) error {
		for _, id := range ids {
			if err := tx.ApplyReceipt(ctx, connection, id, receipt.Ack, errorCode); err != nil {
				return err
			}
		}
		return nil
	})
}

// connectionOf returns a connection and the company it belongs to.
func (s *Service) connectionOf(ctx context.Context, id int64) (store.Connection, store.Scope, error) {
	connection, err := s.store.ConnectionByID(ctx, id)
	if err != nil {
		return connection, store.Scope{}, err
	}
	company, err := s.store.Company(ctx, connection.CompanyID)
	if err != nil {
		return connection, store.Scope{}, fmt.Errorf("loading the company: %w", err)
	}
	return connection, store.Scope{Company: company.ID, Tenant: company.TenantID}, nil
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
