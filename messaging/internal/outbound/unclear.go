package outbound

import (
	"context"
	"fmt"
	"time"

	"integrationhub/messaging/internal/driver"
	"integrationhub/messaging/internal/store"
)

// reportTime is how long the network's report on a message is awaited, after its answer was
// lost.
const reportTime = time.Hour

// markHandedOver records that a message is about to be sent on a network that does not
// recognize repeated requests. It returns [driver.ErrUnclear] if that was recorded before:
// the process that did it died, or was too slow.
func (s *Service) markHandedOver(ctx context.Context, entry store.OutboxEntry) error {
	marked, err := s.store.MarkHandedOver(ctx, s.host.Now(), entry.CompanyID, entry.MessageID)
	if err != nil {
		return fmt.Errorf("marking a message that is handed over: %w", err)
	}
	if marked == 0 {
		return driver.ErrUnclear
	}
	return nil
}

// GiveUpUnclear ends the wait for reports on messages whose answer was lost: a background
// job.
func (s *Service) GiveUpUnclear(ctx context.Context, _ []byte) error {
	due, err := s.store.DueUnclearMessages(ctx, s.host.Now())
	if err != nil {
		return err
	}
	for _, m := range due {
		err := s.store.InTx(ctx, "giving up an unclear message", func(tx *store.Tx) error {
			return tx.GiveUpUnclear(ctx, m.CompanyID, m.MessageID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
