package outbox

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/metrics"
)

// However a deletion event is published, its erasure is asked for in the transaction that
// stores it, and with no other event.
func TestErasuresAreAskedFor(t *testing.T) {
	t.Parallel()
	pool, ctx := hubtest.Database(t), context.Background()
	log := slog.New(slog.DiscardHandler)
	o := New(pool, directory.New(pool, nil, nil, log, time.Now), delivery.NewDispatcher(delivery.Config{Now: time.Now}), metrics.New(), log, time.Now, 10_000)
	t.Cleanup(o.Close)
	tenant := uuid.New()
	asked := func() (ids []string) {
		rows, err := pool.Query(ctx, `
			select e.id from hub.erasures r join hub.events e using (seq)
			where r.tenant_id = $1 and r.tenant_id = e.tenant_id and r.environment = e.environment order by r.requested_at`, tenant)
		require.NoError(t, err)
		var id int64
		_, err = pgx.ForEachRow(rows, []any{&id}, func() error { ids = append(ids, hub.FormatEventID(uint64(id))); return nil })
		require.NoError(t, err)
		return ids
	}
	publication := func(eventType, key string) *Publication {
		return &Publication{TenantID: tenant, Environment: hub.Test, Product: "shop", Type: eventType, Data: []byte(`{}`), IdempotencyKey: key, Targets: []*directory.Target{}}
	}
	results, err := o.PublishAll(ctx, []*Publication{publication("patient.created", ""), publication("patient.deleted", ""), publication("patient.deleted.not", "")})
	require.NoError(t, err)
	require.Equal(t, []string{results[1].ID}, asked())
	keyed, err := o.Publish(ctx, publication("patient.deleted", "key:k"))
	require.NoError(t, err)
	_, err = o.Publish(ctx, publication("patient.deleted", "key:k"))
	require.NoError(t, err)
	require.Equal(t, []string{results[1].ID, keyed.ID}, asked(), "once for what was published once")

	clinic := ProductPublisher{Outbox: o, Name: "clinic"}
	event := hub.Event{TenantID: tenant, Environment: hub.Live, Type: "patient.deleted", Data: []byte(`{}`)}
	undone := errors.New("undone")
	require.ErrorIs(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := clinic.Publish(ctx, tx, event)
		return errors.Join(err, undone)
	}), undone)
	require.Len(t, asked(), 2, "it was taken back with its event")
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := clinic.Publish(ctx, tx, event)
		return err
	}))
	require.Len(t, asked(), 3)
}
