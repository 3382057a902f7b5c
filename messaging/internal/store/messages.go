package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub/module/tx"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store/dbgen"
)

// Message is a row of messaging.messages.
type Message = dbgen.Message

// OutboxEntry is a row of messaging.outbox: a message that the network has not accepted yet.
type OutboxEntry = dbgen.OutboxEntry

// maxPreview is the length of a ticket's last message, in characters.
const maxPreview = 255

// Page selects a part of a list.
type Page struct {
	Offset, Limit int
}

// ListMessages returns a page of a ticket's messages, the newest first.
func (s *Store) ListMessages(ctx context.Context, scope Scope, ticketID int64, page Page) ([]Message, error) {
	return s.MessagesPage(ctx, dbgen.MessagesPageParams{CompanyID: scope.Company, TicketID: ticketID, Skip: page.Offset, MaxRows: page.Limit})
}

// NewMessageID returns a message id. Later ids sort after earlier ones.
func NewMessageID() string { return tx.NewID().String() }

// AddMessage stores a message of a ticket that the transaction has locked.
func (t *Tx) AddMessage(ctx context.Context, ticket Ticket, m Message) (Message, error) {
	if m.ID == "" {
		m.ID = NewMessageID()
	}
	stored, err := t.InsertMessage(ctx, dbgen.InsertMessageParams{
		CompanyID: ticket.CompanyID, ID: m.ID, TicketID: &ticket.ID, ContactID: ticket.ContactID, ConnectionID: ticket.ConnectionID, RemoteID: m.RemoteID,
		UserID: m.UserID, Body: m.Body, FromMe: m.FromMe, IsRead: m.FromMe, Ack: m.Ack, MediaType: m.MediaType, MediaID: m.MediaID, MediaReference: m.MediaReference, MediaName: m.MediaName,
		MimeType: m.MimeType, Size: m.Size, QuotedID: m.QuotedID, IsPrivate: m.IsPrivate, Origin: m.Origin, ExternalKey: m.ExternalKey, Template: m.Template,
		SentAt: m.SentAt, CreatedAt: t.Now(),
	})
	if err != nil {
		return Message{}, fmt.Errorf("storing a message: %w", err)
	}
	added := dbgen.AddToTicketParams{CompanyID: ticket.CompanyID, ID: ticket.ID, At: t.Now()}
	if !m.IsPrivate {
		awaits, shown := m.FromMe && m.Origin != chat.OriginBot, chat.Truncate(preview(m), maxPreview)
		added.AwaitsContact, added.LastMessage = &awaits, &shown
	}
	switch {
	case !m.FromMe:
		added.Unread = 1
	case m.Origin == chat.OriginAgent && !m.IsPrivate:
		now := t.Now()
		added.FirstResponseAt = &now
	}
	return stored, t.AddToTicket(ctx, added)
}

// WithTemplate returns a message that is a template. Without a body its text is made of the
// template.
func WithTemplate(m Message, t chat.Template) Message {
	if m.Template = &t; strings.TrimSpace(m.Body) == "" {
		m.Body = t.Text()
	}
	return m
}

// preview returns what a list of tickets shows of a message.
func preview(m Message) string {
	if m.Body == "" && m.MediaName != nil {
		return *m.MediaName
	}
	return m.Body
}

// Enqueue adds a stored message to the outbox. The returned entry is leased until a time if
// nothing of the same chat waits before it and the connection's interval has passed: then the
// caller sends it. Messages of users and automatic replies are urgent: they are sent before
// those of programs, together with what waits before them in their chat.
func (t *Tx) Enqueue(ctx context.Context, m Message, leasedUntil time.Time) (OutboxEntry, error) {
	isUrgent := m.Origin == chat.OriginAgent || m.Origin == chat.OriginBot
	if isUrgent {
		if err := t.MakeChatUrgent(ctx, dbgen.MakeChatUrgentParams{CompanyID: m.CompanyID, ConnectionID: *m.ConnectionID, ContactID: m.ContactID, At: t.Now()}); err != nil {
			return OutboxEntry{}, fmt.Errorf("hastening a chat: %w", err)
		}
	}
	return t.InsertOutboxEntry(ctx, dbgen.InsertOutboxEntryParams{
		CompanyID: m.CompanyID, MessageID: m.ID, ConnectionID: *m.ConnectionID, ContactID: m.ContactID, IsUrgent: isUrgent, At: t.Now(), LeasedUntil: leasedUntil, Clock: paceClock(t.Host),
	})
}

// MarkSent stores that the network has accepted a message, takes it out of the outbox and
// publishes it. If the message is not in the outbox any more, it stores at most by which hash later
// reports of the network name it: see [Tx.knowErased].
func (t *Tx) MarkSent(ctx context.Context, scope Scope, m Message, number string, sent driver.Sent) (Message, error) {
	// A receipt takes the two locks in this order as well.
	if err := t.LockRemoteID(ctx, sent.RemoteID, *m.ConnectionID); err != nil {
		return m, err
	}
	removed, err := t.DeleteOutboxEntryAndPhoneCopy(ctx, dbgen.DeleteOutboxEntryAndPhoneCopyParams{
		CompanyID: scope.Company, ConnectionID: *m.ConnectionID, RemoteIds: t.bothRemoteIDs(scope.Company, sent.RemoteID), MessageID: m.ID,
	})
	if err != nil {
		return m, fmt.Errorf("removing a sent message from the outbox: %w", err)
	}
	if len(removed) == 0 {
		return t.knowErased(ctx, m, sent.RemoteID)
	}
	return t.storeSent(ctx, scope, m, number, sent)
}

// storeSent stores that the network has accepted a message and publishes it. The transaction
// has locked its remote id and the message.
func (t *Tx) storeSent(ctx context.Context, scope Scope, m Message, number string, sent driver.Sent) (Message, error) {
	erased := t.erasedRemoteIDOf(scope.Company, sent.RemoteID)
	stored, err := t.SetMessageSent(ctx, dbgen.SetMessageSentParams{
		CompanyID: scope.Company, ID: m.ID, RemoteID: sent.RemoteID, ErasedRemoteID: erased, SentAt: sent.At, UpdatedAt: t.Now(),
	})
	if err != nil {
		return m, fmt.Errorf("storing a sent message: %w", err)
	}
	if *stored.RemoteID == erased { // the contact has no number any more
		number = ""
	}
	if err := t.recordProgress(ctx, stored, chat.AckServer, nil); err != nil {
		return m, err
	}
	if stored, err = t.applyEarlyReceipt(ctx, stored, sent.RemoteID); err != nil {
		return m, err
	}
	return stored, t.publishSent(ctx, scope, stored, number)
}

// applyEarlyReceipt stores the ack of a receipt that arrived before the message's remote id.
func (t *Tx) applyEarlyReceipt(ctx context.Context, m Message, remoteID string) (Message, error) {
	receipt, err := t.TakeEarlyReceipt(ctx, m.CompanyID, *m.ConnectionID, t.bothRemoteIDs(m.CompanyID, remoteID))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !receipt.Ack.Follows(m.Ack) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("looking for an early receipt: %w", err)
	}
	m.Ack, m.ErrorCode = receipt.Ack, receipt.ErrorCode
	return m, t.saveAck(ctx, m, m.Ack, m.ErrorCode)
}

// ApplyReceipt stores how far a message of a connection has come. A receipt of a message that
// is not known yet waits for it, unless the receipt names the message by its own id.
func (t *Tx) ApplyReceipt(ctx context.Context, scope Scope, connection Connection, remoteID string, receipt driver.Receipt) error {
	ack, errorCode := receipt.Ack, (*string)(nil)
	if receipt.ErrorCode != "" {
		errorCode = &receipt.ErrorCode
	}
	if err := t.LockRemoteID(ctx, remoteID, connection.ID); err != nil {
		return err
	}
	messages, err := t.MessagesByRemoteID(ctx, connection.CompanyID, connection.ID, t.bothRemoteIDs(connection.CompanyID, remoteID))
	if err != nil {
		return fmt.Errorf("finding the message of a receipt: %w", err)
	}
	if len(messages) == 0 && receipt.MessageID != "" {
		settled, err := t.settleByReceipt(ctx, scope, connection, remoteID, receipt)
		if err != nil {
			return err
		}
		if settled != nil {
			messages = append(messages, *settled)
		}
	}
	if len(messages) == 0 {
		return t.keepReceipt(ctx, remoteID, dbgen.InsertEarlyReceiptParams{CompanyID: connection.CompanyID, ConnectionID: connection.ID, Ack: ack, ErrorCode: errorCode, CreatedAt: t.Now()})
	}
	if !ack.Follows(messages[0].Ack) {
		return nil
	}
	return t.saveAck(ctx, messages[0], ack, errorCode)
}

// keepReceipt keeps a receipt for a message that is not known yet, unless one that came
// before says more. The transaction has locked the remote id, of which only a hash is kept.
func (t *Tx) keepReceipt(ctx context.Context, remoteID string, receipt dbgen.InsertEarlyReceiptParams) error {
	receipt.RemoteID = t.erasedRemoteIDOf(receipt.CompanyID, remoteID)
	earlier, err := t.TakeEarlyReceipt(ctx, receipt.CompanyID, receipt.ConnectionID, []string{receipt.RemoteID, remoteID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return fmt.Errorf("looking for an early receipt: %w", err)
	case !receipt.Ack.Follows(earlier.Ack):
		receipt.Ack, receipt.ErrorCode = earlier.Ack, earlier.ErrorCode
	}
	if err := t.InsertEarlyReceipt(ctx, receipt); err != nil {
		return fmt.Errorf("storing an early receipt: %w", err)
	}
	return nil
}

// MarkFailed stores that a message is not sent, also for its schedule or campaign, and takes it out of the
// outbox. It does nothing if the message is not in the outbox any more.
func (t *Tx) MarkFailed(ctx context.Context, m Message, errorCode string) error {
	err := t.FailOutboxEntry(ctx, dbgen.FailOutboxEntryParams{CompanyID: m.CompanyID, MessageID: m.ID, Code: errorCode, At: t.Now()})
	if err != nil {
		return fmt.Errorf("removing a message from the outbox: %w", err)
	}
	return nil
}

// saveAck stores how far a message has come, also for the schedule or campaign that sent it.
func (t *Tx) saveAck(ctx context.Context, m Message, ack chat.Ack, errorCode *string) error {
	err := t.SetMessageAck(ctx, dbgen.SetMessageAckParams{CompanyID: m.CompanyID, ID: m.ID, Ack: ack, ErrorCode: errorCode, UpdatedAt: t.Now()})
	if err != nil {
		return fmt.Errorf("storing the ack of a message: %w", err)
	}
	return t.recordProgress(ctx, m, ack, errorCode)
}

// recordProgress stores how far the message of a schedule or campaign has come.
func (t *Tx) recordProgress(ctx context.Context, m Message, ack chat.Ack, errorCode *string) error {
	switch m.Origin {
	case chat.OriginSchedule:
		settled := dbgen.SettleScheduleParams{CompanyID: m.CompanyID, MessageID: m.ID, Status: ScheduleSent, SentAt: &m.SentAt, At: t.Now()}
		if ack == chat.AckFailed {
			settled.Status, settled.SentAt, settled.Error = ScheduleError, nil, errorCode
		}
		return t.SettleSchedule(ctx, settled)
	case chat.OriginCampaign:
		return t.settleShipment(ctx, m, ack, errorCode)
	}
	return nil
}

// ticketIDOf returns the id of a message's ticket as connected products see it. It is empty
// for the message of a campaign whose contact has not answered.
func ticketIDOf(m Message) string {
	if m.TicketID == nil {
		return ""
	}
	return chat.FormatID(*m.TicketID)
}
