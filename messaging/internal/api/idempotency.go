package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/module/dberr"
	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/store"
)

const (
	responseWait        = 35 * time.Second // for the response to a request in flight: longer than a driver's call
	responsePoll        = 50 * time.Millisecond
	storeResponseWithin = 2 * time.Second // of the request: a response that is not stored by then never will be
)

// errKeyTaken ends the transaction of a request whose Idempotency-Key another one has used.
var errKeyTaken = errors.New("the idempotency key was used before")

// storedResponse is what is stored of a response of the send API. Who it was sent to is not:
// it may be erased.
type storedResponse struct {
	Status    string    `json:"status"`
	Ack       chat.Ack  `json:"ack"`
	TicketID  int64     `json:"ticketId"`
	ContactID int64     `json:"contactId"`
	Timestamp time.Time `json:"timestamp"`
	ErrorCode *string   `json:"errorCode,omitempty"`
}

// requestKey returns the Idempotency-Key of a request, or nil if it has none.
func requestKey(from sendCaller, in *sendInput) (*store.RequestKey, error) {
	if in.IdempotencyKey == "" {
		return nil, nil
	}
	if strings.ContainsFunc(in.IdempotencyKey, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, hub.Invalid("header.Idempotency-Key", "must have printable ASCII characters only")
	}
	raw, err := json.Marshal(in.Body)
	if err != nil {
		return nil, fmt.Errorf("encoding a request: %w", err)
	}
	hash := sha256.Sum256(raw)
	return &store.RequestKey{Company: from.scope.Company, Caller: from.subject, Key: in.IdempotencyKey, BodyHash: hash[:]}, nil
}

// repeatResponse returns the response to the first request with a key. If that is in flight, it
// waits. isKnown is false if there was none.
func (a *API) repeatResponse(ctx context.Context, key store.RequestKey, number string) (out *sendOutput, isKnown bool, err error) {
	deadline := time.NewTimer(responseWait)
	defer deadline.Stop()
	tick := time.NewTicker(responsePoll)
	defer tick.Stop()
	for {
		row, err := a.store.FindKey(ctx, key)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil, false, nil
		case err != nil:
			return nil, true, err
		case string(row.BodyHash) != string(key.BodyHash):
			return nil, true, hub.Invalid("header.Idempotency-Key", "was used with another body before")
		case row.Answer != nil:
			out, err := a.responseOf(ctx, row, number)
			return out, true, err
		}
		if a.host.Now().Sub(row.CreatedAt) > storeResponseWithin {
			if message, err := a.store.Message(ctx, row.CompanyID, row.MessageID); err != nil || message.Ack != chat.AckPending {
				out, err := a.responseFromMessage(ctx, row)
				return out, true, err
			}
		}
		select {
		case <-tick.C:
		case <-deadline.C: // the process that had it is gone; the job sends the message
			out, err := a.responseFromMessage(ctx, row)
			return out, true, err
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
	}
}

// responseOf returns a stored response.
func (a *API) responseOf(ctx context.Context, row store.IdempotencyRow, number string) (*sendOutput, error) {
	var stored storedResponse
	if err := json.Unmarshal(row.Answer, &stored); err != nil {
		return nil, fmt.Errorf("reading a stored response: %w", err)
	}
	if stored.Ack == chat.AckFailed {
		return nil, outbound.RefusalError(stored.ErrorCode)
	}
	contact, err := a.store.Contact(ctx, row.CompanyID, stored.ContactID)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // it was deleted
	case err != nil:
		return nil, err
	default:
		number = contact.Number
	}
	return &sendOutput{SentMessage{row.MessageID, row.MessageID, stored.Status, stored.Ack, number, stored.TicketID, stored.ContactID, stored.Timestamp.UTC()}}, nil
}

// responseFromMessage returns the response to a request whose own was not stored.
func (a *API) responseFromMessage(ctx context.Context, row store.IdempotencyRow) (*sendOutput, error) {
	message, err := a.store.Message(ctx, row.CompanyID, row.MessageID)
	if err != nil {
		return nil, dberr.MapNoRows(err, notFound("no_message_found", "message"))
	}
	contact, err := a.store.Contact(ctx, row.CompanyID, message.ContactID)
	if err != nil {
		return nil, err
	}
	return toSent(message, contact)
}

// saveResponse stores the response to a request with a key. Without it a repeated request gets
// the state of the message.
func (a *API) saveResponse(ctx context.Context, key store.RequestKey, message store.Message) {
	raw, err := json.Marshal(storedResponse{sentStatus(message), message.Ack, *message.TicketID, message.ContactID, message.SentAt, message.ErrorCode})
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = a.store.SaveResponse(ctx, key, message.ID, raw)
	}
	if err != nil {
		a.host.Log.WarnContext(ctx, "the response to a request with an idempotency key was not stored", "message_id", message.ID, "error", err)
	}
}
