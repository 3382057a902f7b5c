package directory

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/store/dbgen"
	"integrationhub/hub/module"
)

// addTenants makes tenants of the product with an endpoint each and caches their
// subscribers.
func (p *place) addTenants(count int) []uuid.UUID {
	p.t.Helper()
	tenants := make([]uuid.UUID, count)
	for i := range tenants {
		tenants[i] = uuid.Must(uuid.NewV7())
		_, err := p.pool.Exec(p.t.Context(), `insert into hub.tenants (id, product, name) values ($1, 'shop', 'Tenant')`, tenants[i])
		require.NoError(p.t, err)
		p.endpoint(tenants[i])
	}
	return tenants
}

func (p *place) endpoint(tenant uuid.UUID) uuid.UUID {
	p.t.Helper()
	endpoints := registry.NewEndpoints(p.pool, p.box, anyURL{}, p.clock.Now)
	endpoint, _, err := endpoints.Create(p.t.Context(), tenant, hub.Live, registry.EndpointState{URL: "https://example.com", EventTypes: []string{"*"}, Enabled: true}, "")
	require.NoError(p.t, err)
	return endpoint.ID
}

// subscribers returns how many targets get an event, and whether the answer needed the
// database.
func (p *place) subscribers(tenant uuid.UUID) (count int, asked bool) {
	p.t.Helper()
	before := p.pool.Stat().AcquireCount()
	targets, err := p.directory.Subscribers(p.t.Context(), tenant, hub.Live, "a.b", module.Audience{})
	require.NoError(p.t, err)
	return len(targets), p.pool.Stat().AcquireCount() > before
}

func (p *place) exec(sql string, args ...any) {
	p.t.Helper()
	_, err := p.pool.Exec(p.t.Context(), sql, args...)
	require.NoError(p.t, err)
}

func (p *place) refresh() {
	p.t.Helper()
	require.NoError(p.t, p.directory.Refresh(p.t.Context()))
}

// isUnchanged reports whether the statement of a commit passes for tenants.
func (p *place) isUnchanged(snapshot string, products []string, tenants ...uuid.UUID) bool {
	p.t.Helper()
	_, err := p.pool.Exec(p.t.Context(), AssertUnchangedSQL, []string{snapshot}, tenants, products)
	if err != nil {
		require.ErrorContains(p.t, err, ConfigChangedCode)
	}
	return err == nil
}

func TestChangeDropsOnlyItsTenant(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(2)
	p.refresh()
	for _, tenant := range tenants {
		count, _ := p.subscribers(tenant)
		require.Equal(t, 1, count)
	}
	for _, change := range []struct {
		name string
		want int // subscribers
		do   func()
	}{
		{"new endpoint", 2, func() { p.endpoint(tenants[0]) }},
		{"paused endpoints", 2, func() { p.exec(`update hub.endpoints set enabled = false where tenant_id = $1`, tenants[0]) }},
		{"enabled endpoints", 2, func() { p.exec(`update hub.endpoints set enabled = true where tenant_id = $1`, tenants[0]) }},
		{"abandoned endpoints", 0, func() {
			p.exec(`update hub.endpoints set abandoned_at = now(), enabled = false where tenant_id = $1`, tenants[0])
		}},
		{"endpoints in use again", 2, func() { p.exec(`update hub.endpoints set enabled = true where tenant_id = $1`, tenants[0]) }},
		{"other types", 0, func() { p.exec(`update hub.endpoints set event_types = '{c.*}' where tenant_id = $1`, tenants[0]) }},
		{"limits", 0, func() { p.exec(`update hub.tenants set limit_queue = 1 where id = $1`, tenants[0]) }},
		{"deleted endpoints", 0, func() { p.exec(`update hub.endpoints set deleted_at = now() where tenant_id = $1`, tenants[0]) }},
	} {
		snapshot, name := p.directory.Snapshot(), change.name
		change.do()
		require.False(t, p.isUnchanged(snapshot, nil, tenants...), name)
		require.False(t, p.isUnchanged(snapshot, nil, tenants[0]), name)
		require.True(t, p.isUnchanged(snapshot, []string{"shop"}, tenants[1]), name)
		p.refresh()
		require.True(t, p.isUnchanged(p.directory.Snapshot(), nil, tenants...), name)
		_, asked := p.subscribers(tenants[1])
		require.False(t, asked, "%s of another tenant", name)
		count, asked := p.subscribers(tenants[0])
		require.True(t, asked, name)
		require.Equal(t, change.want, count, name)
	}
}

// Limits come with the targets, and a change of them is a change of the tenant.
func TestTargetsHaveLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.endpoint(p.tenant)
	limits := func() Limits {
		target, err := p.directory.Endpoint(t.Context(), id)
		require.NoError(t, err)
		subscribers, err := p.directory.Subscribers(t.Context(), p.tenant, hub.Live, "a.b", module.Audience{})
		require.NoError(t, err)
		require.Same(t, target, subscribers[0], "a target is kept once, with its keyed hashes")
		return target.Limits
	}
	require.Equal(t, Limits{}, limits())
	p.exec(`update hub.tenants set limit_deliveries_per_request = 1, limit_in_flight = 2, limit_queue = 3 where id = $1`, p.tenant)
	p.refresh()
	require.Equal(t, Limits{DeliveriesPerRequest: 1, InFlight: 2, Queue: 3}, limits())
}

func TestProductChangeDropsItsTenants(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(1)
	p.exec(`insert into hub.products (name, prefix, title) values ('other', 'oth', 'Other')`)
	stranger := uuid.New()
	p.exec(`insert into hub.tenants (id, product, name) values ($1, 'other', 'Tenant')`, stranger)
	p.refresh()
	p.subscribers(tenants[0])
	p.subscribers(stranger)
	snapshot := p.directory.Snapshot()
	p.exec(`update hub.products set title = 'Shops' where name = 'shop'`)
	require.False(t, p.isUnchanged(snapshot, []string{"shop"}, tenants[0]))
	require.True(t, p.isUnchanged(snapshot, []string{"other"}, stranger))
	p.refresh()
	_, asked := p.subscribers(stranger)
	require.False(t, asked)
	_, asked = p.subscribers(tenants[0])
	require.True(t, asked)
}

// What changes nothing that is kept in memory is no change.
func TestNoChange(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(1)
	key, _ := p.key(nil)
	p.refresh()
	p.subscribers(tenants[0])
	before, snapshot := p.directory.Version(), p.directory.Snapshot()
	p.key(nil) // nobody can have presented a new one
	p.exec(`update hub.endpoints set url = url, enabled = enabled, updated_at = now(), description = 'x'`)
	p.exec(`update hub.tenants set name = name, external_ref = external_ref`)
	p.exec(`update hub.products set title = title`)
	p.exec(`update hub.keys set name = name, last_used_at = now(), revoked_at = revoked_at where id = $1`, key.ID)
	p.exec(`insert into hub.operators (id, email, name, role, password_hash) values (gen_random_uuid(), 'a@example.com', 'A', 'admin', '')`)
	changed, err := dbgen.New(p.pool).UpsertTenant(t.Context(), dbgen.UpsertTenantParams{ID: tenants[0], Product: "shop", Name: "Tenant"})
	require.NoError(t, err)
	require.Zero(t, changed, "not even a row")
	require.True(t, p.isUnchanged(snapshot, []string{"shop"}, tenants[0], p.tenant))
	p.refresh()
	require.Equal(t, before, p.directory.Version())
	_, asked := p.subscribers(tenants[0])
	require.False(t, asked)
}

// A key that was presented before it existed is good at the next refresh at the latest.
func TestUnknownKeyDoesNotHideANewOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	plain := keys.New("shop", hub.Live)
	require.False(t, p.use(plain))
	asked := p.pool.Stat().AcquireCount()
	require.False(t, p.use(plain))
	require.Equal(t, asked, p.pool.Stat().AcquireCount(), "it is known not to exist")
	hash := keys.Hash(plain)
	p.exec(`insert into hub.keys (id, tenant_id, environment, hash, prefix, last4, scopes, rate) values (gen_random_uuid(), $1, 'live', $2, 'shop_live_', 'xxxx', '{*}', '0')`, p.tenant, hash[:])
	p.refresh()
	require.True(t, p.use(plain))
}

// That an id is no endpoint's says nothing about integrations.
func TestUnknownEndpointDoesNotHideAnIntegration(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := uuid.New()
	p.exec(`insert into hub.integrations (id, tenant_id, environment, product, status, webhook_url) values ($1, $2, 'live', 'messaging', 'active', '')`, id, p.tenant)
	for range 2 {
		endpoint, err := p.directory.Target(t.Context(), id, false)
		require.NoError(t, err)
		require.Nil(t, endpoint)
		peer, err := p.directory.Target(t.Context(), id, true)
		require.NoError(t, err)
		require.Equal(t, "messaging", peer.Peer.Product)
	}
}

// What a batch of many tenants needs is loaded in a few queries, however many they are.
func TestPreloadNeedsFewQueries(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(40)
	publishers := make([]Publisher, len(tenants))
	for i, tenant := range tenants {
		_, plain, err := p.keys.Create(t.Context(), keys.Draft{TenantID: tenant, Environment: hub.Live})
		require.NoError(t, err)
		key, err := p.directory.Key(t.Context(), plain)
		require.NoError(t, err)
		publishers[i] = Publisher{Key: key, TenantID: tenant, Environment: hub.Live}
	}
	p.refresh()
	p.exec(`update hub.keys set name = 'renamed'`)
	p.exec(`update hub.endpoints set event_types = '{a.*}'`)
	p.refresh()
	before := p.pool.Stat().AcquireCount()
	require.NoError(t, p.directory.Preload(t.Context(), publishers))
	require.LessOrEqual(t, p.pool.Stat().AcquireCount()-before, int64(4))
	before = p.pool.Stat().AcquireCount()
	require.NoError(t, p.directory.Preload(t.Context(), publishers))
	for _, publisher := range publishers {
		_, err := p.directory.Revalidate(t.Context(), publisher.Key)
		require.NoError(t, err)
		count, _ := p.subscribers(publisher.TenantID)
		require.Equal(t, 1, count)
	}
	require.Equal(t, before, p.pool.Stat().AcquireCount())
}

// What was loaded while something changed is not kept: it may be of before.
func TestLoadDuringAChangeIsNotKept(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(1)
	p.refresh()
	drops := p.directory.cache.beginLoad()
	p.endpoint(tenants[0])
	p.refresh()
	p.directory.cache.store(drops, func() { t.Error("it was kept") })
}

// A process that slept while changes were deleted reads everything again, and commits
// nothing before.
func TestDeletedChangesAreMissed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(1)
	p.refresh()
	p.subscribers(tenants[0])
	slept := p.directory.Snapshot()
	p.exec(`update hub.endpoints set event_types = '{c.d}' where tenant_id = $1`, tenants[0])
	other := New(p.pool, nil, nil, nil, p.clock.Now)
	require.Eventually(t, func() bool { // when the transactions of other databases that run now have ended
		require.NoError(t, other.Refresh(t.Context()))
		require.NoError(t, other.deleteChangesBefore(t.Context(), other.Snapshot()))
		var left int
		require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.config_changes`).Scan(&left))
		return left == 0
	}, time.Minute, 10*time.Millisecond)
	require.False(t, p.isUnchanged(slept, nil, tenants[0]))
	p.refresh()
	require.True(t, p.isUnchanged(p.directory.Snapshot(), nil, tenants[0]))
	count, asked := p.subscribers(tenants[0])
	require.True(t, asked)
	require.Zero(t, count)
}

// A database restored into another cluster has transaction numbers of its old one.
func TestChangesOfAnotherClusterAreIgnored(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(1)
	p.exec(`update hub.config_changes set xid = '9000000000000000000'`)
	p.exec(`update hub.config_horizon set xid = '9000000000000000000'`)
	p.refresh()
	p.subscribers(tenants[0])
	p.refresh()
	_, asked := p.subscribers(tenants[0])
	require.False(t, asked)
	require.True(t, p.isUnchanged(p.directory.Snapshot(), nil, tenants[0]))
}

// A product that changes a tenant and publishes in one transaction does not wait for itself.
func TestOwnChangesDoNotCount(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenants := p.addTenants(1)
	p.refresh()
	ctx, snapshot := t.Context(), p.directory.Snapshot()
	changed := func(tx pgx.Tx) bool {
		changed, err := HasChanged(ctx, tx, snapshot, tenants, []string{"shop"})
		require.NoError(t, err)
		return changed
	}
	publish := func() (isChanged bool) {
		require.NoError(t, pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `update hub.tenants set name = name || '.' where id = $1`, tenants[0])
			isChanged = changed(tx)
			return err
		}))
		return isChanged
	}
	require.False(t, publish())
	require.True(t, publish(), "another transaction's counts")
}

// The check of a commit reads what is new, not all that ever changed.
func TestAssertionReadsByIndex(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.exec(`insert into hub.config_changes (xid, tenant_id) select n::text::xid8, gen_random_uuid() from generate_series(1, 20000) n`)
	p.exec(`analyze hub.config_changes`)
	p.refresh()
	conn, err := p.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), `set plan_cache_mode = force_generic_plan`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `prepare assertion (text[], uuid[], text[]) as `+AssertUnchangedSQL)
	require.NoError(t, err)
	rows, err := conn.Query(context.Background(), fmt.Sprintf(`explain execute assertion (array['%s'], array['%s'::uuid], array['shop'])`, p.directory.Snapshot(), p.tenant))
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(plan), "config_changes_xid")
}

// An event's audience narrows its receivers, and an endpoint may subscribe to a topic that is
// not the event's type.
func TestSubscribersInAudience(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tenant := p.addTenants(1)[0] // its endpoint subscribes to everything
	endpoints := registry.NewEndpoints(p.pool, p.box, anyURL{}, p.clock.Now)
	sent, _, err := endpoints.Create(t.Context(), tenant, hub.Live, registry.EndpointState{URL: "https://example.com", EventTypes: []string{"message.sent"}, Enabled: true}, "")
	require.NoError(t, err)
	for _, tc := range []struct {
		audience module.Audience
		count    int
	}{
		{module.Audience{}, 1},
		{module.Audience{Receivers: module.EndpointsOnly}, 1},
		{module.Audience{Receivers: module.EndpointsOnly, Topic: "message.sent"}, 2},
		{module.Audience{Receivers: module.IntegrationsOnly}, 0},
		{module.Audience{Receivers: module.NoReceivers}, 0},
	} {
		targets, err := p.directory.Subscribers(t.Context(), tenant, hub.Live, "message.created", tc.audience)
		require.NoError(t, err)
		require.Len(t, targets, tc.count, "%+v", tc.audience)
	}
	targets, err := p.directory.Subscribers(t.Context(), tenant, hub.Live, "message.created", module.Audience{Topic: "message.sent"})
	require.NoError(t, err)
	require.Contains(t, []any{targets[0].ID, targets[1].ID}, sent.ID)
}
