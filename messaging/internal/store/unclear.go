package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/pointer"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store/dbgen"
)

// CodeUnclear is the error code of messages whose response was lost: the network may have accepted
// them or not. The ack is [chat.AckPending] until a receipt comes or the wait for it ends, then
// [chat.AckFailed].
const CodeUnclear = "unclear"

// MarkUnclear stores that the network may have accepted a message or not. It is not sent
// again: a receipt of the network decides, until a time, also whether its ticket is closed. It does nothing if the message is
// not in the outbox any more.
func (t *Tx) MarkUnclear(ctx context.Context, m Message, until time.Time) error {
	closesTicket, err := t.DeleteOutboxEntry(ctx, m.CompanyID, m.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing a message from the outbox: %w", err)
	}
	err = t.InsertUnclearMessage(ctx, dbgen.InsertUnclearMessageParams{CompanyID: m.CompanyID, MessageID: m.ID, DueAt: until, ClosesTicket: closesTicket})
	if err != nil {
		return fmt.Errorf("storing an unclear message: %w", err)
	}
	code := CodeUnclear
	err = t.SetMessageAck(ctx, dbgen.SetMessageAckParams{CompanyID: m.CompanyID, ID: m.ID, Ack: chat.AckPending, ErrorCode: &code, UpdatedAt: t.Now()})
	if err != nil {
		return fmt.Errorf("storing the state of an unclear message: %w", err)
	}
	return nil
}

// GiveUpUnclear ends the wait for the network's receipt of a message: it has failed. A later
// receipt counts nevertheless.
func (t *Tx) GiveUpUnclear(ctx context.Context, company int64, message string) error {
	m, err := t.LockMessage(ctx, company, message)
	if err != nil {
		return fmt.Errorf("loading an unclear message: %w", err)
	}
	deleted, err := t.DeleteUnclearMessage(ctx, company, message)
	if err != nil || deleted == 0 {
		return err
	}
	code := CodeUnclear
	return t.saveAck(ctx, m, chat.AckFailed, &code)
}

// closeUnlessGoingOn closes the ticket of a message whose receipt came late, unless a user or the
// contact has written in it since: had the response come, the ticket would have been opened again.
func (t *Tx) closeUnlessGoingOn(ctx context.Context, scope Scope, m Message) error {
	isGoingOn, err := t.HasLaterMessages(ctx, m.CompanyID, m.TicketID, m.Seq)
	if err != nil || isGoingOn {
		return err
	}
	return t.CloseTicketOf(ctx, scope, m)
}

// settleByReceipt stores that the network has accepted the message that a receipt names: its
// response was lost, or is on its way. It returns nil if the receipt says nothing of a
// message that waits for a response.
func (t *Tx) settleByReceipt(ctx context.Context, scope Scope, connection Connection, remoteID string, receipt driver.Receipt) (*Message, error) {
	m, err := t.LockMessage(ctx, connection.CompanyID, receipt.MessageID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the message of a receipt: %w", err)
	}
	isAwaited := m.Ack == chat.AckPending || pointer.ValueOrZero(m.ErrorCode) == CodeUnclear
	if !m.FromMe || m.RemoteID != nil || m.ConnectionID == nil || *m.ConnectionID != connection.ID || !isAwaited {
		return nil, nil
	}
	closesTicket, err := t.DeleteAwaitedMessage(ctx, m.CompanyID, m.ID)
	if err != nil {
		return nil, fmt.Errorf("settling a message that waits for a response: %w", err)
	}
	if closesTicket && receipt.Ack != chat.AckFailed {
		if err := t.closeUnlessGoingOn(ctx, scope, m); err != nil {
			return nil, err
		}
	}
	contact, err := t.Contact(ctx, m.CompanyID, m.ContactID)
	if err != nil {
		return nil, fmt.Errorf("loading the contact of a message: %w", err)
	}
	stored, err := t.storeSent(ctx, scope, m, contact.Number, driver.Sent{RemoteID: remoteID, At: m.SentAt})
	return &stored, err
}
