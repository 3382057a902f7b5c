package maintain_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// setPriority sets the priority of deliveries and of their events.
func (j *replayTest) setPriority(p hub.Priority, ids ...uuid.UUID) {
	j.t.Helper()
	seqs := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		seqs[i] = logid.Seq(id)
	}
	j.exec(`update hub.deliveries set priority = $1 where id = any($2)`, p, ids)
	j.exec(`update hub.events set priority = $1 where seq = any($2)`, p, seqs)
}

func (j *replayTest) priority(id uuid.UUID) (p hub.Priority) {
	j.t.Helper()
	require.NoError(j.t, j.pool.QueryRow(j.t.Context(), `select priority from hub.deliveries where id = $1`, id).Scan(&p))
	return p
}

// A deletion that parked behind an import is tried first and drains first, then normal
// deliveries, then the import. Each keeps its priority.
func TestDrainsGoByPriority(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	ids := d.park(130, target)
	bulk, normal, high := ids[:100], ids[100:129], ids[129]
	d.setPriority(hub.PriorityBulk, bulk...)
	d.setPriority(hub.PriorityHigh, high)
	d.round()
	require.Equal(t, []uuid.UUID{high}, d.pending(target), "the trial")
	d.settle(1, high)
	d.round()
	require.Equal(t, slices.Concat(normal, bulk), d.drainAll(target))
	require.Equal(t, hub.PriorityBulk, d.priority(bulk[0]))
	require.Equal(t, hub.PriorityHigh, d.priority(high))
	require.Equal(t, hub.PriorityNormal, d.priority(normal[0]))
}

// drainAll settles what a target's drain sends as delivered, until nothing is left, and
// returns it in order.
func (d *drainTest) drainAll(target uuid.UUID) (order []uuid.UUID) {
	d.t.Helper()
	for range 200 {
		sent := d.pending(target)
		slices.SortStableFunc(sent, func(a, b uuid.UUID) int { return int(d.priority(a)) - int(d.priority(b)) })
		order = append(order, sent...)
		d.settle(1, sent...)
		d.round()
		if state, _ := d.state(target); state == "settling" {
			return order
		}
	}
	d.t.Fatal("the drain does not end")
	return nil
}

// A deletion that the receiver refuses again and again goes last, like any first delivery:
// the others are not held up.
func TestRefusedDeletionGoesLast(t *testing.T) {
	t.Parallel()
	d := newDrainTest(t)
	target := d.target[0]
	ids := d.park(5, target)
	d.setPriority(hub.PriorityHigh, ids[4])
	for range 3 {
		d.due()
		d.round()
		require.Equal(t, ids[4:], d.pending(target))
		d.settle(2, ids[4])
		d.round()
	}
	d.due()
	d.round()
	trial := d.pending(target)
	require.NotEqual(t, ids[4:], trial, "another is tried")
	d.settle(1, trial...)
	d.round()
	order := d.drainAll(target)
	require.Len(t, order, 4)
	require.Equal(t, ids[4], order[3])
}

// What a replay or a recovery sends is bulk, except deletions. What a person sends again is
// not bulk any more.
func TestReplaysAndRecoveriesAreBulk(t *testing.T) {
	t.Parallel()
	j := newReplayTest(t)
	ids := j.add(3, j.target[0], 2)
	j.setPriority(hub.PriorityHigh, ids[1])
	replay := j.start(j.target[0])
	j.finish(replay)
	require.Equal(t, hub.PriorityBulk, j.priority(ids[0]))
	require.Equal(t, hub.PriorityHigh, j.priority(ids[1]), "a deletion")

	requeuer := maintain.NewRequeuer(j.pool, query.NewReader(j.pool))
	for _, id := range ids[:2] {
		_, _, err := requeuer.Requeue(t.Context(), id, query.Owner{})
		require.NoError(t, err)
	}
	require.Equal(t, hub.PriorityNormal, j.priority(ids[0]))
	require.Equal(t, hub.PriorityHigh, j.priority(ids[1]))
	require.Equal(t, hub.PriorityBulk, j.priority(ids[2]))

	missed, deletion := j.event("a.b", "shop", "{}", 0), j.event("patient.deleted", "shop", "{}", 0)
	j.exec(`update hub.events set priority = -1 where seq = $1`, deletion)
	recovery, err := j.CreateRecovery(t.Context(), maintain.Recovery{EndpointID: j.target[0], Since: time.Now().Add(-time.Hour)}, maintain.Creator{Label: "test"})
	require.NoError(t, err)
	j.finish(recovery.ID)
	require.Equal(t, hub.PriorityBulk, j.priority(logid.Delivery(missed, 1)))
	require.Equal(t, hub.PriorityHigh, j.priority(logid.Delivery(deletion, 1)))
}
