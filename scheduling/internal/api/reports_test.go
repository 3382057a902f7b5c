package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

func TestDashboardOfNewOrganizationIsZero(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewOrganization(t)
	kpis := org.OK(200, "GET", "/reports/dashboard", nil)
	for _, name := range []string{"appointments_today", "appointments_month", "revenue_month", "occupancy_rate", "noshow_rate", "new_clients_month"} {
		require.EqualValues(t, 0, kpis[name], name)
	}
	require.Equal(t, "2026-02-01", kpis["start_date"])
	require.Equal(t, "2026-02-28", kpis["end_date"])
}

func TestReports(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.AdvanceClock(72*time.Hour - time.Minute) // Monday, a minute before nine
	done, missed := org.Book(0), org.Book(30*time.Minute)
	org.Book(time.Hour)
	org.Transition(200, "cancel", org.Book(2*time.Hour), nil)
	org.Transition(200, "complete", done, nil)
	org.Transition(200, "noshow", missed, nil)
	org.OK(201, "POST", "/payments", object{"appointment_id": done, "client_id": org.ClientID, "amount": 80, "method": "pix"})
	org.OK(201, "POST", "/payments", object{"client_id": org.ClientID, "amount": 20.5, "method": "cash"})

	kpis := org.OK(200, "GET", "/reports/dashboard", nil)
	require.EqualValues(t, 3, kpis["appointments_today"])
	require.EqualValues(t, 3, kpis["appointments_month"])
	require.InDelta(t, 100.5, kpis["revenue_month"], 1e-9)
	require.InDelta(t, 0.5, kpis["noshow_rate"], 1e-9)
	require.EqualValues(t, 0, kpis["new_clients_month"], "made in February")
	require.InDelta(t, 60.0/(22*180), kpis["occupancy_rate"], 0.0001)

	week := org.OK(200, "GET", "/reports/occupancy?period=week", nil)
	require.Equal(t, "2026-03-02", week["start_date"])
	require.Equal(t, "2026-03-08", week["end_date"])
	ana := week["professionals"].([]any)[0].(object)
	require.EqualValues(t, 5*180, ana["available_minutes"])
	require.EqualValues(t, 60, ana["booked_minutes"])
	require.EqualValues(t, 2, ana["appointments"])

	revenue := org.OK(200, "GET", "/reports/revenue?period=week", nil)
	require.Equal(t, "BRL", revenue["currency"])
	require.InDelta(t, 100.5, revenue["total"], 1e-9)
	require.EqualValues(t, 2, revenue["payments_count"])
	require.InDelta(t, 50.25, revenue["average_ticket"], 1e-9)
	require.Nil(t, revenue["change_rate"])
	require.Len(t, revenue["series"], 7)
	require.Equal(t, object{"date": "2026-03-02", "amount": 100.5, "count": 2.0}, revenue["series"].([]any)[0])
	require.Equal(t, object{"method": "pix", "amount": 80.0, "count": 1.0}, revenue["by_method"].([]any)[0])
	require.EqualValues(t, 80, revenue["by_professional"].([]any)[0].(object)["amount"])
	require.Equal(t, "Cut", revenue["by_service"].([]any)[0].(object)["service_name"])
	require.Len(t, org.OK(200, "GET", "/reports/revenue?period=year", nil)["series"], 12)
	require.Len(t, org.OK(200, "GET", "/reports/revenue?period=quarter", nil)["series"], 14)
	require.Len(t, org.OK(200, "GET", "/reports/revenue?month=2026-02", nil)["series"], 28)
	require.EqualValues(t, 80, org.OK(200, "GET", "/reports/revenue?professional_id="+org.ProfessionalID, nil)["total"])

	noshow := org.OK(200, "GET", "/reports/noshow", nil)
	require.EqualValues(t, 2, noshow["total"])
	require.InDelta(t, 0.5, noshow["noshow_rate"], 1e-9)
	require.EqualValues(t, 80, noshow["estimated_loss"])
	require.EqualValues(t, 1, noshow["by_weekday"].([]any)[0].(object)["noshow_count"])
	require.Len(t, noshow["by_weekday"], 7)

	popular := org.OK(200, "GET", "/reports/services/popular", nil)["items"].([]any)
	require.EqualValues(t, 3, popular[0].(object)["appointments"])
	require.EqualValues(t, 1, popular[0].(object)["share"])
	require.EqualValues(t, 80, popular[0].(object)["revenue"])

	for _, path := range []string{"dashboard", "occupancy", "revenue", "noshow", "services/popular"} {
		org.Invalid("query.month", "GET", "/reports/"+path+"?month=2026-1", nil)
		org.Refused(422, "validation_failed", "GET", "/reports/"+path+"?period=century", nil)
		csv := org.Call("GET", "/reports/"+path, nil, "Accept", "text/csv")
		require.Equal(t, "text/csv; charset=utf-8", csv.Header.Get("Content-Type"), path)
		require.Contains(t, csv.Text, ",")
	}
}

func TestInactiveClients(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.AdvanceClock(72*time.Hour - time.Minute)
	org.Transition(200, "complete", org.Book(0), nil)
	org.OK(201, "POST", "/clients", object{"name": "=HYPERLINK(1)", "phone": "+5511900000000"})
	org.AdvanceClock(30 * 24 * time.Hour)
	require.EqualValues(t, 0, org.OK(200, "GET", "/reports/clients/inactive", nil)["total"])
	for _, path := range []string{"/reports/clients/inactive?days=0", "/clients/inactive?days=0"} {
		org.Invalid("query.days", "GET", path, nil)
	}
	report := org.OK(200, "GET", "/reports/clients/inactive?days=20", nil)
	require.EqualValues(t, 2, report["total"])
	caio := report["items"].([]any)[1].(object)
	require.Equal(t, "Caio", caio["name"])
	require.EqualValues(t, 30, caio["days_inactive"])
	require.Equal(t, "Cut", caio["favorite_service"])
	csv := org.Call("GET", "/reports/clients/inactive?days=20", nil, "Accept", "text/csv").Text
	require.Contains(t, csv, ",'=HYPERLINK(1),'+5511900000000,")
	org.Book(40 * 24 * time.Hour)
	require.EqualValues(t, 1, org.OK(200, "GET", "/reports/clients/inactive?days=20", nil)["total"], "who has an appointment is coming")
}

// What an appointment counted for stays with whom it was counted for.
func TestClientOfClosedAppointmentCannotChange(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookable(t)
	other := org.OK(201, "POST", "/clients", object{"name": "Other"})["id"].(string)
	for _, action := range []string{"complete", "noshow"} {
		id := org.Book(0)
		org.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
		org.OK(200, "PUT", "/appointments/"+id, object{"client_id": org.ClientID})
		org.Transition(200, action, id, nil)
		org.Refused(409, "appointment_over", "PUT", "/appointments/"+id, object{"client_id": other})
		org.OK(200, "PUT", "/appointments/"+id, object{"client_id": org.ClientID, "notes": "the same client"})
		org.Transition(200, "reopen", id, nil)
		require.Equal(t, 2, org.Count("scheduling.reminders where appointment_id = $1", id), "what did not happen is still to come")
		org.OK(200, "PUT", "/appointments/"+id, object{"client_id": other})
		org.Transition(200, "cancel", id, nil)
	}
	for _, client := range []string{org.ClientID, other} {
		got := org.OK(200, "GET", "/clients/"+client, nil)
		require.EqualValues(t, 0, got["total_appointments"])
		require.EqualValues(t, 0, got["no_show_count"])
	}
}

// What was done of a service that is gone stays in the figures, under its name.
func TestRemovedServicesStayInReports(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.AdvanceClock(72*time.Hour - time.Minute)
	done := org.Book(0)
	org.Transition(200, "complete", done, nil)
	org.OK(201, "POST", "/payments", object{"appointment_id": done, "client_id": org.ClientID, "amount": 80, "method": "pix"})
	reports := []string{"/reports/dashboard", "/reports/occupancy?period=week", "/reports/revenue?period=week", "/reports/noshow", "/reports/services/popular"}
	before := map[string]object{}
	for _, path := range reports {
		before[path] = org.OK(200, "GET", path, nil)
	}
	require.Equal(t, 204, org.Call("DELETE", "/services/"+org.ServiceID, nil).Status)
	for _, path := range reports {
		require.Equal(t, before[path], org.OK(200, "GET", path, nil), path)
	}
	require.Equal(t, "Cut", org.OK(200, "GET", reports[2], nil)["by_service"].([]any)[0].(object)["service_name"])
	require.EqualValues(t, 1, org.OK(200, "GET", reports[4], nil)["items"].([]any)[0].(object)["appointments"])
}
