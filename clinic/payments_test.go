package clinic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// DateIn is a date so many days from today, in São Paulo, where clinics are.
func DateIn(t testing.TB, n int) string {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	return time.Now().In(zone).AddDate(0, 0, n).Format(time.DateOnly)
}

func TestPayments(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	path := "/patients/" + id + "/payments"
	owed := p.AddStaff().OK(201, "POST", path, object{"amount": 150.5, "description": "Cleaning", "due_date": DateIn(t, 10)})
	require.InDelta(t, 150.5, owed["amount"], 0)
	require.Equal(t, "pending", owed["status"])
	p.OK(201, "POST", path, object{"amount": 0.1, "due_date": DateIn(t, 3)})
	third := p.OK(201, "POST", path, object{"amount": 0.2, "due_date": DateIn(t, 3)})["id"].(string)
	require.InDelta(t, 150.8, p.Get("/patients/" + id)["balance_due"], 0)
	require.Empty(t, p.EventTypes(1), "nothing was paid yet")

	paid := p.OK(200, "POST", "/payments/"+owed["id"].(string)+"/pay", object{"method": "pix"})
	require.Equal(t, "paid", paid["status"])
	require.Equal(t, "pix", paid["method"])
	require.NotNil(t, paid["paid_at"])
	require.Equal(t, paid, p.OK(200, "POST", "/payments/"+owed["id"].(string)+"/pay", nil), "paying again changes nothing")
	require.InDelta(t, 0.3, p.Get("/patients/" + id)["balance_due"], 0)
	require.Equal(t, "cancelled", p.OK(200, "POST", "/payments/"+third+"/cancel", nil)["status"])
	require.InDelta(t, 0.1, p.Get("/patients/" + id)["balance_due"], 0)
	p.Refused(409, "payment_cancelled", "POST", "/payments/"+third+"/pay", nil)
	p.Refused(409, "payment_paid", "POST", "/payments/"+owed["id"].(string)+"/cancel", nil)
	require.Equal(t, []string{"payment.received"}, p.EventTypes(1))
	require.Equal(t, object{"patient_id": id, "amount": 150.5, "description": "Cleaning", "method": "pix"}, p.Events()[1].Data)
	require.Len(t, p.Items(path), 3)

	for location, bodies := range map[string][]object{
		"body.amount": {
			{"amount": 0, "due_date": DateIn(t, 1)}, {"amount": -1, "due_date": DateIn(t, 1)}, {"amount": 1.005, "due_date": DateIn(t, 1)},
			{"amount": 1e12, "due_date": DateIn(t, 1)}, {"amount": "1", "due_date": DateIn(t, 1)}, {"amount": nil, "due_date": DateIn(t, 1)},
			{"due_date": DateIn(t, 1)},
		},
		"body.due_date": {{"amount": 1, "due_date": "tomorrow"}, {"amount": 1}},
		"body.status":   {{"amount": 1, "due_date": DateIn(t, 1), "status": "overdue"}},
		"body.paid_at": {
			{"amount": 1, "due_date": DateIn(t, 1), "status": "paid", "paid_at": "2999-01-01T00:00:00Z"},
			{"amount": 1, "due_date": DateIn(t, 1), "paid_at": "2026-01-01T00:00:00Z"}, {"amount": 1, "due_date": DateIn(t, 1), "status": "pending", "paid_at": "2026-01-01T00:00:00Z"},
		},
		"body.method": {{"amount": 1, "due_date": DateIn(t, 1), "method": "pix"}, {"amount": 1, "due_date": DateIn(t, 1), "status": "pending", "method": "pix", "paid_at": "2026-01-01T00:00:00Z"}},
	} {
		for _, body := range bodies {
			p.Invalid(location, "POST", path, body)
		}
	}
	require.Len(t, p.Items(path), 3)
}

// A payment that is recorded as made is told as one that is paid later, to the cent.
func TestPaymentsThatWereMade(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	for _, amount := range []string{"0.07", "19.99", "150.50", "4815162342.10"} {
		before := len(p.Events())
		made := p.OK(201, "POST", "/patients/"+id+"/payments", `{"amount":`+amount+`,"description":"Cleaning","due_date":"2026-03-02","status":"paid","method":"card","paid_at":"2026-03-01T12:00:00Z"}`)
		require.Equal(t, "card", made["method"])
		require.Equal(t, "2026-03-01T12:00:00Z", made["paid_at"])
		require.Equal(t, []string{"payment.received"}, p.EventTypes(before))
		require.Equal(t, object{"patient_id": id, "amount": made["amount"], "description": "Cleaning", "method": "card"}, p.Events()[before].Data)
		var body string
		require.NoError(t, p.Hub.Host.Pool.QueryRow(t.Context(), `select convert_from(body, 'UTF8') from hub.events where tenant_id = $1 and product = 'clinic' order by seq desc limit 1`, p.ID).Scan(&body))
		require.Contains(t, body, `"amount":`+amount+`,`)
	}
	require.EqualValues(t, 0, p.Get("/patients/" + id)["balance_due"])
}

// A payment of an appointment that came from elsewhere names it as it is called there.
func TestPaymentOfABooking(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	s := p.ConnectPeer("scheduling")
	s.Send("accepted", "appointment.created", object{"appointment_id": "a-1", "client_phone": Phone, "service": "Check", "datetime": "2027-01-04T12:00:00Z"})
	appointment := p.Items("/patients/" + id + "/appointments")[0]["id"]
	p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": DateIn(t, 0), "status": "paid", "appointment_id": appointment})
	require.Equal(t, "a-1", p.Events()[1].Data["appointment_id"])
	other := p.AddPatient("+5511900001111")
	p.Refused(404, "not_found", "POST", "/patients/"+other+"/payments", object{"amount": 1, "due_date": DateIn(t, 0), "appointment_id": appointment})
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	late := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "description": "Late", "due_date": DateIn(t, -1)})["id"].(string)
	today := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 8, "due_date": DateIn(t, 0)})["id"].(string)
	p.InEnvironment("test").OK(201, "POST", "/patients/"+p.InEnvironment("test").AddPatient(Phone)+"/payments", object{"amount": 9, "due_date": DateIn(t, -1)})
	p.AddStaff().Refused(403, "admin_only", "POST", "/payments/run-overdue", nil)
	before := len(p.Events())
	require.EqualValues(t, 1, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], "what is due today is not late, and test data are apart")
	require.EqualValues(t, 0, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], "once for a payment")
	require.Equal(t, []string{"payment.overdue"}, p.EventTypes(before))
	require.Equal(t, object{"patient_id": id, "amount": 7.0, "due_date": DateIn(t, -1)}, p.Events()[before].Data)
	status := map[any]any{}
	for _, one := range p.Items("/patients/" + id + "/payments") {
		status[one["id"]] = one["status"]
	}
	require.Equal(t, map[any]any{late: "overdue", today: "pending"}, status)
	require.InDelta(t, 15.0, p.Get("/patients/" + id)["balance_due"], 0)
	p.OK(200, "POST", "/payments/"+late+"/pay", nil)
	require.InDelta(t, 8.0, p.Get("/patients/" + id)["balance_due"], 0)
	require.EqualValues(t, 1, p.InEnvironment("test").OK(200, "POST", "/payments/run-overdue", nil)["overdue"])
}

// Midnight is the clinic's: the same date is over in Auckland and not yet in Honolulu.
func TestOverdueByTheClinicsClock(t *testing.T) {
	t.Parallel()
	first := NewClinic(t)
	for zone, late := range map[string]int{"Pacific/Kiritimati": 1, "Pacific/Niue": 0} { // 25 hours apart
		p := first.AnotherClinic()
		p.OK(200, "PUT", "/clinic", object{"timezone": zone})
		there, err := time.LoadLocation("Pacific/Niue")
		require.NoError(t, err)
		due := time.Now().In(there).Format(time.DateOnly) // over already on Kiritimati
		p.OK(201, "POST", "/patients/"+p.AddPatient(Phone)+"/payments", object{"amount": 1, "due_date": due})
		require.EqualValues(t, late, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], zone)
	}
}

// The hourly job looks at every clinic.
func TestOverdueJob(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "due_date": DateIn(t, -1)})
	p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "due_date": DateIn(t, -2)})
	job := p.Job("overdue")
	require.Equal(t, time.Hour, job.Every)
	for range 2 {
		require.NoError(t, job.Run(t.Context(), nil))
	}
	require.Equal(t, []string{"payment.overdue", "payment.overdue"}, p.EventTypes(1))
}
