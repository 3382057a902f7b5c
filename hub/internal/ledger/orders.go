package ledger

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Statements around one that locks keys of orders. It fails when it waits for a key longer
// than settlements and commits hold one: the process that has it may be frozen, and a product
// keeps one until its transaction ends. Meanwhile the keys of others, locked before, would
// wait too.
const (
	BoundLockWaitsSQL = `select set_config('lock_timeout', '300ms', true)`
	WaitForLocksSQL   = `select set_config('lock_timeout', '0', true)`
)

// LockOrders locks the keys of the orders in which waiting deliveries of a table have places,
// in the order in which commits lock them. A transaction that fails waiting deliveries calls
// it before it locks their rows: whoever settles the delivery before one of them locks the
// key first and then the row of the next. The error is a lock timeout if another
// transaction keeps one of the keys: try again later.
func LockOrders(ctx context.Context, tx pgx.Tx, table string, ids []uuid.UUID) error {
	statements := &pgx.Batch{}
	statements.Queue(BoundLockWaitsSQL)
	statements.Queue(`
		select from hub.ordering_keys k where (k.target_id, k.key) in (
			select d.target_id, d.ordering_key from unnest($1::uuid[]) u(id) join `+table+` d on d.id = u.id
			where d.ordering_key is not null and d.status + 0 in (0, 2))
		order by k.target_id, k.key for update`, ids)
	statements.Queue(WaitForLocksSQL)
	if err := tx.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("locking the orders of %d deliveries: %w", len(ids), err)
	}
	return nil
}

// Order names the order of a target and an ordering key.
type Order struct {
	TargetID uuid.UUID
	Key      string
}

// OrderState is whether the key of an order could be locked now.
type OrderState struct {
	Exists bool // committed
	IsFree bool // exists, and no transaction has it locked
}

// OrderStates returns which keys of orders other transactions have locked. It waits for none.
func OrderStates(ctx context.Context, pool *pgxpool.Pool, orders []Order) (map[Order]OrderState, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	targets, keys := make([]uuid.UUID, len(orders)), make([]string, len(orders))
	for i, order := range orders {
		targets[i], keys[i] = order.TargetID, order.Key
	}
	rows, err := pool.Query(ctx, `
		select u.target_id, u.key, exists (select from hub.ordering_keys k where k.target_id = u.target_id and k.key = u.key),
			exists (select from hub.ordering_keys k where k.target_id = u.target_id and k.key = u.key for update skip locked)
		from unnest($1::uuid[], $2::text[]) u(target_id, key)`, targets, keys)
	if err != nil {
		return nil, fmt.Errorf("looking for locked orders: %w", err)
	}
	states := make(map[Order]OrderState, len(orders))
	var order Order
	var state OrderState
	_, err = pgx.ForEachRow(rows, []any{&order.TargetID, &order.Key, &state.Exists, &state.IsFree}, func() error {
		states[order] = state
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for locked orders: %w", err)
	}
	return states, nil
}
