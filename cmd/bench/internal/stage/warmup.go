package stage

import (
	"context"
	"fmt"

	"integrationhub/cmd/bench/internal/load"
)

// WarmUpEvents are sent and delivered before the measurement, to open connections and
// grow heaps. Their numbers start at WarmUpFirst, so that late ones are recognized.
const (
	WarmUpEvents = 2000
	WarmUpFirst  = 1 << 40
)

// WarmUp sends events, waits until all have arrived, and clears the receiver's record.
func (st *Stage) WarmUp(ctx context.Context, events int) error {
	o := st.Run.Options
	g, err := st.Generate(ctx, load.Spec{Connections: o.Connections, Events: events, Size: o.Size, First: WarmUpFirst})
	if err != nil {
		return err
	}
	if g.Summary.Accepted == 0 {
		return fmt.Errorf("no event was accepted; statuses: %v", g.Summary.Statuses)
	}
	balance, _, err := st.AwaitArrivals(ctx, g.Sent)
	if err != nil {
		return err
	}
	if balance.Delivered == 0 || !balance.Sound() {
		return fmt.Errorf("the ledger does not hold: %d lost, %d unknown, %d altered, %d forged, %d of %d delivered",
			balance.Lost, balance.Unknown, balance.Altered, balance.Forged, balance.Delivered, balance.Expected)
	}
	if err := st.AwaitLog(ctx); err != nil {
		return err
	}
	return st.ClearRecord(ctx)
}

// ClearRecord clears the receiver's record.
func (st *Stage) ClearRecord(ctx context.Context) error {
	_, err := st.control(ctx, "/control/reset", nil)
	return err
}
