package maintain_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// event stores an event without deliveries of its own.
func (j *replayTest) event(eventType, product, body string, age time.Duration) uuid.UUID {
	j.t.Helper()
	seq := logid.NewSeq(time.Now().Add(-age))
	j.exec(`insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body) values ($1, 1, $2, 'live', $3, $4, 0, $5)`,
		seq, j.target[0], product, eventType, body)
	return seq
}

// deliveriesTo lists the events that a target has deliveries of, with how many.
func (j *replayTest) deliveriesTo(target uuid.UUID) map[uuid.UUID]int {
	j.t.Helper()
	rows, err := j.pool.Query(j.t.Context(), `select (overlay(id::text placing '0000' from 33))::uuid, count(*)::integer from hub.deliveries where target_id = $1 group by 1`, target)
	require.NoError(j.t, err)
	defer rows.Close()
	found := make(map[uuid.UUID]int)
	for rows.Next() {
		var seq uuid.UUID
		var n int
		require.NoError(j.t, rows.Scan(&seq, &n))
		found[seq] = n
	}
	return found
}

// An endpoint gets the stored events that it wants and has no delivery of, each once,
// however many recoveries run at once.
func TestRecovery(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	target, other := j.target[0], j.target[1]
	j.exec(`update hub.products set hosted = true`) // peers send it events, which are not its own
	j.exec(`update hub.endpoints set event_types = '{a.*,b_c}' where id = $1`, target)
	var had []uuid.UUID
	for _, id := range j.add(700, target, 1) {
		had = append(had, logid.Seq(id))
	}
	var wanted []uuid.UUID
	for _, id := range j.add(40, other, 1) { // two deliveries then
		wanted = append(wanted, logid.Seq(id))
	}
	j.exec(`update hub.events set tenant_id = $1`, target)
	wanted = append(wanted, j.event("a.b", "shop", "{}", 0), j.event("b_c", "shop", "{}", time.Second))
	unwanted := []uuid.UUID{
		j.event("c.d", "shop", "{}", 0), j.event("bxc", "shop", "{}", 0), j.event("a.b", "hub", "{}", 0), j.event("a.b", "crm", "{}", 0),
		j.event("a.b", "shop", `{"erased":true}`, 0), j.event("a.b", "shop", "{}", 2*time.Hour),
	}
	// One is on its way to the endpoint: a lease stands for its delivery.
	leased := j.event("a.b", "shop", "{}", 0)
	promised := logid.Delivery(leased, 1)
	j.exec(`update hub.events set deliveries = 1 where seq = $1`, leased)
	j.exec(`insert into hub.leases (id, deliveries) values (gen_random_uuid(), $1)`, append(append(append([]byte{}, promised[:]...), target[:]...), 0))

	recovery := maintain.Recovery{EndpointID: target, Since: time.Now().Add(-time.Hour)}
	count, err := j.CountRecovery(t.Context(), recovery, query.Owner{})
	require.NoError(t, err)
	require.EqualValues(t, len(wanted), count)
	narrow := recovery
	narrow.EventTypes = []string{"b_c", "x.*"}
	count, err = j.CountRecovery(t.Context(), narrow, query.Owner{})
	require.NoError(t, err)
	require.EqualValues(t, 1, count)
	narrow = recovery
	narrow.Until = new(time.Now().Add(-time.Minute))
	count, err = j.CountRecovery(t.Context(), narrow, query.Owner{})
	require.NoError(t, err)
	require.Zero(t, count)

	var jobs []uuid.UUID
	for range 2 {
		job, err := j.CreateRecovery(t.Context(), recovery, maintain.Creator{Label: "test"})
		require.NoError(t, err)
		require.EqualValues(t, len(wanted), job.Total)
		require.Equal(t, maintain.KindRecover, job.Kind)
		jobs = append(jobs, job.ID)
	}
	toOther, err := j.CreateRecovery(t.Context(), maintain.Recovery{EndpointID: other, Since: recovery.Since}, maintain.Creator{Label: "test"})
	require.NoError(t, err)
	jobs = append(jobs, toOther.ID)
	var working sync.WaitGroup
	for range 3 {
		working.Go(func() {
			for range 20 {
				if _, err := j.Step(t.Context()); err != nil {
					t.Error(err)
				}
				_, _ = j.pool.Exec(t.Context(), `update hub.replays set due_at = now() where status = 'running'`)
			}
		})
	}
	working.Wait()
	var delivered int64
	for _, id := range jobs[:2] {
		delivered += j.finish(id).Delivered
	}
	j.finish(jobs[2])
	require.EqualValues(t, len(wanted), delivered, "each by one of them")
	found := j.deliveriesTo(target)
	for _, seq := range append(append(had, wanted...), leased) {
		require.Equal(t, 1, found[seq], seq)
	}
	for _, seq := range unwanted {
		require.Zero(t, found[seq])
	}
	for seq, n := range j.deliveriesTo(other) {
		require.Equal(t, 1, n, seq)
	}
	var wrong int
	require.NoError(t, j.pool.QueryRow(t.Context(), `
		select count(*) from hub.events e where deliveries <> (select count(*) from hub.deliveries d where d.event_id = e.id and (overlay(d.id::text placing '0000' from 33))::uuid = e.seq)`).Scan(&wrong))
	require.Zero(t, wrong, "events know how many deliveries they have")
	var accepted int
	require.NoError(t, j.pool.QueryRow(t.Context(), `select coalesce(sum(accepted), 0) from hub.rollup_deltas where target_id = $1`, target).Scan(&accepted))
	require.Equal(t, len(wanted), accepted)
}

// The log keeps the name that a product had before it was renamed. What was published then is
// recovered too; the hub's own events are not.
func TestRecoveryAfterARename(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	target := j.target[0]
	before := j.event("a.b", "shop", "{}", time.Second)
	j.event("a.b", "hub", "{}", time.Second)
	j.exec(`with moved as (update hub.tenants set product = 'papers' where product = 'shop') update hub.products set name = 'papers' where name = 'shop'`)
	after := j.event("a.b", "papers", "{}", 0)
	recovery := maintain.Recovery{EndpointID: target, Since: time.Now().Add(-time.Hour)}
	count, err := j.CountRecovery(t.Context(), recovery, query.Owner{})
	require.NoError(t, err)
	require.EqualValues(t, 2, count)
	_, err = j.CreateRecovery(t.Context(), recovery, maintain.Creator{Label: "test"})
	require.NoError(t, err)
	_, err = j.Step(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]int{before: 1, after: 1}, j.deliveriesTo(target))
}

// A recovery examines the events of its tenant and environment only: others', however many,
// neither hold it up nor are read.
func TestRecoveryExaminesItsTenantsEvents(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	target := j.target[0]
	j.exec(`
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
		select (left($1::uuid::text, 24) || lpad(to_hex(n), 8, '0') || '0000')::uuid, n, case when n % 2 = 0 then $2 else gen_random_uuid() end, 'test', 'shop', 'a.b', 0, '{}'
		from generate_series(1, 6000) n`, logid.Floor(time.Now().Add(-30*time.Minute)), target)
	own := j.event("a.b", "shop", "{}", 0)
	_, err := j.CreateRecovery(t.Context(), maintain.Recovery{EndpointID: target, Since: time.Now().Add(-time.Hour)}, maintain.Creator{Label: "test"})
	require.NoError(t, err)
	_, err = j.Step(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]int{own: 1}, j.deliveriesTo(target), "in the first step")
}
