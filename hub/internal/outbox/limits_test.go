package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/module"
)

// plainOpener opens secrets that are not sealed.
type plainOpener struct{}

func (plainOpener) Open(sealed []byte, _ string) ([]byte, error) { return sealed, nil }

// place is an outbox over a database.
type place struct {
	t    *testing.T
	pool *pgxpool.Pool
	*Outbox
}

func newPlace(t *testing.T, maxDeliveries int) *place {
	t.Helper()
	pool, log := hubtest.Database(t), slog.New(slog.DiscardHandler)
	dir := directory.New(pool, plainOpener{}, func(name string) hub.Connector { return hub.NewPeerConnector(name, name) }, log, time.Now)
	dispatcher := delivery.NewDispatcher(delivery.Config{Now: time.Now, Directory: dir, Pool: pool})
	p := &place{t: t, pool: pool, Outbox: New(pool, dir, noPlace{dispatcher}, metrics.New(), log, time.Now, maxDeliveries)}
	t.Cleanup(p.Close)
	_, err := pool.Exec(t.Context(), `insert into hub.products (name, prefix, title) values ('shop', 'shop', 'Shop')`)
	require.NoError(t, err)
	return p
}

// noPlace is a dispatcher without room in its queue: each delivery gets a row.
type noPlace struct{ *delivery.Dispatcher }

func (noPlace) Reserve(*directory.Target, hub.Priority) bool { return false }

func (noPlace) AnnounceBacklog(uuid.UUID, hub.Priority) {}

func (noPlace) Dispatch([]delivery.LeasedDelivery, *delivery.CommitLease) {}

func (p *place) exec(sql string, args ...any) {
	p.t.Helper()
	_, err := p.pool.Exec(p.t.Context(), sql, args...)
	require.NoError(p.t, err)
}

func (p *place) tenant(endpoints int) uuid.UUID {
	p.t.Helper()
	tenant := uuid.Must(uuid.NewV7())
	p.exec(`insert into hub.tenants (id, product, name) values ($1, 'shop', 'Tenant')`, tenant)
	p.addEndpoints(tenant, endpoints)
	return tenant
}

func (p *place) addEndpoints(tenant uuid.UUID, count int) {
	p.t.Helper()
	p.exec(`insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret)
		select gen_random_uuid(), $1, 'live', 'http://127.0.0.1:1', '{a.*}', 'secret' from generate_series(1, $2)`, tenant, count)
}

func publications(tenant uuid.UUID, count int, key string) []*Publication {
	list := make([]*Publication, count)
	for i := range list {
		list[i] = &Publication{TenantID: tenant, Environment: hub.Live, Product: "shop", Type: "a.b", Data: []byte(`{}`)}
		if key != "" {
			list[i].IdempotencyKey = fmt.Sprint("key:", i, ":", key)
		}
	}
	return list
}

// stored returns how many events and deliveries of a tenant are stored.
func (p *place) stored(tenant uuid.UUID) (events, deliveries int) {
	p.t.Helper()
	require.NoError(p.t, p.pool.QueryRow(p.t.Context(), `
		select (select count(*) from hub.events where tenant_id = $1), (select count(*) from hub.deliveries where tenant_id = $1)`, tenant).Scan(&events, &deliveries))
	return events, deliveries
}

func requireTooMany(t *testing.T, err error, limit int) {
	t.Helper()
	var refusal *hub.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "too_many_deliveries", refusal.Code)
	require.ErrorIs(t, err, hub.ErrInvalid)
	require.Contains(t, refusal.Error(), fmt.Sprintf("more than %d deliveries", limit))
}

func TestDeliveriesOfARequestAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 20)
	ctx, tenant := t.Context(), p.tenant(5)
	_, err := p.PublishAll(ctx, publications(tenant, 5, ""))
	requireTooMany(t, err, 20)
	_, err = p.PublishAll(ctx, publications(tenant, 5, "k"))
	requireTooMany(t, err, 20)
	events, deliveries := p.stored(tenant)
	require.Zero(t, events+deliveries, "nothing of the batch")
	var keys int
	require.NoError(t, p.pool.QueryRow(ctx, `select count(*) from hub.idempotency`).Scan(&keys))
	require.Zero(t, keys)

	results, err := p.PublishAll(ctx, publications(tenant, 4, "k"))
	require.NoError(t, err)
	events, deliveries = p.stored(tenant)
	require.Equal(t, []int{4, 20}, []int{events, deliveries})

	// Who asks again gets the first result, though it would be too much now.
	p.addEndpoints(tenant, 10)
	again, err := p.PublishAll(ctx, publications(tenant, 4, "k"))
	require.NoError(t, err)
	for i := range again {
		require.True(t, again[i].Duplicate)
		require.Equal(t, results[i].ID, again[i].ID)
	}
	other := publications(tenant, 4, "k")
	other[0].BodyHash[0] = 1
	_, err = p.PublishAll(ctx, other)
	require.ErrorIs(t, err, errKeyReused)

	// A tenant may have a limit of its own, larger or smaller.
	p.exec(`update hub.tenants set limit_deliveries_per_request = 60 where id = $1`, tenant)
	require.NoError(t, p.directory.Refresh(ctx))
	_, err = p.PublishAll(ctx, publications(tenant, 4, ""))
	require.NoError(t, err)
	_, err = p.PublishAll(ctx, publications(tenant, 5, ""))
	requireTooMany(t, err, 60)
	p.exec(`update hub.tenants set limit_deliveries_per_request = 14 where id = $1`, tenant)
	require.NoError(t, p.directory.Refresh(ctx))
	_, err = p.PublishAll(ctx, publications(tenant, 1, ""))
	requireTooMany(t, err, 14)
}

// The largest request a tenant may have made legal is stored whole, by its own committer.
func TestLargeRequestIsStored(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 10_000)
	tenant := p.tenant(20)
	for _, key := range []string{"", "k"} {
		results, err := p.PublishAll(t.Context(), publications(tenant, 500, key))
		require.NoError(t, err)
		require.Len(t, results, 500)
		require.Equal(t, 20, results[499].Deliveries)
	}
	events, deliveries := p.stored(tenant)
	require.Equal(t, []int{1000, 20_000}, []int{events, deliveries})
	again, err := p.PublishAll(t.Context(), publications(tenant, 500, "k"))
	require.NoError(t, err)
	require.True(t, again[0].Duplicate)
}

// Small requests do not wait for a large one that is being stored.
func TestLargeRequestsDoNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 10_000)
	large, small := p.tenant(20), p.tenant(1)
	tx, err := p.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	// The large request waits in the database until this lock goes.
	_, err = tx.Exec(t.Context(), `insert into hub.idempotency (tenant_id, environment, key, body_hash, seq, event_id, deliveries) values ($1, 'live', 'key:0:k', '', gen_random_uuid(), 1, 1)`, large)
	require.NoError(t, err)
	stored := make(chan error, 1)
	go func() {
		_, err := p.PublishAll(context.Background(), publications(large, 500, "k"))
		stored <- err
	}()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`).Scan(&waiting))
		return waiting == 1
	}, time.Minute, 5*time.Millisecond)
	for _, key := range []string{"", "k"} {
		_, err = p.PublishAll(t.Context(), publications(small, 3, key))
		require.NoError(t, err)
	}
	require.Empty(t, stored)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-stored)
}

func TestCommitsAreBoundedInDeliveries(t *testing.T) {
	t.Parallel()
	requests := func(deliveries ...int) (list []*preparedRequest) {
		for _, n := range deliveries {
			list = append(list, &preparedRequest{deliveries: n})
		}
		return list
	}
	var sizes [][]int
	for _, commit := range splitCommits(requests(4000, 90, 10, 1, 5000, 0, 4096, 1)) {
		var size []int
		for _, r := range commit {
			size = append(size, r.deliveries)
		}
		sizes = append(sizes, size)
	}
	require.Equal(t, [][]int{{4000, 90}, {10, 1}, {5000}, {0, 4096}, {1}}, sizes)
	require.Empty(t, splitCommits(nil))
}

// Tenants take turns: one with many requests delays the others by a few of them.
func TestQueueIsFairToTenants(t *testing.T) {
	t.Parallel()
	q := newQueue()
	busy, quiet := uuid.New(), uuid.New()
	push := func(tenant uuid.UUID, estimate int) bool {
		return q.push(&request{publications: publications(tenant, 1, ""), estimate: estimate})
	}
	for range maxWaitingOfTenant {
		require.True(t, push(busy, 2000))
	}
	require.False(t, push(busy, 1), "its own share is full")
	require.True(t, push(quiet, 1))
	batch := q.take(nil)
	require.Len(t, batch, 3)
	require.Equal(t, quiet, batch[1].publications[0].TenantID)
	taken := len(batch)
	for batch = q.take(nil); len(batch) > 0; batch = q.take(nil) {
		taken += len(batch)
		require.Len(t, batch, min(2, maxWaitingOfTenant+3-taken+len(batch)))
	}
	require.Equal(t, maxWaitingOfTenant+1, taken)
	require.Empty(t, q.waiting)
	require.Zero(t, q.length)

	require.True(t, push(busy, 1_000_000))
	require.Len(t, q.take(nil), 1, "one that is too large is taken alone")
	for range maxPublications + 1 {
		require.True(t, push(busy, 0))
	}
	require.Len(t, q.take(nil), maxPublications)
}

// Of the requests of a commit only those of a tenant that changed are prepared anew; the
// others are stored at once.
func TestChangeDelaysOnlyItsTenant(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "k"} {
		p := newPlace(t, 10_000)
		changed, other := p.tenant(1), p.tenant(1)
		require.NoError(t, p.directory.Refresh(t.Context()))
		for _, tenant := range []uuid.UUID{changed, other} {
			_, err := p.directory.Subscribers(t.Context(), tenant, hub.Live, "a.b", module.Audience{})
			require.NoError(t, err)
		}
		p.addEndpoints(changed, 1)
		c := &committer{outbox: p.Outbox}
		first := &request{publications: publications(changed, 1, key), done: make(chan error, 1)}
		second := &request{publications: publications(other, 1, key), done: make(chan error, 1)}
		commit := c.commitPlain
		if key != "" {
			commit = c.commitIdempotent
		}
		commit(t.Context(), []*request{first, second}, divertTenants)
		require.NoError(t, <-second.done)
		require.Empty(t, first.done)
		require.Equal(t, []*request{first}, c.deferred)
		c.deferred = nil
		commit(t.Context(), []*request{first}, divertTenants)
		require.NoError(t, <-first.done)
		require.Equal(t, 2, first.results[0].Deliveries, "the new endpoint gets it too")
	}
}

// A tenant that never stops changing gets an error in the end, and nobody waits for it.
func TestRequestOfATenantThatKeepsChanging(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 10_000)
	tenant := p.tenant(1)
	c := &committer{outbox: p.Outbox}
	r := &request{publications: publications(tenant, 1, ""), done: make(chan error, 1)}
	changes, err := p.directory.RefreshSince(t.Context(), p.directory.Snapshot())
	require.NoError(t, err)
	require.True(t, changes.Concern(tenant, ""))
	require.False(t, changes.Concern(uuid.New(), "shop"))
	for range maxConflicts {
		require.Empty(t, c.deferChanged([]*preparedRequest{{request: r}}, changes))
		require.Equal(t, []*request{r}, c.deferred)
		c.deferred = nil
	}
	require.Empty(t, c.deferChanged([]*preparedRequest{{request: r}}, changes))
	require.Empty(t, c.deferred)
	require.ErrorIs(t, errors.Join(<-r.done), hub.ErrUnavailable)
}
