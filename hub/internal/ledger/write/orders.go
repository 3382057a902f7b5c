package write

import (
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/store/bulk"
)

// lockOrders locks the keys of orders whose heads a batch settles, in the order in which
// commits lock them. The trigger hub.free_place would lock them in the batch's order, and two
// transactions would wait for each other.
func (r *rows) lockOrders(statements *bulk.Batch, batch []delivery.AttemptResult) {
	r.orders.Reset(bulk.UUIDs, bulk.Texts)
	hasOrders := false
	for i := range batch {
		a := &batch[i]
		if a.OrderingKey == "" || a.Decision.Status != delivery.Delivered && a.Decision.Status != delivery.Failed {
			continue
		}
		hasOrders = true
		r.orders[0].UUID(a.Target)
		r.orders[1].Text(a.OrderingKey)
	}
	if hasOrders {
		statements.Add(`
			select from hub.ordering_keys k join unnest($1::uuid[], $2::text[]) u(target_id, key) on k.target_id = u.target_id and k.key = u.key
			order by k.target_id, k.key for update of k`, r.orders)
	}
}
