package chaos

import (
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// logged is an event as the hub's database has it.
type logged struct {
	promised int // deliveries it was stored with
	rows     int // deliveries there are
	standing int // of these, pending, parked or failed
	done     int // of these, delivered
}

// balance holds everything that was sent against everything that arrived and
// against the hub's log, and fails the test where they do not agree. At the end
// of a test nothing may be pending.
func (w *world) balance(p *publisher, sent []records.Sent) *reconcile.Balance {
	w.t.Helper()
	require.Empty(w.t, p.offences, "answers no client should ever get")
	arrivals := w.receiver.Arrivals()
	events := w.readLog()
	b := reconcile.Compare(sent, arrivals)
	require.NoError(w.t, b.Explain(func(id string) (int, error) {
		bits, _ := hub.ParseEventID(id)
		return events[bits].standing, nil
	}))
	w.t.Logf("accepted %d events for %d deliveries, delivered %d, in the log %d, lost %d, duplicated %d; unanswered %d that arrived all the same",
		b.Accepted, b.Expected, b.Delivered, b.Waiting, b.Lost, b.Duplicated, b.Unanswered)
	require.Positive(w.t, b.Delivered)
	counts := *b
	counts.Missing = nil
	require.True(w.t, b.Sound(), "the ledger does not hold: %+v", counts)
	w.checkEvents(sent, events)
	w.checkDelivered(arrivals, events)
	w.checkSums()
	return b
}

// kills remembers which deliveries each kill found unfinished: only those may
// arrive again.
type kills struct {
	count   int
	pending map[records.DeliveryKey]int // by how many kills it was found
}

// note is called right after a kill.
func (k *kills) note(w *world) {
	w.t.Helper()
	k.count++
	rows, err := w.pool.Query(w.t.Context(), `
		select d.event_id, substring(e.url from '[0-9]+$')::int
		from (select event_id, target_id from hub.deliveries where status = 0
		      union all
		      select e.id, p.target_id from hub.promised p join hub.events e on e.seq = (overlay(p.id::text placing '0000' from 33))::uuid
		      where not exists (select from hub.deliveries d where d.id = p.id)) d
		join hub.endpoints e on e.id = d.target_id`)
	require.NoError(w.t, err)
	var event int64
	var endpoint int32
	_, err = pgx.ForEachRow(rows, []any{&event, &endpoint}, func() error {
		k.pending[records.DeliveryKey{EventID: uint64(event), Endpoint: uint32(endpoint)}]++
		return nil
	})
	require.NoError(w.t, err)
}

// checkDuplicates: what arrived more than once was unfinished at as many kills.
func (k *kills) checkDuplicates(w *world) {
	w.t.Helper()
	taken := make(map[records.DeliveryKey]int)
	for _, a := range w.receiver.Arrivals() {
		if a.Delivered() {
			taken[a.Key()]++
		}
	}
	for key, times := range taken {
		require.LessOrEqual(w.t, times-1, k.pending[key], "event %s arrived %d times at endpoint %d, more often than kills explain",
			hub.FormatEventID(key.EventID), times, key.Endpoint)
	}
}

// readLog reads what the database knows about every event.
func (w *world) readLog() map[uint64]logged {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), `select hub.unfold_leases(array(select id from hub.leases))`) // where the hub was killed last
	require.NoError(w.t, err)
	rows, err := w.pool.Query(w.t.Context(), `
		select e.id, e.deliveries, count(d.id), count(d.id) filter (where d.status <> 1), count(d.id) filter (where d.status = 1)
		from hub.events e
		left join hub.deliveries d on (overlay(d.id::text placing '0000' from 33))::uuid = e.seq
		group by e.seq`)
	require.NoError(w.t, err)
	events := make(map[uint64]logged)
	var id int64
	var event logged
	_, err = pgx.ForEachRow(rows, []any{&id, &event.promised, &event.rows, &event.standing, &event.done}, func() error {
		_, twice := events[uint64(id)]
		require.False(w.t, twice, "event %s is stored twice", hub.FormatEventID(uint64(id)))
		events[uint64(id)] = event
		return nil
	})
	require.NoError(w.t, err)
	return events
}

// checkEvents: what was accepted is stored once, as promised, and nothing is
// stored that was never sent.
func (w *world) checkEvents(sent []records.Sent, events map[uint64]logged) {
	w.t.Helper()
	accepted := 0
	for _, s := range sent {
		if !s.Accepted() {
			continue
		}
		accepted++
		event, stored := events[s.ID]
		require.True(w.t, stored, "event %s was accepted and is not stored", hub.FormatEventID(s.ID))
		require.Equal(w.t, int(s.Deliveries), event.promised, "deliveries of %s as answered", hub.FormatEventID(s.ID))
	}
	for id, event := range events {
		require.Equal(w.t, event.promised, event.rows, "delivery rows of %s", hub.FormatEventID(id))
	}
	require.LessOrEqual(w.t, len(events), len(sent), "more events than were ever sent")
	require.GreaterOrEqual(w.t, len(events), accepted)
}

// checkDelivered: what the log calls delivered has arrived, also where the
// publisher got no answer.
func (w *world) checkDelivered(arrivals []records.Arrival, events map[uint64]logged) {
	w.t.Helper()
	taken := make(map[records.DeliveryKey]bool, len(arrivals))
	count := make(map[uint64]int, len(events))
	for _, a := range arrivals {
		if key := a.Key(); a.Delivered() && !taken[key] {
			taken[key] = true
			count[a.ID]++
		}
	}
	for id, event := range events {
		require.LessOrEqual(w.t, event.done, count[id], "the log calls more of %s delivered than arrived", hub.FormatEventID(id))
	}
}

// checkSums: accepted = delivered + parked + pending + failed, in the log and in
// the statistics, which count on their own.
func (w *world) checkSums() {
	w.t.Helper()
	var accepted, pending, delivered, parked, failed int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `
		select (select coalesce(sum(deliveries), 0) from hub.events), count(*) filter (where status = 0), count(*) filter (where status = 1),
			count(*) filter (where status = 2), count(*) filter (where status = 3) from hub.deliveries`).
		Scan(&accepted, &pending, &delivered, &parked, &failed))
	w.t.Logf("log: accepted %d = delivered %d + parked %d + pending %d + failed %d", accepted, delivered, parked, pending, failed)
	require.Equal(w.t, accepted, delivered+parked+pending+failed)
	var counted [4]int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `
		select sum(accepted), sum(delivered), sum(parked), sum(failed) from (
			select accepted, delivered, parked, failed from hub.statistics where width = 30 and scope = 0 and product = ''
			union all select accepted, delivered, parked, failed from hub.rollup_deltas) r`).
		Scan(&counted[0], &counted[1], &counted[2], &counted[3]))
	require.Equal(w.t, [4]int{accepted, delivered, parked + w.released, failed}, counted, "accepted, delivered, parked and failed as the statistics have them")
}
