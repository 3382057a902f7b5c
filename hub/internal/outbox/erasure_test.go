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

// roomy is a dispatcher with room for every delivery, which sends none.
type roomy struct{ noPlace }

func (roomy) Reserve(*directory.Target, hub.Priority) bool { return true }

// A person's deletion is held, however it is published: it takes no place in a process's queue,
// and is due when the eraser says so. Others of the same commit, and examples, are sent at once.
func TestDeletionsAreHeld(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 20)
	o := New(p.pool, p.directory, roomy{noPlace{p.dispatcher.(noPlace).Dispatcher}}, metrics.New(), p.log, time.Now, 20)
	t.Cleanup(o.Close)
	ctx, tenant := t.Context(), p.tenant(1)
	p.exec(`update hub.endpoints set event_types = '{*}', ordered = true`)
	publication := func(eventType, orderingKey string) *Publication {
		return &Publication{TenantID: tenant, Environment: hub.Live, Product: "shop", Type: eventType, OrderingKey: orderingKey, Data: []byte(`{}`)}
	}
	deletion, example := publication("patient.deleted", ""), publication("patient.deleted", "")
	example.ExampleOf = "shop"
	keyed := publication("patient.deleted", "")
	keyed.IdempotencyKey = "key:k"
	_, err := o.PublishAll(ctx, []*Publication{publication("a.b", ""), deletion, example})
	require.NoError(t, err)
	_, err = o.Publish(ctx, keyed)
	require.NoError(t, err)
	_, err = o.PublishAll(ctx, []*Publication{publication("patient.deleted", "k"), publication("patient.deleted", "k")})
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		_, err := ProductPublisher{o, "shop"}.Publish(ctx, tx, hub.Event{TenantID: tenant, Environment: hub.Live, Type: "patient.deleted", Data: []byte(`{}`)})
		return err
	}))
	rows, err := p.pool.Query(ctx, `
		select e.event_type || coalesce(' ' || d.ordering_key, '') || case when d.due_at = 'infinity' then ' behind' when d.due_at > now() and d.due_at = hub.deletion_due_at(d.id) then ' held' when d.id is null then ' leased' else ' due' end
		from hub.events e left join hub.deliveries d on (overlay(d.id::text placing '0000' from 33))::uuid = e.seq order by e.seq`)
	require.NoError(t, err)
	states, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"a.b leased", "patient.deleted held", "patient.deleted leased", // the example
		"patient.deleted held", "patient.deleted k held", "patient.deleted k behind", "patient.deleted held",
	}, states)
}
