package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// Dates up to today in the clinic's zone are accepted. Times may be five minutes ahead.
func TestFutureDatesAreRefused(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAt(t, time.Date(2026, 3, 3, 2, 30, 0, 0, time.UTC)) // March 2, 23:30 in São Paulo
	id := clinic.AddPatient(clinictest.Phone)
	path := "/patients/" + id
	born := func(date string) object { return object{"name": "Gil", "birth_date": date} }
	record := func(date string) object { return object{"date": date, "type": "x"} }
	for zone, days := range map[string][2]string{"America/Sao_Paulo": {"2026-03-02", "2026-03-03"}, "Pacific/Kiritimati": {"2026-03-03", "2026-03-04"}} {
		clinic.OK(200, "PUT", "/clinic", object{"timezone": zone})
		today, tomorrow := days[0], days[1]
		clinic.OK(201, "POST", "/patients", born(today))
		clinic.Invalid("body.birth_date", "POST", "/patients", born(tomorrow))
		clinic.OK(200, "PUT", path, object{"birth_date": today})
		clinic.Invalid("body.birth_date", "PUT", path, object{"birth_date": tomorrow})
		clinic.OK(201, "POST", path+"/records", record(today))
		clinic.Invalid("body.date", "POST", path+"/records", record(tomorrow))
		imported := clinic.Import("csv", "nome;nascimento\nEva;"+today+"\nIda;"+tomorrow+"\n")
		clinictest.RequireImportCounts(t, imported, 2, 0, 0, 0)
		require.Equal(t, []any{object{"line": 3.0, "warning": "birth_date must not be in the future: left out"}}, imported["warnings"])
		clinic.Exec(`delete from clinic.patients where clinic_id = $1 and name in ('Eva', 'Ida')`)
	}
	happened := func(at string) object {
		return object{"interaction_type": "call", "summary": "x", "occurred_at": at}
	}
	for _, at := range []string{"2026-03-03T02:35:01Z", "2026-03-03T02:35:01+00:00", "2026-03-02T23:35:01-03:00", "2030-01-01T00:00:00Z", "9998-12-31T00:00:00Z"} {
		clinic.Invalid("body.occurred_at", "POST", path+"/interactions", happened(at))
	}
	for _, at := range []string{"2026-03-03T02:35:00Z", "2026-03-02T23:35:00-03:00", "1999-01-01T00:00:00Z"} {
		clinic.OK(201, "POST", path+"/interactions", happened(at))
	}
	require.Len(t, clinic.History(id), 3)

	// What is wrong is said with its bounds.
	for text, body := range map[string]object{
		"body.birth_date must be from 1900-01-01 to 9998-12-31": born("1850-01-01"), "body.birth_date must be YYYY-MM-DD": born("1850-1-1"),
		"body.birth_date must not be in the future": born("2026-03-05"),
	} {
		require.Equal(t, text, clinic.Refused(422, "validation_failed", "POST", "/patients", body)["detail"])
	}
	require.Equal(t, "validation failed: body.summary expected length <= 500",
		clinic.Refused(422, "validation_failed", "POST", path+"/records", object{"date": "2026-03-02", "type": "x", "summary": strings.Repeat("x", 501)})["detail"])
}

func TestPayments(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	path := "/patients/" + id + "/payments"
	owed := clinic.AddStaff().OK(201, "POST", path, object{"amount": 150.5, "description": "Cleaning", "due_date": clinictest.DateIn(t, 10)})
	require.InDelta(t, 150.5, owed["amount"], 0)
	require.Equal(t, "pending", owed["status"])
	clinic.OK(201, "POST", path, object{"amount": 0.1, "due_date": clinictest.DateIn(t, 3)})
	third := clinic.OK(201, "POST", path, object{"amount": 0.2, "due_date": clinictest.DateIn(t, 3)})["id"].(string)
	require.InDelta(t, 150.8, clinic.Get("/patients/" + id)["balance_due"], 0)
	require.Empty(t, clinic.EventTypes(1), "nothing was paid yet")

	paid := clinic.OK(200, "POST", "/payments/"+owed["id"].(string)+"/pay", object{"method": "pix"})
	require.Equal(t, "paid", paid["status"])
	require.Equal(t, "pix", paid["method"])
	require.NotNil(t, paid["paid_at"])
	require.Equal(t, paid, clinic.OK(200, "POST", "/payments/"+owed["id"].(string)+"/pay", nil), "paying again changes nothing")
	require.InDelta(t, 0.3, clinic.Get("/patients/" + id)["balance_due"], 0)
	require.Equal(t, "cancelled", clinic.OK(200, "POST", "/payments/"+third+"/cancel", nil)["status"])
	require.InDelta(t, 0.1, clinic.Get("/patients/" + id)["balance_due"], 0)
	clinic.Refused(409, "payment_cancelled", "POST", "/payments/"+third+"/pay", nil)
	clinic.Refused(409, "payment_paid", "POST", "/payments/"+owed["id"].(string)+"/cancel", nil)
	require.Equal(t, []string{"payment.received"}, clinic.EventTypes(1))
	require.Equal(t, object{"patient_id": id, "amount": 150.5, "description": "Cleaning", "method": "pix"}, clinic.Events()[1].Data)
	require.Len(t, clinic.Items(path), 3)

	for location, bodies := range map[string][]object{
		"body.amount": {
			{"amount": 0, "due_date": clinictest.DateIn(t, 1)}, {"amount": -1, "due_date": clinictest.DateIn(t, 1)}, {"amount": 1.005, "due_date": clinictest.DateIn(t, 1)},
			{"amount": 1e12, "due_date": clinictest.DateIn(t, 1)}, {"amount": "1", "due_date": clinictest.DateIn(t, 1)}, {"amount": nil, "due_date": clinictest.DateIn(t, 1)},
			{"due_date": clinictest.DateIn(t, 1)},
		},
		"body.due_date": {{"amount": 1, "due_date": "tomorrow"}, {"amount": 1}},
		"body.status":   {{"amount": 1, "due_date": clinictest.DateIn(t, 1), "status": "overdue"}},
		"body.paid_at": {
			{"amount": 1, "due_date": clinictest.DateIn(t, 1), "status": "paid", "paid_at": "2999-01-01T00:00:00Z"},
			{"amount": 1, "due_date": clinictest.DateIn(t, 1), "paid_at": "2026-01-01T00:00:00Z"}, {"amount": 1, "due_date": clinictest.DateIn(t, 1), "status": "pending", "paid_at": "2026-01-01T00:00:00Z"},
		},
		"body.method": {{"amount": 1, "due_date": clinictest.DateIn(t, 1), "method": "pix"}, {"amount": 1, "due_date": clinictest.DateIn(t, 1), "status": "pending", "method": "pix", "paid_at": "2026-01-01T00:00:00Z"}},
	} {
		for _, body := range bodies {
			clinic.Invalid(location, "POST", path, body)
		}
	}
	require.Len(t, clinic.Items(path), 3)
}

// A payment created as paid publishes the same event as one that is paid later, to the cent.
func TestPaymentsCreatedAsPaid(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	for _, amount := range []string{"0.07", "19.99", "150.50", "4815162342.10"} {
		before := len(clinic.Events())
		created := clinic.OK(201, "POST", "/patients/"+id+"/payments", `{"amount":`+amount+`,"description":"Cleaning","due_date":"2026-03-02","status":"paid","method":"card","paid_at":"2026-03-01T12:00:00Z"}`)
		require.Equal(t, "card", created["method"])
		require.Equal(t, "2026-03-01T12:00:00Z", created["paid_at"])
		require.Equal(t, []string{"payment.received"}, clinic.EventTypes(before))
		require.Equal(t, object{"patient_id": id, "amount": created["amount"], "description": "Cleaning", "method": "card"}, clinic.Events()[before].Data)
		var body string
		require.NoError(t, clinic.Hub.Host.Pool.QueryRow(t.Context(), `select convert_from(body, 'UTF8') from hub.events where tenant_id = $1 and product = 'clinic' order by seq desc limit 1`, clinic.ID).Scan(&body))
		require.Contains(t, body, `"amount":`+amount+`,`)
	}
	require.EqualValues(t, 0, clinic.Get("/patients/" + id)["balance_due"])
}

// The event about a payment of a booking has the booking's id at its product.
func TestPaymentOfABooking(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	id := clinic.AddPatient(clinictest.Phone)
	scheduling := clinic.ConnectPeer("scheduling")
	scheduling.Send("accepted", "appointment.created", object{"appointment_id": "a-1", "client_phone": clinictest.Phone, "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
	appointment := clinic.Items("/patients/" + id + "/appointments")[0]["id"]
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, 0), "status": "paid", "appointment_id": appointment})
	require.Equal(t, "a-1", clinic.Events()[1].Data["appointment_id"])
	other := clinic.AddPatient("+5511900001111")
	clinic.Refused(404, "not_found", "POST", "/patients/"+other+"/payments", object{"amount": 1, "due_date": clinictest.DateIn(t, 0), "appointment_id": appointment})
}
