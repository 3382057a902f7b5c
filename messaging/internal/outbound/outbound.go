// Package outbound sends messages to chat networks. A message is stored together with an
// outbox entry, and sent by the process that holds the entry's lease: at once by the
// request that stored it, or later by the job. The message's id makes it safe to send
// again, so that a restart neither drops nor repeats it.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/hub/module/dberr"
	"integrationhub/hub/module/pointer"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

const (
	callTime    = 10 * time.Second // of a driver's call
	storeTime   = 5 * time.Second  // to store what became of a message, on a busy machine
	leaseTime   = 30 * time.Second // of a batch's messages: longer than batchTime and callTime
	writeLease  = 20 * time.Second // of a message that its writer sends
	firstRetry  = 5 * time.Second  // doubles …
	maxRetry    = 10 * time.Minute // … up to this
	maxWait     = time.Hour        // that a network may ask for
	giveUpAfter = 24 * time.Hour   // since the message was written
)

// CallLimit is how long sending one message takes at most.
const CallLimit = callTime + storeTime

// Error codes of messages that were not sent.
const (
	CodeNotRegistered     = "not_registered" // the number is not registered at the network
	CodeRefused           = "refused"        // by the network
	CodeExpired           = "expired"        // the network could not be reached for a day
	CodeWindowClosed      = "window_closed"  // the contact has not written for too long
	CodeUnclear           = store.CodeUnclear
	CodeOptedOut          = store.CodeOptedOut
	CodeAnonymized        = store.CodeAnonymized
	CodeTemplateParameter = "template_parameter_empty" // a variable has no value for the contact, or one that is too long
	CodeNoTemplates       = "template_unsupported"     // the network accepts no templates
)

// Service sends messages.
type Service struct {
	host    module.Host
	store   *store.Store
	drivers *driver.Drivers
	media   MediaURLs
}

// MediaURLs makes addresses at which networks fetch files.
type MediaURLs interface {
	// SignedURL returns an address of a file that is valid for an hour.
	SignedURL(id string) string
}

// New returns the service of an opened product.
func New(host module.Host, s *store.Store, drivers *driver.Drivers, media MediaURLs) *Service {
	return &Service{host: host, store: s, drivers: drivers, media: media}
}

// Draft is a message to write to a contact.
type Draft struct {
	Contact store.Contact
	Ticket  store.Ticket
	Message store.Message // body, media, origin and who wrote it

	ClosesTicket bool // once it is sent
}

// Write stores a message and its outbox entry in the transaction. After the commit the
// caller passes the entry to [Service.Send]. The caller has locked the ticket.
func (s *Service) Write(ctx context.Context, tx *store.Tx, d Draft) (store.Message, store.OutboxEntry, error) {
	d.Message.FromMe, d.Message.SentAt = true, tx.Now()
	m, err := tx.AddMessage(ctx, d.Ticket, d.Message)
	if err != nil {
		return m, store.OutboxEntry{}, err
	}
	entry, err := tx.Enqueue(ctx, m, tx.Now().Add(writeLease))
	if err == nil && d.ClosesTicket {
		entry.ClosesTicket = true
		err = tx.CloseTicketOnceSent(ctx, m.CompanyID, m.ID)
	}
	return m, entry, err
}

// Send sends the message of an entry, unless another message of the chat has to be sent
// before it. It returns the message as it is stored afterwards: its ack says whether the
// network has accepted it. A network that does not answer is no error; the job tries again.
func (s *Service) Send(ctx context.Context, scope store.Scope, entry store.OutboxEntry) (store.Message, error) {
	if entry.LeasedUntil != nil {
		sent, err := s.sendLeased(ctx, scope, entry)
		if err != nil {
			return store.Message{}, err
		}
		if sent.Ack != chat.AckPending {
			return sent, nil
		}
	}
	return s.store.Message(ctx, entry.CompanyID, entry.MessageID)
}

// sendLeased sends the message of an entry that this process has leased, and stores what
// came of it. It returns the message; only with an ack it is as it is stored then. A message that
// was taken back before it was begun is left alone.
func (s *Service) sendLeased(ctx context.Context, scope store.Scope, entry store.OutboxEntry) (store.Message, error) {
	row, err := s.store.MessageToSend(ctx, entry.ConnectionID, entry.CompanyID, entry.MessageID)
	if errors.Is(err, pgx.ErrNoRows) { // deleted, or its connection was
		return store.Message{}, s.store.ReturnPaceTurn(ctx, s.store.Queries, entry)
	}
	if err != nil {
		return store.Message{}, fmt.Errorf("loading a message to send: %w", err)
	}
	message, contact, stored := row.Message, row.Contact, row.Message
	sent, isNetworkAsked, err := s.checkAndSend(ctx, entry, row.Connection, contact, message)
	// What the network has done is stored even if the request has ended meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime)
	defer cancel()
	if isNetworkAsked {
		entry.TurnUntil = nil // it has used its turn
	}
	if errors.Is(err, errNotHeld) {
		return message, s.store.ReturnPaceTurn(ctx, s.store.Queries, entry)
	}
	err = s.store.InTx(ctx, "storing what became of a message", func(tx *store.Tx) error {
		isTakenBack, lockErr := s.isTakenBack(ctx, tx, message, err)
		if lockErr != nil {
			return lockErr
		}
		if err := s.store.ReturnPaceTurn(ctx, tx.Queries, entry); err != nil {
			return err
		}
		code := failureCode(err)
		switch {
		case err == nil:
			if entry.ClosesTicket {
				if err := tx.CloseTicketOf(ctx, scope, message); err != nil {
					return err
				}
			}
			var err error
			stored, err = tx.MarkSent(ctx, scope, message, contact.Number, sent)
			return err
		case errors.Is(err, driver.ErrUnclear):
			s.host.Log.WarnContext(ctx, "it is not known whether a message was sent; it is not sent again", "message_id", message.ID, "error", err)
			if err := markDisconnected(ctx, tx, entry, err); err != nil {
				return err
			}
			return tx.MarkUnclear(ctx, message, tx.Now().Add(receiptTimeout))
		case code == "" && tx.Now().Sub(entry.CreatedAt) < giveUpAfter:
			if isTakenBack {
				return s.takeBack(ctx, tx, entry, err)
			}
			return s.postpone(ctx, tx, entry, err)
		case code == "":
			code = CodeExpired
		case code == CodeNotRegistered && contact.NetworkNumber != nil: // not any more
			if err := tx.SetNetworkNumber(ctx, contact.CompanyID, contact.ID, nil); err != nil {
				return fmt.Errorf("forgetting a contact's number at the network: %w", err)
			}
		}
		return tx.MarkFailed(ctx, message, code)
	})
	return stored, err
}

// errWaiting means that a message was not tried.
var errWaiting = errors.New("the message waits")

// postpone puts a message off that could not be sent for a temporary reason. A connection
// whose network does not answer is not connected any more: its other messages wait until it
// is, and are not tried.
func (s *Service) postpone(ctx context.Context, tx *store.Tx, entry store.OutboxEntry, reason error) error {
	if errors.Is(reason, errWaiting) {
		return s.release(ctx, tx.Queries, []store.OutboxEntry{entry})
	}
	if err := markDisconnected(ctx, tx, entry, reason); err != nil {
		return err
	}
	s.host.Log.WarnContext(ctx, "a message could not be sent; trying again", "message_id", entry.MessageID, "attempts", entry.Attempts, "error", reason)
	dueAt, pausedUntil := tx.Now().Add(retryDelay(entry.Attempts)), (*time.Time)(nil)
	if requested := requestedDelay(reason); requested > 0 {
		until := tx.Now().Add(requested)
		pausedUntil = &until
		if until.After(dueAt) {
			dueAt = until
		}
	}
	return tx.PostponeOutboxEntry(ctx, dbgen.PostponeOutboxEntryParams{
		CompanyID: entry.CompanyID, MessageID: entry.MessageID, LeasedUntil: *entry.LeasedUntil, DueAt: dueAt, PausedUntil: pausedUntil, MayHaveArrived: mayHaveArrived(entry, reason),
	})
}

// isTakenBack reports whether a message that was not sent is one of a campaign that has been
// cancelled since it was begun, or was deleted. Campaigns are locked before the outbox: the campaign
// is not cancelled until the transaction ends, and then it finds the message in the outbox.
func (s *Service) isTakenBack(ctx context.Context, tx *store.Tx, message store.Message, reason error) (bool, error) {
	if reason == nil || message.Origin != chat.OriginCampaign {
		return false, nil
	}
	state, err := tx.CampaignStateOfMessage(ctx, message.CompanyID, message.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("loading the campaign of a message: %w", err)
	}
	return state == store.CampaignCancelled, nil
}

// takeBack takes a message out of the outbox that could not be sent for a temporary reason, as its
// campaign was cancelled. One that the network may have nevertheless does not go out again: the
// campaign may go on with another connection.
func (s *Service) takeBack(ctx context.Context, tx *store.Tx, entry store.OutboxEntry, reason error) error {
	if err := markDisconnected(ctx, tx, entry, reason); err != nil {
		return err
	}
	return tx.TakeBackCampaignMessage(ctx, dbgen.TakeBackCampaignMessageParams{
		CompanyID: entry.CompanyID, MessageID: entry.MessageID, LeasedUntil: *entry.LeasedUntil, Code: store.CodeCampaignCancelled, At: tx.Now(),
		MayHaveArrived: mayHaveArrived(entry, reason),
	})
}

// mayHaveArrived reports whether a network may have a message that could not be sent.
func mayHaveArrived(entry store.OutboxEntry, reason error) bool {
	return entry.HandedAt != nil || errors.As(reason, new(mayHaveArrivedError))
}

// markDisconnected stores that the connection of a message is not connected any more, if an
// error says so. It does not end the session. A network that does not answer is tried again; an
// account that may not send waits for people.
func markDisconnected(ctx context.Context, tx *store.Tx, entry store.OutboxEntry, reason error) error {
	down := dbgen.MarkConnectionDownParams{Status: chat.ConnectionTimeout, Reason: "The network does not respond.", At: tx.Now(), CompanyID: entry.CompanyID, ID: entry.ConnectionID}
	var account *driver.AccountError
	switch {
	case errors.As(reason, &account):
		down.Status, down.Reason = chat.ConnectionDisconnected, account.Reason
	case errors.Is(reason, driver.ErrUnreachable):
	case errors.Is(reason, driver.ErrNotConnected):
		down.Reason = "The network has ended the session."
	default:
		return nil
	}
	if err := tx.MarkConnectionDown(ctx, down); err != nil {
		return fmt.Errorf("storing that a connection is not connected: %w", err)
	}
	return nil
}

// checkAndSend checks that a message may still be sent, and hands it to its network. That is
// recorded first. isNetworkAsked is false if the network had no call for the message.
func (s *Service) checkAndSend(ctx context.Context, entry store.OutboxEntry, connection store.Connection, contact store.Contact, message store.Message) (sent driver.Sent, isNetworkAsked bool, err error) {
	network, err := s.drivers.ByName(connection.Driver)
	if err != nil {
		return driver.Sent{}, false, err
	}
	isIdempotent := network.Capabilities().Idempotent
	if entry.HandedAt != nil && !isIdempotent { // the process that began to send it died, or was too slow
		return driver.Sent{}, false, driver.ErrUnclear
	}
	out, err := s.prepare(ctx, connection, contact, message)
	if err != nil {
		return driver.Sent{}, false, err
	}
	opened, err := s.store.DriverConnection(connection)
	if err != nil {
		return driver.Sent{}, false, err
	}
	isNetworkAsked = needsNumberCheck(network, contact)
	to, err := s.resolveRecipient(ctx, network, opened, contact)
	if err != nil {
		return driver.Sent{}, isNetworkAsked, err
	}
	out.To, out.LID = to.number, to.lid
	if err := s.markHandedOver(ctx, entry); err != nil {
		return driver.Sent{}, isNetworkAsked, err
	}
	sent, err = driver.SendWithin(ctx, callTime, network, opened, out)
	if err != nil && isIdempotent && !errors.Is(err, driver.ErrNotConnected) && !errors.Is(err, driver.ErrNotTaken) {
		return sent, true, mayHaveArrivedError{err}
	}
	return sent, true, err
}

// prepare checks that a message may still be sent, and returns it as its network gets it, without
// the recipient.
func (s *Service) prepare(ctx context.Context, connection store.Connection, contact store.Contact, message store.Message) (driver.Outgoing, error) {
	// The contact may have opted out since the message was written.
	if err := CheckConsent(contact, message.Origin, s.host.Now()); err != nil {
		return driver.Outgoing{}, err
	}
	if connection.Status != chat.ConnectionConnected || ctx.Err() != nil {
		return driver.Outgoing{}, errWaiting
	}
	// Schedules, campaigns and late attempts come here without an earlier look.
	if err := s.CheckContent(ctx, s.store.Queries, connection, contact, message); err != nil {
		return driver.Outgoing{}, err
	}
	out := driver.Outgoing{ID: message.ID, Body: message.Body, Template: message.Template}
	if message.MediaID != nil {
		out.Media = &driver.Media{Type: message.MediaType, MimeType: pointer.ValueOrZero(message.MimeType), Name: pointer.ValueOrZero(message.MediaName), URL: s.media.SignedURL(*message.MediaID)}
	}
	if message.QuotedID != nil {
		quoted, err := s.store.Message(ctx, message.CompanyID, *message.QuotedID)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) { // one that was deleted is not quoted
			return driver.Outgoing{}, fmt.Errorf("loading the quoted message: %w", err)
		}
		out.QuotedRemoteID = pointer.ValueOrZero(quoted.RemoteID)
	}
	return out, nil
}

// failureCode returns the code of a final error of a driver, "" for a temporary error.
func failureCode(err error) string {
	var refusal *driver.RefusedError
	switch {
	case errors.As(err, &refusal):
		return refusal.Code
	case errors.Is(err, driver.ErrNotRegistered):
		return CodeNotRegistered
	case errors.Is(err, driver.ErrRefused):
		return CodeRefused
	case errors.Is(err, errWindowClosed):
		return CodeWindowClosed
	case errors.Is(err, errNoTemplates):
		return CodeNoTemplates
	case errors.Is(err, errOptedOut):
		return CodeOptedOut
	case errors.Is(err, errAnonymized):
		return CodeAnonymized
	}
	return ""
}

// retryDelay returns the time to the next attempt after some have failed.
func retryDelay(attempts int) time.Duration {
	delay := firstRetry
	for range attempts {
		if delay *= 2; delay >= maxRetry {
			return maxRetry
		}
	}
	return delay
}

// requestedDelay returns how long a network wants to be left alone, an hour at most; 0 = it did not
// say.
func requestedDelay(reason error) time.Duration {
	if later, ok := errors.AsType[*driver.RetryLaterError](reason); ok {
		return min(later.After, maxWait)
	}
	return 0
}

// PickConnection returns the connection to send on: the one asked for, or the default one.
// It returns a [hub.Error] if there is none (404 no_wapp_found for an id, 400
// wapp_not_initialized without one), or if it has no session (400 wapp_not_initialized).
// While its network does not respond, messages wait.
func (s *Service) PickConnection(ctx context.Context, company int64, id *int64) (store.Connection, error) {
	var connection store.Connection
	var err error
	if id != nil {
		connection, err = s.store.Connection(ctx, company, *id)
		if err != nil {
			return connection, dberr.MapNoRows(err, hub.Errorf(hub.ErrNotFound, "no_wapp_found", "There is no connection with this id."))
		}
	} else if connection, err = s.store.DefaultConnection(ctx, company); err != nil {
		return connection, dberr.MapNoRows(err, errNotInitialized("The company has no connection: add one and scan its QR code."))
	}
	if connection.Status != chat.ConnectionConnected && connection.Status != chat.ConnectionTimeout {
		return connection, errNotInitialized("The connection is not connected: scan its QR code first.")
	}
	return connection, nil
}

// CheckNumber returns the form in which a number is registered at the network of a connection; ""
// = it cannot be asked. It returns a [hub.Error] if the number is not registered (400
// wapp_invalid_contact), or the network does not respond now (503 wapp_check_contact). On a
// connection that is down, the network refuses the message later.
func (s *Service) CheckNumber(ctx context.Context, connection store.Connection, number string) (registered string, err error) {
	network, err := s.drivers.ByName(connection.Driver)
	if err != nil || connection.Status != chat.ConnectionConnected || !network.Capabilities().NumberCheck {
		return "", err
	}
	opened, err := s.store.DriverConnection(connection)
	if err != nil {
		return "", err
	}
	registered, err = registeredNumber(ctx, network, opened, number)
	switch {
	case errors.Is(err, driver.ErrNotRegistered):
		return "", hub.Errorf(hub.ErrMalformed, "wapp_invalid_contact", "The number is not registered at the network.")
	case err != nil:
		return "", hub.Errorf(hub.ErrUnavailable, "wapp_check_contact", "The network does not respond; try again.").WithCause(err)
	}
	return registered, nil
}

// CloseTicket closes a ticket for a program, with a resolution unless that is nil. A closed
// one stays as it is; an unknown one is a [hub.ErrNotFound].
func (s *Service) CloseTicket(ctx context.Context, scope store.Scope, ticketID int64, resolution *string) error {
	return s.store.InTx(ctx, "closing a ticket", func(tx *store.Tx) error { return tx.CloseTicket(ctx, scope, ticketID, resolution) })
}

// errNotInitialized is the error for callers who have no connection to send on.
func errNotInitialized(message string) *hub.Error {
	return hub.Errorf(hub.ErrMalformed, "wapp_not_initialized", "%s", message)
}
