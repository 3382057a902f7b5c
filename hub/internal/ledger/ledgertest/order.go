package ledgertest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/logid"
)

// MeetSettlement makes two deliveries with one ordering key, of the product shop and of one
// day. It begins to settle the first one, as the writer does, and then calls act with both.
// Once act waits for a lock, the settlement goes on, which makes the second delivery the next
// one of its key. Neither may fail, and no place may be taken afterwards.
func MeetSettlement(t *testing.T, pool *pgxpool.Pool, act func(ids []uuid.UUID) error) {
	t.Helper()
	ctx, seq, target := t.Context(), logid.NewSeq(time.Now()), uuid.New()
	ids := []uuid.UUID{logid.Delivery(seq, 1), logid.Delivery(seq, 2)}
	for place, id := range ids {
		_, err := pool.Exec(ctx, `
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, ordering_key, due_at)
			values ($1, 7, $2, $2, 'live', 'shop', 'a.b', 'k', case when $3 = 0 then now() else 'infinity' end)`, id, target, place)
		require.NoError(t, err)
	}
	_, err := pool.Exec(ctx, `
		with key as (insert into hub.ordering_keys (target_id, key, accepted, waiting, head) values ($1, 'k', 2, 2, $2))
		insert into hub.ordering_queue (target_id, key, place, delivery_id) values ($1, 'k', 2, $3)`, target, ids[0], ids[1])
	require.NoError(t, err)

	settlement, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = settlement.Rollback(ctx) }()
	_, err = settlement.Exec(ctx, `select from hub.ordering_keys for update`)
	require.NoError(t, err)
	acted := make(chan error, 1)
	go func() { acted <- act(ids) }()
	require.Eventually(t, func() bool {
		var waits bool
		err := pool.QueryRow(ctx, `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits)
		return err == nil && waits
	}, 20*time.Second, 10*time.Millisecond)
	_, err = settlement.Exec(ctx, `update hub.deliveries set status = 1, finished_at = now() where id = $1`, ids[0])
	require.NoError(t, err)
	require.NoError(t, settlement.Commit(ctx))
	require.NoError(t, <-acted)
	var waiting int
	require.NoError(t, pool.QueryRow(ctx, `select sum(waiting) from hub.ordering_keys`).Scan(&waiting))
	require.Zero(t, waiting)
}
