package store_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// statements keeps the SQL that a service runs, by the names of the queries.
type statements struct{ byName sync.Map }

var queryName = regexp.MustCompile(`^-- name: (\w+)`)

// TraceQueryStart implements pgx.QueryTracer.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if name := queryName.FindStringSubmatch(data.SQL); name != nil {
		s.byName.Store(name[1], data.SQL)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// traced opens a studio whose statements are kept.
func (s *statements) traced(t *testing.T) *schedulingtest.Bookable {
	return schedulingtest.NewBookableOn(t, func(host *module.Host) {
		settings := host.Pool.Config()
		settings.ConnConfig.Tracer = s
		pool, err := pgxpool.NewWithConfig(context.Background(), settings)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		host.Pool = pool
	})
}

// explain returns the generic plan of a query, as prepared statements use it.
func (s *statements) explain(org *schedulingtest.Bookable, name string) string {
	org.T.Helper()
	sql, found := s.byName.Load(name)
	require.True(org.T, found, "%s was not run", name)
	places := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`\$\d+`).FindAllString(sql.(string), -1))))
	nulls := strings.TrimSuffix(strings.Repeat("null, ", len(places)), ", ")
	var lines []string
	require.NoError(org.T, pgx.BeginFunc(org.T.Context(), org.Hub.Host.Pool, func(tx pgx.Tx) error {
		for _, text := range []string{"set local plan_cache_mode = force_generic_plan", "prepare asked as " + sql.(string)} {
			_, err := tx.Exec(org.T.Context(), text, pgx.QueryExecModeSimpleProtocol)
			require.NoError(org.T, err)
		}
		rows, err := tx.Query(org.T.Context(), fmt.Sprintf("explain execute asked (%s)", nulls), pgx.QueryExecModeSimpleProtocol)
		require.NoError(org.T, err)
		lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(org.T, err)
		_, err = tx.Exec(org.T.Context(), "deallocate asked", pgx.QueryExecModeSimpleProtocol)
		return err
	}))
	return strings.Join(lines, "\n")
}

// A month's statement reads no payments of other months.
func TestPaymentsOfAMonthUseAnIndex(t *testing.T) {
	t.Parallel()
	var s statements
	org := s.traced(t)
	org.Exec(`insert into scheduling.clients (org_id, id, name) select $1, gen_random_uuid(), 'C' from generate_series(1, 400)`, org.ID)
	org.Exec(`insert into scheduling.payments (org_id, id, client_id, amount_cents, method, status, paid_at, created_at)
		select $1, gen_random_uuid(), clients[1 + n % 401], 100, 'pix', case when n % 10 = 0 then 'pending' else 'paid' end,
		case when n % 10 > 0 then day end, day - interval '40 days'
		from generate_series(1, 40000) n, lateral (select '2022-01-01Z'::timestamptz + n * interval '1 hour' as day) x,
		(select array_agg(id) as clients from scheduling.clients where org_id = $1) c`, org.ID)
	org.Exec("analyze scheduling.payments")
	got := org.OK(200, "GET", "/payments?month=2026-03&per_page=2&page=3", nil)
	require.Greater(t, got["total"], 600.0)
	require.Len(t, got["items"], 2)
	for _, name := range []string{"ListPayments", "SumPayments"} {
		plan := s.explain(org, name)
		require.Contains(t, plan, "payments_month", plan)
		require.Regexp(t, `Index Cond: \(.*COALESCE\(.*paid_at, .*created_at\) >= .*COALESCE`, plan)
		require.NotContains(t, plan, "Seq Scan on payments", plan)
	}
	org.OK(200, "GET", "/clients/"+org.ClientID+"/payments", nil)
	org.OK(200, "GET", "/appointments/"+org.Book(0), nil)
	require.Contains(t, s.explain(org, "ListClientPayments"), "payments_of_client")
	require.Contains(t, s.explain(org, "ListAppointmentPayments"), "payments_appointment")
}

// A page beyond the last is empty and says how many there are.
func TestTotalsBeyondTheLastPage(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	for range 3 {
		org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 7, "method": "cash"})
	}
	org.OK(201, "POST", "/clients", object{"name": "Eva"})
	org.AdvanceClock(90 * 24 * time.Hour)
	for path, total := range map[string]float64{
		"/clients/" + org.ClientID + "/payments?": 3, "/payments?month=2026-02": 3, "/reports/clients/inactive?": 2, "/clients?": 2,
		"/loyalty/clients/" + org.ClientID + "?": 0, "/clients/" + org.ClientID + "/appointments?": 0,
	} {
		got := org.OK(200, "GET", path+"&per_page=2&page=9", nil)
		if history, nested := got["history"]; nested {
			got = history.(object)
		}
		require.Equal(t, []any{}, got["items"], path)
		require.InDelta(t, total, got["total"], 1e-9, path)
		require.InDelta(t, float64(int(total+1)/2), got["pages"], 1e-9, path)
		require.EqualValues(t, 9, got["page"], path)
	}
}

// Removed professionals stay in reports of the time before.
func TestRemovedProfessionalsStayInPastReports(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.Exec(`update scheduling.professionals set created_at = '2026-01-01Z' where org_id = $1`, org.ID)
	org.AdvanceClock(72*time.Hour - time.Minute) // Monday, March 2
	eva := org.AddProfessional("Eva", org.ServiceID)
	done := org.Book(0)
	org.Transition(200, "complete", done, nil)
	org.OK(201, "POST", "/payments", object{"appointment_id": done, "amount": 80, "method": "cash"})
	org.AdvanceClock(9 * 24 * time.Hour) // Wednesday, March 11
	reports := func() (list []object) {
		for _, path := range []string{"dashboard", "occupancy", "noshow", "revenue", "services/popular"} {
			for _, filter := range []string{"", "&professional_id=" + org.ProfessionalID} {
				list = append(list, org.OK(200, "GET", "/reports/"+path+"?month=2026-02"+filter, nil))
			}
		}
		return list
	}
	before := reports()
	march := org.OK(200, "GET", "/reports/occupancy?month=2026-03", nil)["professionals"].([]any)
	require.EqualValues(t, 22*180, march[0].(object)["available_minutes"])
	org.OK(204, "DELETE", "/professionals/"+org.ProfessionalID, nil)
	require.Equal(t, before, reports(), "February is as it was")
	march = org.OK(200, "GET", "/reports/occupancy?month=2026-03", nil)["professionals"].([]any)
	require.Len(t, march, 2)
	ana := march[0].(object)
	require.Equal(t, "Ana", ana["professional_name"])
	require.EqualValues(t, 8*180, ana["available_minutes"], "up to the day")
	require.EqualValues(t, 30, ana["booked_minutes"])
	require.EqualValues(t, 80, org.OK(200, "GET", "/reports/revenue?professional_id="+org.ProfessionalID, nil)["total"])
	april := org.OK(200, "GET", "/reports/occupancy?month=2026-04", nil)["professionals"].([]any)
	require.Len(t, april, 1)
	require.Equal(t, eva, april[0].(object)["professional_id"])
	org.Refused(404, "not_found", "GET", "/reports/occupancy?professional_id="+uuid.NewString(), nil)
	org.Refused(404, "not_found", "GET", "/schedule-rules?professional_id="+org.ProfessionalID, nil)
}

// What an appointment earned is found without reading what all others did.
func TestPointsOfAnAppointmentUseAnIndex(t *testing.T) {
	t.Parallel()
	var s statements
	org := s.traced(t)
	org.OK(200, "PUT", "/loyalty/config", object{"enabled": true, "accrual_type": "visit", "points_per_visit": 5})
	id := org.Book(0)
	org.Transition(200, "complete", id, nil)
	org.Exec(`insert into scheduling.loyalty_entries (org_id, id, client_id, type, points, balance_after, source, appointment_id)
		select $1, gen_random_uuid(), $2, 'earn', 1, 1, 'payment:' || n, case when n % 100 = 0 then $3::uuid end from generate_series(1, 20000) n`, org.ID, org.ClientID, id)
	org.Exec("analyze scheduling.loyalty_entries")
	org.Transition(200, "reopen", id, nil)
	require.EqualValues(t, 0, org.LoyaltyAccount(org.ClientID)["balance"], "what payments earned stays out of it")
	plan := s.explain(org, "EarnedVisitPoints")
	require.Contains(t, plan, "loyalty_entries_appointment", plan)
	require.NotContains(t, plan, "Seq Scan", plan)
}
