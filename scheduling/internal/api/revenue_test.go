package api_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

// refunded pays what an appointment costs by Pix, and refunds some of it at the provider.
func refunded(org *schedulingtest.Bookable, appointment string, amount, back float64) {
	org.T.Helper()
	created := org.OK(201, "POST", "/payments/pix", object{"appointment_id": appointment, "amount": amount, "kind": "other"})
	org.PayCharge(created["txid"])
	org.Exec(`update scheduling.sandbox_charges set refunded_cents = $2, status = case when $2 = amount_cents then 'refunded' else status end where txid = $1`,
		created["txid"], int64(back*100))
	org.Exec(`update scheduling.provider_events set processed_at = null, due_at = received_at where charge_id = $1`, created["provider_payment_id"])
	org.RunJob("payments")
}

// All amounts of reports are net of refunds. A statement has what came in and what went back
// apart, and its parts add up.
func TestRefundsInFigures(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewPaidBookable(t)
	wash := org.OK(201, "POST", "/services", object{"name": "Wash", "duration_minutes": 30, "price": 50})["id"].(string)
	org.Call("PUT", "/professionals/"+org.ProfessionalID+"/services", object{"service_ids": []string{org.ServiceID, wash}})
	february := org.Book(-2 * 24 * time.Hour) // paid on February 27
	refunded(org, february, 80, 30)
	org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 10, "method": "cash"})
	org.AdvanceClock(72 * time.Hour) // Monday, March 2
	cut, draft := org.Book(0), org.AppointmentBody(time.Hour)
	draft["service_id"] = wash
	washed := org.OK(201, "POST", "/appointments", draft)["id"].(string)
	org.Transition(200, "cancel", org.Book(2*time.Hour), nil)
	refunded(org, cut, 80, 20)
	refunded(org, washed, 50, 50)
	org.OK(201, "POST", "/payments", object{"appointment_id": washed, "amount": 15.5, "method": "cash"})
	org.OK(201, "POST", "/payments/pix", object{"client_id": org.ClientID, "amount": 33})

	revenue := org.OK(200, "GET", "/reports/revenue", nil)
	require.InDelta(t, 75.5, revenue["total"], 1e-9)
	require.EqualValues(t, 3, revenue["payments_count"])
	require.InDelta(t, 25.17, revenue["average_ticket"], 1e-9)
	require.EqualValues(t, 60, revenue["previous_total"], "50 of what was paid in February, and the cash")
	require.InDelta(t, 0.2583, revenue["change_rate"], 1e-9, "15.50 more than 60")
	require.Equal(t, object{"date": "2026-03-02", "amount": 75.5, "count": 3.0}, revenue["series"].([]any)[1])
	require.Equal(t, []any{object{"method": "pix", "amount": 60.0, "count": 2.0}, object{"method": "cash", "amount": 15.5, "count": 1.0}}, revenue["by_method"])
	require.Equal(t, []any{object{"professional_id": org.ProfessionalID, "professional_name": "Ana", "amount": 75.5, "count": 3.0}}, revenue["by_professional"])
	require.Equal(t, []any{
		object{"service_id": org.ServiceID, "service_name": "Cut", "amount": 60.0, "count": 1.0},
		object{"service_id": wash, "service_name": "Wash", "amount": 15.5, "count": 2.0},
	}, revenue["by_service"])
	require.InDelta(t, 75.5, org.OK(200, "GET", "/reports/dashboard", nil)["revenue_month"], 1e-9)
	require.InDelta(t, 75.5, org.OK(200, "GET", "/reports/dashboard?professional_id="+org.ProfessionalID, nil)["revenue_month"], 1e-9)
	week := org.OK(200, "GET", "/reports/revenue?period=week", nil)
	require.Equal(t, []any{75.5, 60.0, 0.2583}, []any{week["total"], week["previous_total"], week["change_rate"]}, "the Friday before is in the week before")
	fell := org.OK(200, "GET", "/reports/revenue?month=2026-04", nil)
	require.Equal(t, []any{0.0, 75.5, -1.0}, []any{fell["total"], fell["previous_total"], fell["change_rate"]})
	require.Nil(t, org.OK(200, "GET", "/reports/revenue?month=2026-02", nil)["change_rate"], "there was nothing before")

	statement := org.OK(200, "GET", "/payments", nil)
	require.InDelta(t, 145.5, statement["total_paid"], 1e-9)
	require.EqualValues(t, 70, statement["total_refunded"])
	require.EqualValues(t, 33, statement["total_pending"])
	require.EqualValues(t, 4, statement["total"])
	require.Equal(t, []any{object{"method": "cash", "amount": 15.5, "count": 1.0}, object{"method": "pix", "amount": 130.0, "count": 2.0}}, statement["by_method"], "145.50 in all")
	require.EqualValues(t, 50, org.OK(200, "GET", "/payments?status=refunded", nil)["total_refunded"])
	require.EqualValues(t, 30, org.OK(200, "GET", "/payments?month=2026-02", nil)["total_refunded"])
	require.InDelta(t, 135.5, org.TotalSpent(), 1e-9, "of both months")

	popular := org.OK(200, "GET", "/reports/services/popular", nil)["items"].([]any)
	require.Equal(t, []any{
		object{"service_id": org.ServiceID, "name": "Cut", "appointments": 1.0, "revenue": 60.0, "share": 0.5},
		object{"service_id": wash, "name": "Wash", "appointments": 1.0, "revenue": 15.5, "share": 0.5},
	}, popular)
	services := org.OK(200, "GET", "/reports/services/popular?limit=1", nil)["items"].([]any)
	require.Equal(t, popular[:1], services, "and its share is still of all")
	for _, limit := range []int{0, 51} {
		org.Invalid("query.limit", "GET", fmt.Sprintf("/reports/services/popular?limit=%d", limit), nil)
	}
}

// Days, weekdays and months are the organization's, also where they are others in UTC,
// and where one of their days has 23 hours.
func TestReportsInAZoneFarFromUTC(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, zone string
		now        string  // a moment of the last evening of March, there
		evening    string  // an appointment then
		morning    string  // one in the early hours of April 1, there
		march      float64 // minutes of the month
		april      float64
	}{
		{"west", "America/New_York", "2026-03-31T22:00:00-04:00", "2026-03-31T22:30:00-04:00", "2026-04-01T00:30:00-04:00", 31*24*60 - 60, 30 * 24 * 60},
		{"east", "Pacific/Auckland", "2026-03-31T22:00:00+13:00", "2026-03-31T22:30:00+13:00", "2026-04-01T00:30:00+13:00", 31 * 24 * 60, 30*24*60 + 60},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			org := schedulingtest.NewBookableAlone(t)
			org.OK(200, "PUT", "/organization", object{"timezone": test.zone})
			at, err := time.Parse(time.RFC3339, test.now)
			require.NoError(t, err)
			for _, rule := range org.List("/schedule-rules") {
				org.OK(204, "DELETE", "/schedule-rules/"+rule["id"].(string), nil)
			}
			for day := range 7 {
				org.OK(201, "POST", "/schedule-rules", object{"professional_id": org.ProfessionalID, "day_of_week": day, "start_time": "00:00", "end_time": "23:59"})
			}
			org.AdvanceClock(at.Sub(org.Hub.Clock.Now()))
			book := func(start string) string {
				draft := org.AppointmentBody(0)
				draft["start_at"] = start
				return org.OK(201, "POST", "/appointments", draft)["id"].(string)
			}
			evening, morning := book(test.evening), book(test.morning)
			org.Transition(200, "noshow", evening, nil)
			org.Transition(200, "complete", morning, nil)
			org.OK(201, "POST", "/payments", object{"appointment_id": morning, "amount": 80, "method": "cash"}) // on March 31
			org.OK(201, "POST", "/clients", object{"name": "New"})

			march := org.OK(200, "GET", "/reports/dashboard", nil)
			require.Equal(t, []any{"2026-03-01", "2026-03-31", test.zone}, []any{march["start_date"], march["end_date"], march["timezone"]})
			require.EqualValues(t, 1, march["appointments_today"])
			require.EqualValues(t, 1, march["appointments_month"])
			require.EqualValues(t, 80, march["revenue_month"])
			require.EqualValues(t, 1, march["noshow_rate"])
			require.EqualValues(t, 1, march["new_clients_month"])
			april := org.OK(200, "GET", "/reports/dashboard?month=2026-04", nil)
			require.EqualValues(t, 1, april["appointments_month"])
			require.EqualValues(t, 0, april["revenue_month"])
			require.EqualValues(t, 0, april["noshow_rate"])
			require.EqualValues(t, 0, april["new_clients_month"])

			series := org.OK(200, "GET", "/reports/revenue", nil)["series"].([]any)
			require.Len(t, series, 31)
			require.Equal(t, object{"date": "2026-03-31", "amount": 80.0, "count": 1.0}, series[30])
			year := org.OK(200, "GET", "/reports/revenue?period=year", nil)["series"].([]any)
			require.Equal(t, object{"date": "2026-03-01", "amount": 80.0, "count": 1.0}, year[2])

			missed := org.OK(200, "GET", "/reports/noshow?period=quarter", nil)
			require.EqualValues(t, 1, missed["total"], "the first quarter")
			require.EqualValues(t, 1, missed["by_weekday"].([]any)[1].(object)["noshow_count"], "a Tuesday")
			missed = org.OK(200, "GET", "/reports/noshow?period=week", nil)
			require.EqualValues(t, 2, missed["total"], "both days are in the week")
			require.EqualValues(t, 1, missed["by_weekday"].([]any)[2].(object)["total"], "a Wednesday")

			ana := org.OK(200, "GET", "/reports/occupancy?month=2026-03", nil)["professionals"].([]any)[0].(object)
			require.InDelta(t, test.march, ana["available_minutes"], 1e-9, "every minute there is")
			require.EqualValues(t, 0, ana["booked_minutes"], "who did not come did not take it")
			ana = org.OK(200, "GET", "/reports/occupancy?month=2026-04", nil)["professionals"].([]any)[0].(object)
			require.InDelta(t, test.april, ana["available_minutes"], 1e-9)
			require.EqualValues(t, 30, ana["booked_minutes"])
			require.EqualValues(t, 1, ana["appointments"])

			require.Len(t, org.List("/appointments?date=2026-04-01"), 1)
			popular := org.OK(200, "GET", "/reports/services/popular?month=2026-04", nil)["items"].([]any)
			require.EqualValues(t, 1, popular[0].(object)["appointments"])
		})
	}
}

// What a spreadsheet gets, cell by cell: nothing of it is a formula.
func TestReportsAsCSV(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.AdvanceClock(72*time.Hour - time.Minute) // Monday, a minute before nine
	org.OK(200, "PUT", "/services/"+org.ServiceID, object{"name": `=1+1,"x"`})
	org.OK(200, "PUT", "/professionals/"+org.ProfessionalID, object{"name": "-Ana"})
	org.OK(200, "PUT", "/clients/"+org.ClientID, object{"email": "caio@example.com"})
	done, missed := org.Book(0), org.Book(30*time.Minute)
	org.Transition(200, "complete", done, nil)
	org.Transition(200, "noshow", missed, nil)
	org.OK(201, "POST", "/payments", object{"appointment_id": done, "amount": 80, "method": "cash"})
	ids := map[string]string{}
	for _, name := range []string{"+Plus", "@At", "Tab", "Return", "Line", "fine"} {
		ids[name] = org.OK(201, "POST", "/clients", object{"name": name})["id"].(string)
	}
	for name, stored := range map[string]string{"Tab": "\tTab", "Return": "\rReturn", "Line": "two\nlines"} {
		org.Exec(`update scheduling.clients set name = $2 where id = $1`, ids[name], stored)
	}
	org.Exec(`update scheduling.clients set created_at = '2026-03-02T12:00Z'::timestamptz + case when id = $2 then interval '0' else interval '1 minute' end where org_id = $1`, org.ID, org.ClientID)
	for path, want := range map[string]string{
		"dashboard?period=month": "appointments_today,appointments_month,revenue_month,occupancy_rate,noshow_rate,new_clients_month\n" +
			"2,2,80.00,0.0076,0.5,7\n",
		"occupancy?period=week": "professional_id,professional_name,available_minutes,booked_minutes,appointments,occupancy_rate\n" +
			org.ProfessionalID + ",'-Ana,900,30,1,0.0333\n",
		"revenue?period=week": "date,amount,count\n2026-03-02,80.00,1\n2026-03-03,0.00,0\n2026-03-04,0.00,0\n2026-03-05,0.00,0\n2026-03-06,0.00,0\n2026-03-07,0.00,0\n2026-03-08,0.00,0\n",
		"noshow": "professional_id,professional_name,total,noshow_count,noshow_rate\n" +
			org.ProfessionalID + ",'-Ana,2,1,0.5\n",
		"services/popular": "service_id,name,appointments,revenue,share\n" +
			org.ServiceID + `,"'=1+1,""x""",2,80.00,1` + "\n",
	} {
		got := org.Call("GET", "/reports/"+path, nil, "Accept", "text/csv")
		require.Equal(t, 200, got.Status, path)
		require.Equal(t, "text/csv; charset=utf-8", got.Header.Get("Content-Type"), path)
		require.Equal(t, want, got.Text, path)
	}

	org.AdvanceClock(40 * 24 * time.Hour)
	got := org.Call("GET", "/reports/clients/inactive?days=20", nil, "Accept", "text/csv").Text
	lines, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"client_id", "name", "phone", "email", "last_appointment_at", "days_inactive", "total_appointments", "total_spent", "favorite_service"}, lines[0])
	require.Equal(t, []string{org.ClientID, "Caio", "'+5511987654321", "caio@example.com", "2026-03-02T09:00:00-03:00", "40", "1", "80.00", `'=1+1,"x"`}, lines[1])
	revenues := map[string]string{}
	for _, line := range lines[2:] {
		revenues[line[0]] = line[1]
		require.Equal(t, []string{"", "", "", "40", "0", "0.00", ""}, line[2:])
	}
	want := map[string]string{"+Plus": "'+Plus", "@At": "'@At", "Tab": "'\tTab", "Return": "'\rReturn", "Line": "two\nlines", "fine": "fine"}
	require.Len(t, revenues, len(want))
	for name, cell := range want {
		require.Equal(t, cell, revenues[ids[name]])
	}
}
