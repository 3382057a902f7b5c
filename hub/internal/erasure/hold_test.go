package erasure

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/logid"
	"integrationhub/hub/internal/seal"
)

// noMetrics records nothing.
type noMetrics struct{}

func (noMetrics) CountErasedPayloads(int)       {}
func (noMetrics) CountErasedPerson()            {}
func (noMetrics) CountFailedUnsent(string, int) {}

// failedQueue is a process's queue that remembers what it had to fail.
type failedQueue []uuid.UUID

func (*failedQueue) SetErasingTenants([]uuid.UUID)   {}
func (q *failedQueue) FailErased(events []uuid.UUID) { *q = append(*q, events...) }

// holdTest is a log in which persons of one tenant are deleted.
type holdTest struct {
	t       *testing.T
	pool    *pgxpool.Pool
	tenant  uuid.UUID
	targets [2]uuid.UUID
	failed  failedQueue
}

func newHoldTest(t *testing.T) *holdTest {
	t.Helper()
	return &holdTest{t: t, pool: hubtest.Database(t), tenant: uuid.New(), targets: [2]uuid.UUID{uuid.New(), uuid.New()}}
}

// eraser returns another process's eraser.
func (h *holdTest) eraser() *Eraser {
	h.t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(h.t, err)
	return New(h.pool, slog.New(slog.DiscardHandler), noMetrics{}, box, &h.failed)
}

func (h *holdTest) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.pool.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err)
}

// event stores an event with a delivery to each target, due at a time.
func (h *holdTest) event(eventType, data, dueAt string, targets ...uuid.UUID) (seq uuid.UUID) {
	h.t.Helper()
	seq = logid.NewSeq(time.Now())
	require.NoError(h.t, pgx.BeginFunc(h.t.Context(), h.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(h.t.Context(), `
			insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
			values ($1, 7, $2, 'live', 'shop', $3, $4, convert_to('{"data":' || $5 || '}', 'UTF8'))`, seq, h.tenant, eventType, len(targets), data)
		if err != nil {
			return err
		}
		for i, target := range targets {
			_, err := tx.Exec(h.t.Context(), `
				insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, due_at)
				values ($1, 7, $2, $3, 'live', 'shop', $4, `+dueAt+`)`, logid.Delivery(seq, i+1), h.tenant, target, eventType)
			if err != nil {
				return err
			}
		}
		if eventType == "patient.deleted" {
			_, err = tx.Exec(h.t.Context(), RequestSQL, []uuid.UUID{seq}, []uuid.UUID{h.tenant}, []string{"live"})
		}
		return err
	}))
	return seq
}

// delete stores a deletion event as the outbox does.
func (h *holdTest) delete(data string, targets ...uuid.UUID) uuid.UUID {
	h.t.Helper()
	return h.event("patient.deleted", data, HoldUntilSQL, targets...)
}

const leased = `now() + interval '30 seconds'`

// state returns how the n-th delivery of an event stands: due, held, failed …
func (h *holdTest) state(seq uuid.UUID, n int) (state string) {
	h.t.Helper()
	require.NoError(h.t, h.pool.QueryRow(h.t.Context(), `
		select case when status <> 0 then coalesce(reason, status::text) when due_at <= now() then 'due' when due_at = hub.deletion_due_at(id) then 'held' when due_at = 'infinity' then 'behind' else 'leased' end
		from hub.deliveries where id = $1`, logid.Delivery(seq, n)).Scan(&state))
	return state
}

// work makes a process look at what is held.
func (h *holdTest) work(e *Eraser) (isHolding bool) {
	h.t.Helper()
	isHolding, err := e.workOnHolds(h.t.Context())
	require.NoError(h.t, err)
	return isHolding
}

// What waits about a person at the deletion's receivers fails at once, however it waits; the
// deletion is due there where nothing is under way. What is about others, of other tenants and
// newer than the deletion stays.
func TestHoldEndsAtEachReceiver(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	busy, idle := h.targets[0], h.targets[1]
	const maria, phone = `{"phone":"+5511987654321"}`, `{"to":"(11) 98765-4321"}`
	underWay := h.event("a.b", phone, leased, busy)
	due, parked, retried := h.event("a.b", phone, "now()", idle), h.event("a.b", phone, "now()", idle), h.event("a.b", phone, leased, busy)
	h.exec(`update hub.deliveries set status = 2, finished_at = now() where id = $1`, logid.Delivery(parked, 1))
	h.exec(`update hub.deliveries set next_attempt_at = now() + interval '1 second' where id = $1`, logid.Delivery(retried, 1))
	otherPerson := h.event("a.b", `{"to":"(11) 98765-4322"}`, "now()", idle)
	elsewhere := h.event("a.b", phone, "now()", uuid.New())
	deletion := h.delete(maria, busy, idle)
	later := h.event("a.b", phone, "now()", idle)
	require.Equal(t, []string{"held", "held"}, []string{h.state(deletion, 1), h.state(deletion, 2)})

	require.True(t, h.work(h.eraser()))
	require.Equal(t, []string{"held", "due"}, []string{h.state(deletion, 1), h.state(deletion, 2)})
	for _, seq := range []uuid.UUID{due, parked, retried} {
		require.Equal(t, "erased", h.state(seq, 1))
	}
	for _, seq := range []uuid.UUID{otherPerson, elsewhere, later} {
		require.Equal(t, "due", h.state(seq, 1))
	}
	require.Equal(t, failedQueue{underWay}, h.failed, "it may wait in a process")
	h.exec(`update hub.deliveries set due_at = now() + interval '30 seconds' where id = $1`, logid.Delivery(deletion, 2)) // a process claims it
	require.True(t, h.work(h.eraser()))
	require.Equal(t, []string{"held", "leased"}, []string{h.state(deletion, 1), h.state(deletion, 2)})

	// Its process died, or the attempt failed: it is not made again.
	h.exec(`update hub.deliveries set due_at = now() where id = $1`, logid.Delivery(underWay, 1))
	require.False(t, h.work(h.eraser()))
	require.Equal(t, []string{"erased", "due", "leased"}, []string{h.state(underWay, 1), h.state(deletion, 1), h.state(deletion, 2)})
	var failed, events int
	require.NoError(t, h.pool.QueryRow(t.Context(), `select failed, events from hub.erasures where seq = $1`, deletion).Scan(&failed, &events))
	require.Equal(t, []int{4, 4}, []int{failed, events})
}

// One look serves all the deletions of a tenant; each waits for what is about its own person.
func TestOneLookServesManyDeletions(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	target := h.targets[0]
	ids := [...]string{"0198c9a0-1111-7222-8333-000000000001", "0198c9a0-1111-7222-8333-000000000002", "0198c9a0-1111-7222-8333-000000000003"}
	aboutTwo := h.event("a.b", `{"patients":"`+ids[0]+` `+ids[1]+`","e":"x"}`, leased, target)
	shared := h.event("a.b", `{"phone":"11987654321","name":"Ana"}`, "now()", target)
	var deletions []uuid.UUID
	for _, id := range ids {
		deletions = append(deletions, h.delete(`{"patient_id":"`+id+`","phone":"11987654321","phone_shared":true,"name":"Bia"}`, target))
	}
	deletions = append(deletions, h.delete(`{}`, target))
	require.True(t, h.work(h.eraser()))
	for i, state := range []string{"held", "held", "due", "due"} {
		require.Equal(t, state, h.state(deletions[i], 1))
	}
	require.Equal(t, "due", h.state(shared, 1), "the number is another person's too")
	h.exec(`update hub.deliveries set status = 1, finished_at = now() where id = $1`, logid.Delivery(aboutTwo, 1))
	require.False(t, h.work(h.eraser()))
}

// A process that is killed when it has erased some leaves no attempt unseen.
func TestErasingWhatWaitsGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	target := h.targets[0]
	underWay, due := h.event("a.b", `{"e":"ana@example.com"}`, leased, target), h.event("a.b", `{"e":"ana@example.com"}`, "now()", target)
	deletion := h.delete(`{"email":"ana@example.com"}`, target)
	killed, s := h.eraser(), scope{h.tenant, "live"}
	persons, err := killed.loadNew(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, killed.matchWaiting(t.Context(), s, persons))
	_, err = killed.eraseMatched(t.Context(), persons)
	require.NoError(t, err)

	require.True(t, h.work(h.eraser()))
	require.Equal(t, []string{"held", "leased", "erased"}, []string{h.state(deletion, 1), h.state(underWay, 1), h.state(due, 1)})
	h.exec(`update hub.deliveries set status = 1, finished_at = now() where id = $1`, logid.Delivery(underWay, 1))
	require.False(t, h.work(h.eraser()))
	require.Equal(t, "due", h.state(deletion, 1))
}

// No deletion is held for long: not by what is under way, and not where nobody can look for
// what waits. A process that works on the same tenant is not disturbed.
func TestHoldIsBounded(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	h.event("a.b", `{"e":"ana@example.com"}`, leased, h.targets[0])
	deletion := h.delete(`{"email":"ana@example.com"}`, h.targets[0])
	other, err := h.pool.Begin(t.Context())
	require.NoError(t, err)
	found, err := h.eraser().lockNextScope(t.Context(), other)
	require.NoError(t, err)
	require.True(t, found)
	require.True(t, h.work(h.eraser()))
	require.Equal(t, "held", h.state(deletion, 1), "another process looks")
	require.NoError(t, other.Rollback(t.Context()))
	require.True(t, h.work(h.eraser()))
	h.exec(`update hub.erasures set screening_since = now() - interval '2 minutes'`)
	require.False(t, h.work(h.eraser()))
	require.Equal(t, "due", h.state(deletion, 1))

	unreadable := h.delete(`{"email":"ana@example.com"}`, h.targets[0])
	h.exec(`insert into hub.erasure_traces (tenant_id, environment, event_id, traces) values ($1, 'live', 7, 'x')`, h.tenant)
	_, err = h.eraser().workOnHolds(t.Context())
	require.Error(t, err)
	require.Equal(t, "held", h.state(unreadable, 1))
	h.exec(`update hub.erasures set screening_since = now() - interval '2 minutes'`)
	_, err = h.eraser().workOnHolds(t.Context())
	require.Error(t, err)
	require.Equal(t, "due", h.state(unreadable, 1))
	require.False(t, h.work(h.eraser()))
}

// A deletion that a peer sent has no receivers: what waits for any of the tenant's fails. What
// was stored with it is its effect and stays.
func TestReceivedDeletionIsLookedFor(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	h.exec(`insert into hub.products (name, prefix, title) values ('shop', 'shop', 'Shop')`)
	h.exec(`insert into hub.tenants (id, product, name) values ($1, 'shop', 'Tenant')`, h.tenant)
	h.exec(`insert into hub.endpoints (id, tenant_id, environment, url, event_types, secret) values ($1, $2, 'live', 'http://x/', '{*}', '')`, h.targets[0], h.tenant)
	waits := h.event("a.b", `{"e":"ana@example.com"}`, "now()", h.targets[0])
	effect := h.event("a.b", `{"e":"ana@example.com"}`, "now()", h.targets[0])
	deletion := h.delete(`{"email":"ana@example.com"}`, h.tenant)
	h.exec(`update hub.deliveries set inbound = true, status = 1 where id = $1`, logid.Delivery(deletion, 1))
	h.exec(`update hub.events set created_at = (select requested_at from hub.erasures) where seq = $1`, effect)
	require.False(t, h.work(h.eraser()))
	require.Equal(t, []string{"erased", "due"}, []string{h.state(waits, 1), h.state(effect, 1)})
}

// Deliveries that a process has in its queue, without rows, are under way too.
func TestHoldSeesCommitLeases(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	seq := h.event("a.b", `{"e":"ana@example.com"}`, leased)
	id := logid.Delivery(seq, 1)
	h.exec(`update hub.events set deliveries = 1`)
	h.exec(`insert into hub.leases (id, deliveries) values ($1, $2)`, logid.New(time.Now()), append(append(id[:], h.targets[0][:]...), 0))
	deletion := h.delete(`{"email":"ana@example.com"}`, h.targets[0])
	require.True(t, h.work(h.eraser()))
	require.Equal(t, []string{"leased", "held"}, []string{h.state(seq, 1), h.state(deletion, 1)})
}

// Tenants take turns: one with many deletions does not delay another's.
func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	e, tenants := h.eraser(), []uuid.UUID{{1}, {2}, {3}}
	for _, tenant := range tenants {
		h.tenant = tenant
		h.delete(`{}`)
	}
	var turns []uuid.UUID
	for range 4 {
		require.NoError(t, pgx.BeginFunc(t.Context(), h.pool, func(tx pgx.Tx) error {
			found, err := e.lockNextScope(t.Context(), tx)
			require.True(t, found)
			return err
		}))
		turns = append(turns, e.last.tenant)
	}
	require.Equal(t, append(tenants, tenants[0]), turns)
}

// A deletion with an ordering key that becomes the first while it is held is not due yet; after
// the hold it is. An ordinary event is due at once.
func TestOrderRespectsHolds(t *testing.T) {
	t.Parallel()
	h := newHoldTest(t)
	target := h.targets[0]
	first, second := h.event("a.b", `{}`, leased, target), h.delete(`{"email":"ana@example.com"}`, target)
	ids := []uuid.UUID{logid.Delivery(first, 1), logid.Delivery(second, 1)}
	order := func() {
		h.exec(`update hub.deliveries set status = 0, finished_at = null, ordering_key = 'k', due_at = case when id = $1 then now() else 'infinity' end`, ids[0])
		h.exec(`insert into hub.ordering_keys (target_id, key, accepted, waiting, head) values ($1, 'k', 2, 2, $2) on conflict (target_id, key) do update set waiting = 2, head = excluded.head`, target, ids[0])
		h.exec(`insert into hub.ordering_queue (target_id, key, place, delivery_id) values ($1, 'k', 2, $2)`, target, ids[1])
	}
	settle := func() { h.exec(`update hub.deliveries set status = 1, finished_at = now() where id = $1`, ids[0]) }
	order()
	settle()
	require.Equal(t, "held", h.state(second, 1))
	require.False(t, h.work(h.eraser()))
	require.Equal(t, "due", h.state(second, 1))

	order()
	h.exec(`update hub.erasures set screened_at = null, hold_ended_at = null`)
	require.False(t, h.work(h.eraser()))
	require.Equal(t, "behind", h.state(second, 1))
	settle()
	require.Equal(t, "due", h.state(second, 1))
}
