package outbox

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module"
)

// When the first delivery of a key is settled, the next one is due in the same transaction,
// and the notification of it names its priority.
func TestNextInOrderIsAnnounced(t *testing.T) {
	t.Parallel()
	pool := hubtest.Database(t)
	listener, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer listener.Release()
	_, err = listener.Exec(t.Context(), `listen hub_due`)
	require.NoError(t, err)
	tenant, target := uuid.New(), uuid.New()
	priorities := []hub.Priority{hub.PriorityNormal, hub.PriorityBulk, hub.PriorityHigh, hub.PriorityNormal}
	ids := make([]uuid.UUID, len(priorities))
	for place, priority := range priorities {
		ids[place] = logid.Delivery(logid.NewSeq(time.Now()), 1)
		_, err = pool.Exec(t.Context(), `
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, ordering_key, priority, due_at)
			values ($1, 7, $2, $3, 'live', 'shop', 'a.b', 'k', $4, case when $5 = 0 then now() else 'infinity' end)`, ids[place], tenant, target, priority, place)
		require.NoError(t, err)
		if place > 0 {
			_, err = pool.Exec(t.Context(), `insert into hub.ordering_queue (target_id, key, place, delivery_id) values ($1, 'k', $2, $3)`, target, place, ids[place])
			require.NoError(t, err)
		}
	}
	_, err = pool.Exec(t.Context(), `insert into hub.ordering_keys (target_id, key, accepted, waiting, head) values ($1, 'k', $2::bigint, $2::bigint, $3)`, target, len(ids), ids[0])
	require.NoError(t, err)
	for place, id := range ids {
		_, err = pool.Exec(t.Context(), `update hub.deliveries set status = 1, finished_at = now() where id = $1`, id)
		require.NoError(t, err)
		if place == len(ids)-1 {
			break
		}
		notification, err := listener.Conn().WaitForNotification(t.Context())
		require.NoError(t, err)
		require.Equal(t, delivery.FormatDue(target, priorities[place+1]), notification.Payload)
		var due []uuid.UUID
		require.NoError(t, pool.QueryRow(t.Context(), `select array_agg(id) from hub.deliveries where status = 0 and due_at <= now()`).Scan(&due))
		require.Equal(t, []uuid.UUID{ids[place+1]}, due, "that one alone")
	}
	var waiting int
	require.NoError(t, pool.QueryRow(t.Context(), `select waiting from hub.ordering_keys where head is null`).Scan(&waiting))
	require.Zero(t, waiting)
}

// What a hosted product publishes with an ordering key takes places at ordered endpoints, also
// within one transaction.
func TestProductsPublishInOrder(t *testing.T) {
	t.Parallel()
	ctx, ordered := t.Context(), true
	s := newShop(t, registry.EndpointState{URL: "https://example.com", EventTypes: []string{"*"}, Enabled: true, Ordered: &ordered})
	publisher := ProductPublisher{Outbox: s.outbox, Name: "shop"}
	publish := func(keys ...string) error {
		events := make([]hub.Event, len(keys))
		for i, key := range keys {
			events[i] = hub.Event{TenantID: s.tenant.ID, Environment: hub.Live, Type: "order.paid", Data: []byte(`{}`), OrderingKey: key}
		}
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			_, err := publisher.PublishTo(ctx, tx, module.Audience{}, events)
			return err
		})
	}
	require.NoError(t, publish("a", "b", "a"))
	require.NoError(t, publish("", "b"))
	require.ErrorContains(t, publish(strings.Repeat("k", 201)), "its ordering key has 201 bytes")
	rows, err := s.pool.Query(ctx, `select coalesce(d.ordering_key, '') || ' ' || coalesce(e.ordering_key, '') || ' ' || (d.due_at = 'infinity') from hub.deliveries d join hub.events e on e.id = d.event_id order by d.id`)
	require.NoError(t, err)
	stored, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"a a false", "b b false", "a a true", "  false", "b b true"}, stored)
}
