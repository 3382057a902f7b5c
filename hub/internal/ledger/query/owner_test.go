package query_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// fillDays stores events of a tenant with a delivery each, on the three days of the log and in
// both environments, and has PostgreSQL count them.
func (b *book) fillDays(t *testing.T, tenant, target uuid.UUID, environment string, perDay int) {
	t.Helper()
	for day := range 3 {
		_, err := b.pool.Exec(t.Context(), `
			with made as (
				select (overlay(overlay($3::uuid::text placing lpad(to_hex(n), 8, '0') from 25) placing '0000' from 33))::uuid as seq, n
				from generate_series(1, $4::int) n),
			events as (
				insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
				select seq, n, $1, $5, 'shop', 'a.b', 1, '{}' from made)
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, finished_at)
			select (overlay(seq::text placing '0001' from 33))::uuid, n, $1, $2, $5, 'shop', 'a.b', 1, now() from made`,
			tenant, target, logid.Floor(b.noon.Add(time.Duration(day-1)*24*time.Hour)), perDay, environment)
		require.NoError(t, err)
	}
	_, err := b.pool.Exec(t.Context(), `vacuum analyze hub.events, hub.deliveries`)
	require.NoError(t, err)
}

// requireBounded requires that a plan looks at few rows.
func requireBounded(t *testing.T, plan string) {
	t.Helper()
	require.NotRegexp(t, `Seq Scan on (events|deliveries)_p[0-9]+ [^\n]*rows=[0-9]{3,}`, plan)
	require.NotRegexp(t, `Rows Removed by [A-Za-z ]+: [0-9]{3,}`, plan)
}

// A tenant without events, and one without any in the other environment, is not looked for
// among the events and deliveries of others, however many these are.
func TestOwnersWithoutEventsReadNobodyElses(t *testing.T) {
	t.Parallel()
	b := newBook(t, 1)
	_, err := b.pool.Exec(t.Context(), `truncate hub.events, hub.deliveries`)
	require.NoError(t, err)
	b.fillDays(t, b.tenants[0], b.targets[0], "live", 10_000)
	for name, f := range map[string]query.Filter{
		"another tenant":             {TenantID: &b.tenants[1], Environment: "live"},
		"the other environment":      {TenantID: &b.tenants[0], Environment: "test"},
		"another tenant's endpoint":  {TenantID: &b.tenants[1], Environment: "live", EndpointID: &b.targets[0]},
		"another tenant's type":      {TenantID: &b.tenants[1], Environment: "live", EventType: "a.b"},
		"another tenant's delivered": {TenantID: &b.tenants[1], Environment: "live", Status: "delivered"},
	} {
		owner := query.Owner{TenantID: f.TenantID, Environment: f.Environment}
		events, err := b.reader.Events(t.Context(), query.EventFilter{Owner: owner}, nil, 51)
		require.NoError(t, err)
		require.Empty(t, events, name)
		items, err := b.reader.List(t.Context(), f, nil, 51)
		require.NoError(t, err)
		require.Empty(t, items, name)
		plan, err := b.reader.ExplainEvents(t.Context(), owner)
		require.NoError(t, err)
		requireBounded(t, plan)
		plan, err = b.reader.ExplainCount(t.Context(), f)
		require.NoError(t, err)
		requireBounded(t, plan)
	}
	// What the checks above would not notice is no check.
	plan, err := b.reader.ExplainEvents(t.Context(), query.Owner{Environment: "test"})
	require.NoError(t, err)
	require.Regexp(t, `Rows Removed by [A-Za-z ]+: [0-9]{3,}`, plan)
}

// Each tenant finds its own of the events that chose the same id, however many others did.
func TestEventOfAnIDThatManyTenantsChose(t *testing.T) {
	t.Parallel()
	b := newBook(t, 1)
	const id = 4711
	insert := func(tenant uuid.UUID, at time.Time, environment string) uuid.UUID {
		seq := logid.NewSeq(at)
		_, err := b.pool.Exec(t.Context(), `
			with event as (
				insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body) values ($1, $2, $3, $4, 'shop', 'a.b', 0, '{}'))
			insert into hub.idempotency (tenant_id, environment, key, body_hash, seq, event_id, deliveries) values ($3, $4, $5, '', $1, $2, 0)`,
			seq, id, tenant, environment, "evt_"+strconv.Itoa(id))
		require.NoError(t, err)
		return seq
	}
	own := insert(b.tenants[0], b.noon, "live")
	test := insert(b.tenants[0], b.noon.Add(time.Minute), "test")
	for range 60 {
		insert(uuid.New(), b.noon.Add(time.Hour), "live")
	}
	for environment, seq := range map[string]uuid.UUID{"live": own, "test": test} {
		event, err := b.reader.Event(t.Context(), hub.FormatEventID(id), query.Owner{TenantID: &b.tenants[0], Environment: environment})
		require.NoError(t, err)
		require.Equal(t, seq, event.Seq)
	}
	_, err := b.reader.Event(t.Context(), hub.FormatEventID(id), query.Owner{TenantID: &b.tenants[1], Environment: "live"})
	require.ErrorIs(t, err, hub.ErrNotFound)
}
