package maintain_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// thin enforces the retention until a day has so many deliveries: a run on a slow machine ends
// before the day does.
func (c *compactTest) thin(deliveries int) {
	c.t.Helper()
	for range 10 {
		require.NoError(c.t, c.maintenance.EnforceRetention(c.t.Context()))
		if c.rows("deliveries") == deliveries {
			break
		}
	}
	require.Equal(c.t, deliveries, c.rows("deliveries"))
}

// Of a day of which much waits, what is settled is deleted beside it. Nobody waits for that: the
// rows that wait can be changed all the time.
func TestDaysOfWhichMuchWaits(t *testing.T) {
	t.Parallel()
	const waiting, settled = 12_000, 24_000
	c := newCompactTest(t, settled, waiting)
	c.exec(`
		insert into hub.erasures (seq, tenant_id, environment, erased_at)
		select (overlay(id::text placing '0000' from 33))::uuid, tenant_id, 'live', now() from hub.deliveries where status = 1 order by id limit 1`)
	c.exec(`
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body) -- that nobody gets, as the next one
		select overlay(seq::text placing 'fffffff0' from 25)::uuid, 99999, tenant_id, environment, product, event_type, 0, body from hub.events order by seq limit 1`)
	c.exec(`insert into hub.erasures (seq, tenant_id, environment, erased_at) select seq, tenant_id, 'live', now() from hub.events where id = 99999`)
	c.exec(`
		insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
		select overlay(seq::text placing 'fffffff1' from 25)::uuid, 99998, tenant_id, environment, product, event_type, 0, body from hub.events order by seq limit 1`)
	before, table := c.balanced(), c.tableID()
	tx, err := c.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `select from hub.deliveries_`+c.day+` where status = 2 for update`) // as many attempts that end
	require.NoError(t, err)
	c.thin(waiting + 1)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []int{waiting + 2, waiting + 1}, []int{c.rows("events"), c.rows("attempts")}, "with the events of two erasures")
	require.Equal(t, before, c.balanced())
	require.Equal(t, table, c.tableID())

	// Deliveries that are settled later are left until they are many, and go with the day.
	c.exec(`update hub.deliveries set status = 1, finished_at = now() where status = 2 and id < $1`, c.parked[5000])
	c.exec(`analyze hub.deliveries`)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	require.Equal(t, waiting+1, c.rows("deliveries"))
	c.exec(`update hub.deliveries set status = 1, finished_at = now() where status = 2`)
	c.exec(`update hub.erasures set finished_at = now()`)
	require.NoError(t, c.maintenance.EnforceRetention(t.Context()))
	var left int
	require.NoError(t, c.pool.QueryRow(t.Context(), `select count(*) from pg_class where relname like '%' || $1 || '%'`, c.day).Scan(&left))
	require.Zero(t, left)
}

// What is sent again by hand while the settled rest of its day is deleted stays.
func TestRequeuedWhileItsDayIsThinned(t *testing.T) {
	t.Parallel()
	c := newCompactTest(t, 24_000, 12_000)
	var id string
	require.NoError(t, c.pool.QueryRow(t.Context(), `select id::text from hub.deliveries where status = 3 order by id limit 1`).Scan(&id))
	tx, err := c.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), `update hub.deliveries_`+c.day+` set status = 0, finished_at = null where id = $1`, id)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- c.maintenance.EnforceRetention(t.Context()) }()
	require.Eventually(t, func() bool {
		var waits bool
		require.NoError(t, c.pool.QueryRow(t.Context(), `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits))
		return waits
	}, time.Minute, time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
	c.thin(12_001)
	require.Equal(t, []int{12_001, 12_001}, []int{c.rows("events"), c.rows("attempts")})
	c.balanced()
}
