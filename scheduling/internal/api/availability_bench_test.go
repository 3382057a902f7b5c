package api_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// busyMonth fills March: fifty professionals, ten thousand appointments.
func busyMonth(org *schedulingtest.Bookable) {
	org.T.Helper()
	const sql = `
	with people as (
		insert into scheduling.professionals (org_id, id, name, position)
		select $1, gen_random_uuid(), 'P' || n, n from generate_series(1, 49) n returning id
	), gives as (
		insert into scheduling.professional_services (org_id, professional_id, service_id) select $1, id, $2 from people
	), rules as (
		insert into scheduling.schedule_rules (org_id, id, professional_id, day_of_week, start_minute, end_minute)
		select $1, gen_random_uuid(), id, d, 540, 1080 from people, generate_series(0, 4) d
	) select count(*) from people`
	_, err := org.Hub.Host.Pool.Exec(org.T.Context(), sql, org.ID, org.ServiceID)
	require.NoError(org.T, err)
	_, err = org.Hub.Host.Pool.Exec(org.T.Context(), `
	insert into scheduling.appointments (org_id, id, client_id, professional_id, service_id, start_at, end_at, price_cents, status, source)
	select $1, gen_random_uuid(), $3, p.id, $2, s, s + interval '30 minutes', 8000, 'scheduled', 'web'
	from scheduling.professionals p, generate_series(0, 21) d, generate_series(0, 9) k,
	lateral (select ('2026-03-02 12:00Z'::timestamptz + (d + d / 5 * 2) * interval '1 day' + k * interval '45 minutes') s) x
	where p.org_id = $1 limit 10000`, org.ID, org.ServiceID, org.ClientID)
	require.NoError(org.T, err)
	_, err = org.Hub.Host.Pool.Exec(org.T.Context(), `analyze`)
	require.NoError(org.T, err)
}

// A month of fifty professionals takes as many queries as one of a single one, and
// no more than four.
func TestAMonthTakesFourQueries(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	busyMonth(org)
	path := "/availability/month?service_id=" + org.ServiceID + "&month=2026-03"
	guest := org.As("")
	count := func() int64 {
		before := org.Hub.QueryCount.Load()
		guest.OK(200, "GET", path, nil)
		return org.Hub.QueryCount.Load() - before
	}
	require.EqualValues(t, 4, count())
	days := guest.OK(200, "GET", path, nil)["days"].([]any)
	require.Len(t, days, 31)
	require.Positive(t, days[1].(object)["free"])
	require.EqualValues(t, 0, days[0].(object)["free"], "a Sunday")
}

// The benchmarks report the 95th percentile over HTTP, the client included.

func BenchmarkMonth(b *testing.B) {
	org := schedulingtest.NewBookable(b)
	busyMonth(org)
	percentile(b, org.Organization, "/availability/month?month=2026-03&service_id="+org.ServiceID)
}

func BenchmarkDay(b *testing.B) {
	org := schedulingtest.NewBookable(b)
	busyMonth(org)
	percentile(b, org.Organization, "/availability?date=2026-03-04&service_id="+org.ServiceID+"&professional_id="+org.ProfessionalID)
}

func BenchmarkDashboard(b *testing.B) {
	org := schedulingtest.NewBookableAlone(b)
	busyMonth(org)
	org.AdvanceClock(5 * 24 * time.Hour)
	percentile(b, org.Organization, "/reports/dashboard")
}

func percentile(b *testing.B, org *schedulingtest.Organization, path string) {
	took := make([]time.Duration, 0, 1000)
	org.OK(200, "GET", path, nil)
	for b.Loop() {
		began := time.Now()
		org.OK(200, "GET", path, nil)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
