package chaos

import (
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// storedEvent is an event in the hub's database.
type storedEvent struct {
	promised   int // deliveries, as the event says
	rows       int // deliveries that are stored
	unfinished int // of these, pending, parked or failed
	delivered  int // of these, delivered
}

// requireBalance compares what was sent with what arrived and with the hub's log, and fails
// the test where they differ. No delivery may be pending.
func (bed *testbed) requireBalance(p *publisher, sent []records.Sent) *reconcile.Balance {
	bed.t.Helper()
	require.Empty(bed.t, p.violations, "answers no client should ever get")
	arrivals := bed.receiver.Arrivals()
	events := bed.readLog()
	balance := reconcile.Compare(sent, arrivals)
	require.NoError(bed.t, balance.Explain(func(id string) (int, error) {
		bits, _ := hub.ParseEventID(id)
		return events[bits].unfinished, nil
	}))
	bed.t.Logf("accepted %d events for %d deliveries, delivered %d, in the log %d, lost %d, duplicated %d; unanswered %d that arrived all the same",
		balance.Accepted, balance.Expected, balance.Delivered, balance.Waiting, balance.Lost, balance.Duplicated, balance.Unanswered)
	require.Positive(bed.t, balance.Delivered)
	counts := *balance
	counts.Missing = nil
	require.True(bed.t, balance.Sound(), "the ledger does not hold: %+v", counts)
	bed.requireStored(sent, events)
	bed.requireArrived(arrivals, events)
	bed.requireSums()
	return balance
}

// killRecord counts the kills, and at how many of them each delivery was pending: it may
// arrive again that often.
type killRecord struct {
	count          int
	pendingAtKills map[records.DeliveryKey]int // number of kills
}

// add records a kill. Call it right after the kill.
func (k *killRecord) add(bed *testbed) {
	bed.t.Helper()
	k.count++
	rows, err := bed.pool.Query(bed.t.Context(), `
		select d.event_id, substring(e.url from '[0-9]+$')::int
		from (select event_id, target_id from hub.deliveries where status = 0
		      union all
		      select e.id, p.target_id from hub.promised p join hub.events e on e.seq = (overlay(p.id::text placing '0000' from 33))::uuid
		      where not exists (select from hub.deliveries d where d.id = p.id)) d
		join hub.endpoints e on e.id = d.target_id`)
	require.NoError(bed.t, err)
	var event int64
	var endpoint int32
	_, err = pgx.ForEachRow(rows, []any{&event, &endpoint}, func() error {
		k.pendingAtKills[records.DeliveryKey{EventID: uint64(event), Endpoint: uint32(endpoint)}]++
		return nil
	})
	require.NoError(bed.t, err)
}

// requireExplained fails the test when a delivery arrived again more often than kills
// explain.
func (k *killRecord) requireExplained(bed *testbed) {
	bed.t.Helper()
	taken := make(map[records.DeliveryKey]int)
	for _, arrival := range bed.receiver.Arrivals() {
		if arrival.Delivered() {
			taken[arrival.Key()]++
		}
	}
	for key, times := range taken {
		require.LessOrEqual(bed.t, times-1, k.pendingAtKills[key], "event %s arrived %d times at endpoint %d, more often than kills explain",
			hub.FormatEventID(key.EventID), times, key.Endpoint)
	}
}

// readLog reads every event that was published to the hub, and its deliveries, from the
// database, by event id.
func (bed *testbed) readLog() map[uint64]storedEvent {
	bed.t.Helper()
	_, err := bed.pool.Exec(bed.t.Context(), `select hub.unfold_leases(array(select id from hub.leases))`) // where the hub was killed last
	require.NoError(bed.t, err)
	rows, err := bed.pool.Query(bed.t.Context(), `
		select e.id, e.deliveries, count(d.id), count(d.id) filter (where d.status <> 1), count(d.id) filter (where d.status = 1)
		from hub.events e
		left join hub.deliveries d on (overlay(d.id::text placing '0000' from 33))::uuid = e.seq
		where e.product <> 'hub' -- operational events, which the publisher did not send
		group by e.seq`)
	require.NoError(bed.t, err)
	events := make(map[uint64]storedEvent)
	var id int64
	var event storedEvent
	_, err = pgx.ForEachRow(rows, []any{&id, &event.promised, &event.rows, &event.unfinished, &event.delivered}, func() error {
		_, twice := events[uint64(id)]
		require.False(bed.t, twice, "event %s is stored twice", hub.FormatEventID(uint64(id)))
		events[uint64(id)] = event
		return nil
	})
	require.NoError(bed.t, err)
	return events
}

// requireStored fails the test unless every accepted event is stored once, with the
// promised deliveries, and nothing is stored that was never sent.
func (bed *testbed) requireStored(sent []records.Sent, events map[uint64]storedEvent) {
	bed.t.Helper()
	accepted := 0
	for _, s := range sent {
		if !s.Accepted() {
			continue
		}
		accepted++
		event, stored := events[s.ID]
		require.True(bed.t, stored, "event %s was accepted and is not stored", hub.FormatEventID(s.ID))
		require.Equal(bed.t, int(s.Deliveries), event.promised, "deliveries of %s as answered", hub.FormatEventID(s.ID))
	}
	for id, event := range events {
		require.Equal(bed.t, event.promised, event.rows, "delivery rows of %s", hub.FormatEventID(id))
	}
	require.LessOrEqual(bed.t, len(events), len(sent), "more events than were ever sent")
	require.GreaterOrEqual(bed.t, len(events), accepted)
}

// requireArrived fails the test unless what the log calls delivered has arrived, also
// where the publisher got no response.
func (bed *testbed) requireArrived(arrivals []records.Arrival, events map[uint64]storedEvent) {
	bed.t.Helper()
	taken := make(map[records.DeliveryKey]bool, len(arrivals))
	count := make(map[uint64]int, len(events))
	for _, arrival := range arrivals {
		if key := arrival.Key(); arrival.Delivered() && !taken[key] {
			taken[key] = true
			count[arrival.ID]++
		}
	}
	for id, event := range events {
		require.LessOrEqual(bed.t, event.delivered, count[id], "the log calls more of %s delivered than arrived", hub.FormatEventID(id))
	}
}

// requireSums fails the test unless accepted = delivered + parked + pending + failed, in
// the log and in the statistics, which are counted separately.
func (bed *testbed) requireSums() {
	bed.t.Helper()
	var accepted, pending, delivered, parked, failed int
	require.NoError(bed.t, bed.pool.QueryRow(bed.t.Context(), `
		select (select coalesce(sum(deliveries), 0) from hub.events), count(*) filter (where status = 0), count(*) filter (where status = 1),
			count(*) filter (where status = 2), count(*) filter (where status = 3) from hub.deliveries`).
		Scan(&accepted, &pending, &delivered, &parked, &failed))
	bed.t.Logf("log: accepted %d = delivered %d + parked %d + pending %d + failed %d", accepted, delivered, parked, pending, failed)
	require.Equal(bed.t, accepted, delivered+parked+pending+failed)
	var counted [4]int
	require.NoError(bed.t, bed.pool.QueryRow(bed.t.Context(), `
		select sum(accepted), sum(delivered), sum(parked), sum(failed) from (
			select accepted, delivered, parked, failed from hub.statistics where width = 30 and scope = 0 and product = ''
			union all select accepted, delivered, parked, failed from hub.rollup_deltas) r`).
		Scan(&counted[0], &counted[1], &counted[2], &counted[3]))
	parkings := parked + bed.unparked
	if bed.isDraining { // the statistics count each parking, also of what was tried again and delivered or parked anew
		require.GreaterOrEqual(bed.t, counted[2], parkings)
		parkings = counted[2]
	}
	if bed.isResending { // what was delivered before is counted once more
		require.GreaterOrEqual(bed.t, counted[1], delivered)
		delivered = counted[1]
	}
	require.Equal(bed.t, [4]int{accepted, delivered, parkings, failed}, counted, "accepted, delivered, parked and failed as the statistics have them")
}
