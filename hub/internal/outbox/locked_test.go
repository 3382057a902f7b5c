package outbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// promptly is far more than a commit takes that waits for a lock shortly. One that waits for the
// lock of another tenant takes commitTimeout at least.
const promptly = commitTimeout - time.Second

// orderedTenant makes a tenant with an ordered endpoint.
func (p *place) orderedTenant() uuid.UUID {
	p.t.Helper()
	tenant := p.tenant(1)
	p.exec(`update hub.endpoints set ordered = true where tenant_id = $1`, tenant)
	return tenant
}

// numbered returns an event of an ordering key.
func numbered(tenant uuid.UUID, key, id string, n int) *Publication {
	p := &Publication{TenantID: tenant, Environment: hub.Live, Product: "shop", Type: "a.b", OrderingKey: key, Data: fmt.Appendf(nil, `{"n":%d}`, n)}
	if id != "" {
		p.IdempotencyKey = id
	}
	return p
}

// begin begins a transaction of another process that runs a statement.
func (p *place) begin(sql string, args ...any) pgx.Tx {
	p.t.Helper()
	tx, err := p.pool.Begin(p.t.Context())
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = tx.Rollback(p.t.Context()) })
	_, err = tx.Exec(p.t.Context(), sql, args...)
	require.NoError(p.t, err)
	return tx
}

// start publishes in the background.
func (p *place) start(publications ...*Publication) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := p.PublishAll(p.t.Context(), publications)
		done <- err
	}()
	return done
}

// requirePrompt publishes and requires that it does not take long.
func (p *place) requirePrompt(publications ...*Publication) {
	p.t.Helper()
	select {
	case err := <-p.start(publications...):
		require.NoError(p.t, err)
	case <-time.After(promptly):
		require.Fail(p.t, "waits for the key of another tenant")
	}
}

// requireWaiting requires that as many requests wait for locked keys.
func (p *place) requireWaiting(tenant uuid.UUID, count int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		p.locked.mu.Lock()
		defer p.locked.mu.Unlock()
		return p.locked.tenants[tenant] == count
	}, time.Minute, 5*time.Millisecond)
}

func newRequest(p *Publication) *request {
	return &request{publications: []*Publication{p}, done: make(chan error, 1)}
}

// admitted returns the requests that a committer would store now.
func admitted(t *testing.T, committer *committer, policy lockPolicy, requests ...*request) (admitted []*request) {
	t.Helper()
	for _, r := range committer.setAsideLocked(t.Context(), committer.prepareAll(t.Context(), requests), policy) {
		admitted = append(admitted, r.request)
	}
	return admitted
}

// order returns the numbers of a key's events by their places.
func (p *place) order(key string) (numbers []int) {
	p.t.Helper()
	rows, err := p.pool.Query(p.t.Context(), `
		select (convert_from(e.body, 'utf8')::jsonb->'data'->>'n')::int from hub.deliveries d join hub.events e on e.id = d.event_id
		left join hub.ordering_queue q on q.delivery_id = d.id where d.ordering_key = $1 order by q.place nulls first`, key)
	require.NoError(p.t, err)
	numbers, err = pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(p.t, err)
	return numbers
}

// While another transaction keeps an ordering key locked, the requests with that key wait, with
// and without ids, and those of other tenants and of other keys are stored. Once it ends, those
// that waited are stored.
func TestLockedOrderHoldsUpNoOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 10_000)
	p.locked.timeout = time.Minute
	blocked, other := p.orderedTenant(), p.orderedTenant()
	p.requirePrompt(numbered(blocked, "locked", "", 1))
	p.requirePrompt(numbered(blocked, "free", "", 1))
	holder := p.begin(`select from hub.ordering_keys where key = 'locked' for update`)

	waiting := []<-chan error{p.start(numbered(blocked, "locked", "", 2))}
	p.requireWaiting(blocked, 1)
	waiting = append(waiting, p.start(numbered(blocked, "locked", "id", 3)))
	waiting = append(waiting, p.start(numbered(blocked, "free", "", 3), numbered(blocked, "locked", "", 4)))
	p.requireWaiting(blocked, 3)
	for n := range 3 {
		p.requirePrompt(numbered(other, "locked", "", n))
		p.requirePrompt(numbered(other, "key", fmt.Sprint("id", n), n))
		p.requirePrompt(numbered(blocked, "", "", n))
	}
	p.requirePrompt(numbered(blocked, "free", "", 2))
	p.requirePrompt(numbered(blocked, "new key", "", 1))
	diverted, ofOther, unordered := newRequest(numbered(blocked, "another key", "", 1)), newRequest(numbered(other, "key", "", 9)), newRequest(numbered(blocked, "", "", 9))
	committer := &committer{outbox: p.Outbox}
	require.Equal(t, []*request{ofOther, unordered}, admitted(t, committer, divertTenants, diverted, ofOther, unordered), "no commit waits once more for the tenant's keys")
	require.NoError(t, <-diverted.done)
	locked, free := newRequest(numbered(blocked, "locked", "", 9)), newRequest(numbered(blocked, "free", "", 9))
	require.Equal(t, []*request{free}, admitted(t, committer, collectLocked, locked, free))
	require.Equal(t, []*request{locked}, committer.stillLocked)
	for _, done := range waiting {
		require.Empty(t, done)
	}
	require.NoError(t, holder.Rollback(t.Context()))
	for _, done := range waiting {
		require.NoError(t, <-done)
	}
	require.ElementsMatch(t, []int{1, 2, 3, 4, 0, 1, 2}, p.order("locked"))
	require.Equal(t, []int{1, 2, 3}, p.order("free"))
	p.requireWaiting(blocked, 0)
}

// A transaction that is the first with an ordering key, or with an id, keeps it as well: what is
// not committed cannot be seen. Requests with new keys wait no longer than one try.
func TestUncommittedKeysHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, 10_000)
	p.locked.timeout = time.Minute
	tenant, other := p.orderedTenant(), p.orderedTenant()
	var endpoint uuid.UUID
	require.NoError(t, p.pool.QueryRow(t.Context(), `select id from hub.endpoints where tenant_id = $1`, tenant).Scan(&endpoint))
	order := p.begin(`insert into hub.ordering_keys (target_id, key, accepted, waiting) values ($1, 'locked', 0, 0)`, endpoint)
	id := p.begin(`insert into hub.idempotency (tenant_id, environment, key, body_hash, seq, event_id, deliveries) values ($1, 'live', 'locked', '', $1, 1, 0)`, tenant)

	waiting := []<-chan error{p.start(numbered(tenant, "locked", "", 1)), p.start(numbered(tenant, "key", "locked", 1))}
	p.requireWaiting(tenant, 2)
	for n := range 3 {
		p.requirePrompt(numbered(other, fmt.Sprint("new", n), "", n))
		p.requirePrompt(numbered(other, "", fmt.Sprint("id", n), n))
		p.requirePrompt(numbered(tenant, fmt.Sprint("new too", n), "", n))
		p.requirePrompt(numbered(tenant, "", fmt.Sprint("id too", n), n))
	}
	for _, done := range waiting {
		require.Empty(t, done)
	}
	require.NoError(t, order.Commit(t.Context()))
	require.NoError(t, <-waiting[0])
	require.NoError(t, id.Rollback(t.Context()))
	require.NoError(t, <-waiting[1])
	require.Equal(t, []int{1}, p.order("locked"))
	require.Equal(t, []int{1}, p.order("key"))
}
