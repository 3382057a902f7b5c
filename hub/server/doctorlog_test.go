package server_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/server"
)

// findings runs the doctor and returns what a check found.
func (p place) findings(t *testing.T, full bool, check string) (found []server.Finding) {
	t.Helper()
	server.Doctor(context.Background(), p.settings(t, nil), nil, full, func(f server.Finding) {
		if f.Check == check {
			found = append(found, f)
		}
	})
	return found
}

// fillDays stores five days of 2,000 events with a delivery each. Of 20 deliveries one is
// parked and one has failed; each has three attempts, the first stored with the delivery.
func (p place) fillDays(t *testing.T, today time.Time) {
	t.Helper()
	const prefix = `left(hub.day_floor($1::date)::text, 24)`
	for age := range 5 {
		day := today.AddDate(0, 0, -age)
		for _, statement := range []string{
			`select hub.ensure_partitions($1::date, 1)`,
			`insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body)
				select (` + prefix + ` || lpad(to_hex(n * 65536), 12, '0'))::uuid, n, gen_random_uuid(), 'live', 'shop', 'a.b', 1, '{}' from generate_series(1, 2000) n where $1::date is not null`,
			`insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status, attempts, started_at, finished_at)
				select (` + prefix + ` || lpad(to_hex(n * 65536 + 1), 12, '0'))::uuid, n, gen_random_uuid(), gen_random_uuid(), 'live', 'shop', 'a.b',
					case n % 20 when 0 then 2 when 1 then 3 else 1 end, 3, now(), now() from generate_series(1, 2000) n where $1::date is not null`,
			`insert into hub.attempts (delivery_id, number, started_at, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, signature)
				select (` + prefix + ` || lpad(to_hex(n * 65536 + 1), 12, '0'))::uuid, number, now(), 0, 0, 0, 0, 0, 0, '' from generate_series(1, 2000) n, generate_series(2, 3) number where $1::date is not null`,
			`insert into hub.rollup_deltas (bucket, tenant_id, target_id, product, accepted) values ($1::date::timestamp at time zone 'UTC', gen_random_uuid(), gen_random_uuid(), 'shop', 2000)`,
		} {
			_, err := p.pool.Exec(t.Context(), statement, day)
			require.NoError(t, err, statement)
		}
	}
}

// deleteFirst deletes the rows of the first n events of a day from a table.
func (p place) deleteFirst(t *testing.T, table, key string, n int, day time.Time) {
	t.Helper()
	tag, err := p.pool.Exec(t.Context(), fmt.Sprintf(`delete from hub.%[1]s_p%[2]s where %[3]s in (select %[3]s from hub.%[1]s_p%[2]s order by %[3]s limit %[4]d)`, table, day.Format("20060102"), key, n))
	require.NoError(t, err)
	require.Positive(t, tag.RowsAffected())
}

// The doctor counts what is missing of the open day and the day before; with full, of every
// day.
func TestDoctorFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	date := func(age int) string { return today.AddDate(0, 0, -age).Format(time.DateOnly) }
	p.fillDays(t, today)
	require.Equal(t, []server.Finding{{Check: "sum", Status: "ok", Detail: "accepted 4000 = delivered 3600 + parked 200 + pending 0 + failed 200 since " + date(1) +
		"; before, accepted 6000, of which parked 300 + pending 0 (--full counts the others)"}}, p.findings(t, false, "sum"))
	require.Equal(t, []server.Finding{{Check: "sum", Status: "ok", Detail: "accepted 10000 = delivered 9000 + parked 500 + pending 0 + failed 500"}}, p.findings(t, true, "sum"))
	for _, full := range []bool{false, true} {
		require.Equal(t, "ok", p.findings(t, full, "events")[0].Status)
		require.Equal(t, "ok", p.findings(t, full, "attempts")[0].Status)
	}

	p.deleteFirst(t, "events", "seq", 20, today)
	p.deleteFirst(t, "events", "seq", 50, today.AddDate(0, 0, -4))
	p.deleteFirst(t, "attempts", "delivery_id", 100, today) // all attempts of some deliveries
	p.deleteFirst(t, "attempts", "delivery_id", 389, today.AddDate(0, 0, -3))
	details := func(full bool, check string) (details []string) {
		for _, finding := range p.findings(t, full, check) {
			require.Equal(t, "failed", finding.Status)
			require.NotEmpty(t, finding.Advice)
			details = append(details, finding.Detail)
		}
		return details
	}
	events := date(0) + ": 20 events of 20 deliveries are missing; 1 of these wait and will fail with reason payload_missing"
	require.Equal(t, []string{events}, details(false, "events"))
	require.Equal(t, []string{date(4) + ": 50 events of 50 deliveries are missing; 2 of these wait and will fail with reason payload_missing", events}, details(true, "events"))
	require.Equal(t, []string{date(0) + ": 100 attempts are missing"}, details(false, "attempts"))
	require.Equal(t, []string{date(3) + ": 390 attempts are missing", date(0) + ": 100 attempts are missing"}, details(true, "attempts"))

	p.deleteFirst(t, "deliveries", "id", 7, today.AddDate(0, 0, -2))
	require.Equal(t, "ok", p.findings(t, false, "sum")[0].Status)
	require.Equal(t, []string{date(2) + ": accepted 2000 ≠ delivered 1794 + parked 100 + pending 0 + failed 99"}, details(true, "sum"))

	// Without any row of the days before, what waits is compared with the statistics.
	_, err := p.pool.Exec(t.Context(), `delete from hub.rollup_deltas where bucket < $1`, today.AddDate(0, 0, -1))
	require.NoError(t, err)
	require.Equal(t, []string{"before " + date(1) + ": accepted 0 < parked 300 + pending 0"}, details(false, "sum"))
}

// The doctor counts the processes that run, each with its pools.
func TestDoctorCountsConnections(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.start(t, nil)
	p.start(t, nil)
	require.Eventually(t, func() bool {
		found := p.findings(t, false, "connections")
		require.Len(t, found, 1)
		return len(found[0].Detail) > 40 && found[0].Detail[:40] == "2 processes with up to 23 connections ea"
	}, soon, tick)
}
