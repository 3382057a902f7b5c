package write

import (
	"context"
	"slices"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger"
	"integrationhub/hub/internal/store/bulk"
)

// maxDeferred is how many attempts wait for locked orders; beyond it all others wait too.
const maxDeferred = 4096

// makesHeadFinal reports whether an attempt makes the head of an order final: the next one is due
// then.
func makesHeadFinal(a *delivery.AttemptResult) bool {
	return a.OrderingKey != "" && (a.Decision.Status == delivery.Delivered || a.Decision.Status == delivery.Failed)
}

// lockOrders locks the keys of orders whose heads a batch settles, in the order in which
// commits lock them. The trigger hub.free_place would lock them in the batch's order, and two
// transactions would wait for each other.
func (r *rows) lockOrders(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.orders.Reset(bulk.UUIDs, bulk.Texts)
	hasOrders := false
	for i := range batch {
		a := &batch[i]
		if !makesHeadFinal(a) {
			continue
		}
		hasOrders = true
		r.orders[0].UUID(a.TargetID)
		r.orders[1].Text(a.OrderingKey)
	}
	if hasOrders {
		statements.Add(ledger.BoundLockWaitsSQL, nil)
		statements.Add(`
			select from hub.ordering_keys k join unnest($1::uuid[], $2::text[]) u(target_id, key) on k.target_id = u.target_id and k.key = u.key
			order by k.target_id, k.key for update of k`, r.orders)
		statements.Add(ledger.WaitForLocksSQL, nil)
	}
}

// deferLocked returns the attempts of a batch that can be stored now. Those whose orders
// another transaction has locked are stored when it has ended, as a product keeps keys until
// its transaction ends, and a frozen process until PostgreSQL ends its session: the attempts
// of others do not wait for that.
func (w *Writer) deferLocked(batch []delivery.AttemptResult) []delivery.AttemptResult {
	orders := make([]ledger.Order, 0, len(batch))
	for i := range batch {
		if makesHeadFinal(&batch[i]) {
			orders = append(orders, ledger.Order{TargetID: batch[i].TargetID, Key: batch[i].OrderingKey})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	states, err := ledger.OrderStates(ctx, w.pool, orders)
	if err != nil {
		return batch // storing it fails too, and waits
	}
	free := make([]delivery.AttemptResult, 0, len(batch))
	for _, a := range batch {
		state := states[ledger.Order{TargetID: a.TargetID, Key: a.OrderingKey}]
		if makesHeadFinal(&a) && state.Exists && !state.IsFree && len(w.deferred) < maxDeferred {
			w.deferred = append(w.deferred, a)
		} else {
			free = append(free, a)
		}
	}
	if len(w.deferred) > 0 && !w.isDeferring {
		w.isDeferring = true
		w.log.Warn("another transaction keeps ordering keys locked; attempts that settle their deliveries wait for it", "attempts", len(w.deferred))
	}
	return free
}

// takeDeferred returns the deferred attempts and empties their list.
func (w *Writer) takeDeferred() []delivery.AttemptResult {
	batch := slices.Clone(w.deferred)
	clear(w.deferred)
	w.deferred = w.deferred[:0]
	return batch
}

// storeFree stores the deferred attempts whose orders are free by now.
func (w *Writer) storeFree() {
	if len(w.deferred) == 0 {
		return
	}
	w.store(w.deferLocked(w.takeDeferred()))
	w.isDeferring = len(w.deferred) > 0
}
