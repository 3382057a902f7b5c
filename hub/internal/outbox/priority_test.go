package outbox

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/module"
)

// priorities returns the priorities of a tenant's events, and of its deliveries, by type.
func (p *place) priorities(tenant uuid.UUID) map[string][2]hub.Priority {
	p.t.Helper()
	rows, err := p.pool.Query(p.t.Context(), `
		select e.event_type, e.priority, d.priority from hub.events e join hub.deliveries d on (overlay(d.id::text placing '0000' from 33))::uuid = e.seq where e.tenant_id = $1`, tenant)
	require.NoError(p.t, err)
	found := make(map[string][2]hub.Priority)
	var eventType string
	var event, delivery hub.Priority
	_, err = pgx.ForEachRow(rows, []any{&eventType, &event, &delivery}, func() error {
		found[eventType] = [2]hub.Priority{event, delivery}
		return nil
	})
	require.NoError(p.t, err)
	return found
}

// An event's priority is stored with it and with its deliveries; deletions and pings are
// high, whoever publishes them.
func TestPrioritiesAreStored(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 20)
	ctx, tenant := t.Context(), p.tenant(1)
	p.exec(`update hub.endpoints set event_types = '{*,hub.*}'`)
	list := publications(tenant, 4, "")
	list[0].Type, list[1].Type, list[2].Type, list[3].Type = "a.normal", "a.bulk", "patient.deleted", delivery.TypePing
	list[1].Priority = hub.PriorityBulk
	_, err := p.PublishAll(ctx, list)
	require.NoError(t, err)
	_, err = p.Publish(ctx, publications(tenant, 1, "k")[0])
	require.NoError(t, err)
	require.Equal(t, map[string][2]hub.Priority{
		"a.normal": {0, 0}, "a.bulk": {1, 1}, "patient.deleted": {-1, -1}, delivery.TypePing: {-1, -1}, "a.b": {0, 0},
	}, p.priorities(tenant))

	// The same for a hosted product, in its own transaction.
	hosted, shop := p.tenant(1), ProductPublisher{p.Outbox, "shop"}
	p.exec(`update hub.endpoints set event_types = '{*}'`)
	_, err = p.directory.RefreshSince(ctx, p.directory.Snapshot())
	require.NoError(t, err)
	events := make([]hub.Event, 3)
	for i, eventType := range []string{"a.normal", "a.bulk", "patient.deleted"} {
		events[i] = hub.Event{TenantID: hosted, Environment: hub.Live, Type: eventType, Data: []byte(`{}`)}
	}
	events[1].Priority, events[2].Priority = hub.PriorityBulk, hub.PriorityBulk
	require.NoError(t, pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		_, err := shop.PublishTo(ctx, tx, module.Audience{}, events)
		return err
	}))
	require.Equal(t, map[string][2]hub.Priority{"a.normal": {0, 0}, "a.bulk": {1, 1}, "patient.deleted": {-1, -1}}, p.priorities(hosted))
	events[0].Priority = 2
	require.ErrorContains(t, pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		_, err := shop.PublishTo(ctx, tx, module.Audience{}, events)
		return err
	}), "there is no priority 2")
}

// Statements about normal events are those of before there were priorities.
func TestNormalEventsNameNoPriority(t *testing.T) {
	t.Parallel()
	require.False(t, hasPriorities([]*preparedEvent{{}, {}}))
	require.True(t, hasPriorities([]*preparedEvent{{}, {priority: hub.PriorityHigh}}))
}
