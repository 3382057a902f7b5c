package store

import (
	"context"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/payment/provider"
	"integrationhub/scheduling/internal/store/dbgen"
)

// JobPayments is the job that settles provider events and sends refunds.
const JobPayments = "payments"

// StoreProviderEvent stores a provider's webhook once. The payments job settles it.
func (s *Store) StoreProviderEvent(ctx context.Context, providerName string, event provider.Event, body []byte) error {
	return s.InTx(ctx, "storing a provider event", func(tx *Tx) error {
		added, err := tx.InsertProviderEvent(ctx, dbgen.InsertProviderEventParams{Provider: providerName, EventID: event.ID, ChargeID: event.ChargeID, Body: body, ReceivedAt: tx.now})
		if err != nil || added == 0 {
			return err
		}
		return tx.wakePaymentsJob(ctx)
	})
}

// wakePaymentsJob runs the payments job soon after the commit.
func (t *Tx) wakePaymentsJob(ctx context.Context) error {
	return t.Host.Jobs.Enqueue(ctx, t.Raw, module.JobRun{Job: JobPayments, Key: "now"})
}
