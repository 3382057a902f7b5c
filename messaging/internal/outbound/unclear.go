package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/messaging/internal/store"
	"integrationhub/messaging/internal/store/dbgen"
)

// receiptTimeout is how long the network's receipt of a message is awaited, after its response was
// lost.
const receiptTimeout = time.Hour

// errNotHeld means that this process does not hold a message any more: it has not begun to send
// it, and must not.
var errNotHeld = errors.New("the message is not this process's any more")

// mayHaveArrivedError is a temporary error after which the network may have taken the message
// nevertheless. It recognizes the message when that comes again; another network would not.
type mayHaveArrivedError struct{ error }

// Unwrap returns the network's error.
func (e mayHaveArrivedError) Unwrap() error { return e.error }

// markHandedOver records that a message is about to be handed to its network. From then on
// nobody takes it for one that was not sent. It returns errNotHeld if the message was taken back
// meanwhile, or the lease has ended.
func (s *Service) markHandedOver(ctx context.Context, entry store.OutboxEntry) error {
	marked, err := s.store.MarkHandedOver(ctx, dbgen.MarkHandedOverParams{
		At: s.host.Now(), CompanyID: entry.CompanyID, MessageID: entry.MessageID, ConnectionID: entry.ConnectionID, LeasedUntil: *entry.LeasedUntil,
	})
	if err != nil {
		return fmt.Errorf("marking a message that is handed over: %w", err)
	}
	if marked == 0 {
		return errNotHeld
	}
	return nil
}

// GiveUpUnclear ends the wait for receipts of messages whose response was lost: a background
// job. What fails for a message holds up no other.
func (s *Service) GiveUpUnclear(ctx context.Context, _ []byte) error {
	due, err := s.store.DueUnclearMessages(ctx, s.host.Now())
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range due {
		if ctx.Err() != nil {
			errs = append(errs, ctx.Err())
			break
		}
		err := s.store.InTx(ctx, "giving up an unclear message", func(tx *store.Tx) error {
			return tx.GiveUpUnclear(ctx, m.CompanyID, m.MessageID)
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("message %s of company %d: %w", m.MessageID, m.CompanyID, err))
		}
	}
	return errors.Join(errs...)
}
