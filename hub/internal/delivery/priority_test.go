package delivery

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/logid"
)

// waitingLane is a lane with numbered deliveries of each priority.
func waitingLane(counts map[hub.Priority]int) *lane {
	l := &lane{}
	for priority, n := range counts {
		for id := range n {
			l.push(LeasedDelivery{ID: uuid.UUID{byte(id)}, Priority: priority, ReadyAt: time.Unix(int64(id), 0)})
		}
	}
	return l
}

func TestLaneTakesHighThenNormalThenBulk(t *testing.T) {
	t.Parallel()
	l := waitingLane(map[hub.Priority]int{hub.PriorityBulk: 3, hub.PriorityNormal: 3, hub.PriorityHigh: 2})
	var order []hub.Priority
	for l.waiting() > 0 {
		next := l.pop()
		if next.Priority == hub.PriorityNormal && next.ID == (uuid.UUID{1}) {
			l.unpop(next)
			require.Equal(t, next, l.pop(), "the oldest of its priority stays first")
		}
		order = append(order, next.Priority)
	}
	require.Equal(t, []hub.Priority{-1, -1, 0, 0, 0, 1, 1, 1}, order)
}

// Bulk has one attempt in ten beside normal deliveries, and one in a hundred beside high ones.
func TestBulkIsNeverStarved(t *testing.T) {
	t.Parallel()
	for priority, turn := range map[hub.Priority]int{hub.PriorityNormal: bulkTurn, hub.PriorityHigh: highBulkTurn} {
		l := waitingLane(map[hub.Priority]int{hub.PriorityBulk: 5, priority: 1})
		var turns []int
		for n := range 3 * turn {
			next := l.pop()
			if next.Priority == hub.PriorityBulk {
				turns = append(turns, n+1)
				continue
			}
			l.push(next) // an endless stream of others
		}
		require.Equal(t, []int{turn, 2 * turn, 3 * turn}, turns)
	}
	l := waitingLane(map[hub.Priority]int{hub.PriorityNormal: 30})
	for l.waiting() > 0 {
		l.pop()
	}
	require.Zero(t, l.sinceBulk, "nothing is counted where no bulk waits")
}

// Bulk fills half of a lane and leaves all of its places to the others, of which a few high
// ones get a place beyond.
func TestBulkTakesNoPlacesOfOthers(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Now: time.Now, Concurrency: 1, EndpointConcurrency: 1})
	target := &directory.Target{ID: uuid.New(), RatePerMinute: 600, Enabled: true}
	reserve := func(priority hub.Priority) (places int) {
		for d.Reserve(target, priority) {
			places++
		}
		return places
	}
	require.Equal(t, 38, reserve(hub.PriorityBulk))
	require.Equal(t, 76, reserve(hub.PriorityNormal))
	require.Equal(t, maxHighPlaces, reserve(hub.PriorityHigh))
	l := d.lanes[target.ID]
	d.release(l, hub.PriorityBulk, 38)
	require.Equal(t, 7, reserve(hub.PriorityBulk), "one place in ten while others wait")
	d.release(l, hub.PriorityNormal, 76)
	d.release(l, hub.PriorityHigh, maxHighPlaces)
	d.release(l, hub.PriorityBulk, 7)
	require.Zero(t, l.reservedPlaces())
	require.Zero(t, d.queued)
	full := &directory.Target{ID: uuid.New(), TenantID: uuid.New(), Enabled: true, Limits: directory.Limits{Queue: 1}}
	require.True(t, d.Reserve(full, hub.PriorityNormal))
	require.False(t, d.Reserve(full, hub.PriorityNormal), "the tenant has its share")
	require.True(t, d.Reserve(full, hub.PriorityHigh), "the first in a lane")
	require.False(t, d.Reserve(full, hub.PriorityHigh), "the tenant's share binds the others")
	slow := &directory.Target{ID: uuid.New(), TenantID: uuid.New(), RatePerMinute: 1, Enabled: true}
	require.True(t, d.Reserve(slow, hub.PriorityBulk), "a lane with a single place takes bulk too")
}

func TestDueNotificationsNameTheirPriority(t *testing.T) {
	t.Parallel()
	target := uuid.New()
	require.Equal(t, target.String(), FormatDue(target, hub.PriorityNormal), "as before there were priorities")
	for _, priority := range []hub.Priority{hub.PriorityHigh, hub.PriorityNormal, hub.PriorityBulk} {
		read, priorities, ok := parseDue(FormatDue(target, priority))
		require.True(t, ok)
		require.Equal(t, target, read)
		require.Equal(t, setOf(priority), priorities)
	}
	_, priorities, ok := parseDue(target.String() + " later")
	require.True(t, ok)
	require.Equal(t, allPriorities, priorities, "of another version")
	_, _, ok = parseDue("no id")
	require.False(t, ok)
}

// fillBacklog stores due deliveries of one target, of each priority some, the bulk first.
func fillBacklog(t *testing.T, d *Dispatcher, tenant, target uuid.UUID, bulk, normal, high int) {
	t.Helper()
	for priority, count := range map[hub.Priority]int{hub.PriorityBulk: bulk, hub.PriorityNormal: normal, hub.PriorityHigh: high} {
		seqs := make([]uuid.UUID, count)
		ids := make([]uuid.UUID, count)
		for i := range seqs {
			seqs[i] = logid.NewSeq(time.Now())
			ids[i] = logid.Delivery(seqs[i], 1)
		}
		_, err := d.Pool.Exec(t.Context(), `
			insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body, priority)
			select seq, 7, $2, 'live', 'shop', 'a.b', 1, '{}', $3 from unnest($1::uuid[]) seq`, seqs, tenant, priority)
		require.NoError(t, err)
		_, err = d.Pool.Exec(t.Context(), `
			insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, priority, due_at)
			select id, 7, $2, $3, 'live', 'shop', 'a.b', $4::smallint, now() - ($4::smallint + 2) * interval '1 minute' from unnest($1::uuid[]) id`, ids, tenant, target, priority)
		require.NoError(t, err)
	}
}

// Claims take what each priority has places for, however much bulk waits before the others,
// and remember of which priority more is due.
func TestClaimsAreMadeByPriority(t *testing.T) {
	t.Parallel()
	d := NewDispatcher(Config{Pool: hubtest.Database(t), Now: time.Now, Concurrency: 1, EndpointConcurrency: 1})
	tenant, target := uuid.New(), uuid.New()
	fillBacklog(t, d, tenant, target, 2000, 30, 3)
	require.NoError(t, d.findDue(t.Context()))
	l := d.lanes[target]
	require.Equal(t, allPriorities, l.backlog)
	receiver := &directory.Target{ID: target, TenantID: tenant, RatePerMinute: 600, Enabled: true}
	requests := d.reserveClaims([]*lane{l}, []*directory.Target{receiver})
	require.Len(t, requests, 3)
	require.Zero(t, l.backlog)
	var targets []uuid.UUID
	var priorities []int16
	var places []int32
	for _, request := range requests {
		targets, priorities, places = append(targets, target), append(priorities, int16(request.priority)), append(places, int32(request.places))
	}
	buffers := buffersRead(t, d.Pool, `select from hub.deliveries where status = 0 and target_id = $1 and priority = 0 and due_at <= now() order by due_at, id limit 76`, target)
	require.Less(t, buffers, 300, "claims of normal rows do not read the bulk before them")
	claimed, err := d.claim(t.Context(), claimTargetsSQL, targets, priorities, places)
	require.NoError(t, err)
	counts := map[hub.Priority]int{}
	for _, delivery := range claimed {
		counts[delivery.Priority]++
	}
	require.Equal(t, map[hub.Priority]int{hub.PriorityHigh: 3, hub.PriorityNormal: 30, hub.PriorityBulk: int(places[1])}, counts)
	require.Equal(t, int16(hub.PriorityBulk), priorities[1])
	d.settleClaims(requests, claimed, false)
	require.Equal(t, setOf(hub.PriorityBulk), l.backlog, "only of bulk there may be more")
	d.settleClaims(requests[:1], nil, true)
	require.True(t, l.backlog.has(requests[0].priority), "a claim that failed is made again")
}
