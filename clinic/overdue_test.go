package clinic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// NewClinicAt is a clinic where it is a time, until the hub's clock is advanced.
func NewClinicAt(t *testing.T, now time.Time) *Clinic {
	t.Helper()
	return RegisterClinic(t, moduletest.Start(t, clinic.New(), moduletest.Options{Now: now, Connectors: []hub.Connector{AnyPeer("messaging"), AnyPeer("scheduling")}}))
}

// AddDuePayment makes a payment of a new patient and gives its id.
func (p *Clinic) AddDuePayment(date string) string {
	p.T.Helper()
	return p.OK(201, "POST", "/patients/"+p.AddPatient(Phone)+"/payments", object{"amount": 1, "due_date": date})["id"].(string)
}

// PaymentStatus is the status of a payment.
func (p *Clinic) PaymentStatus(payment string) (status string) {
	p.T.Helper()
	require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), `select status from clinic.payments where clinic_id = $1 and id = $2`, p.ID, payment).Scan(&status))
	return status
}

// A clinic whose time zone nobody knows keeps no other one's payments from becoming
// overdue, wherever it stands among them.
func TestOneClinicsZoneStopsNobodyElse(t *testing.T) {
	t.Parallel()
	bad := NewClinic(t)
	good, worse, better := bad.AnotherClinic(), bad.AnotherClinic(), bad.AnotherClinic()
	owed := map[*Clinic]string{}
	for _, p := range []*Clinic{bad, good, worse, better} {
		owed[p] = p.AddDuePayment(DateIn(t, -2))
	}
	bad.Exec(`update clinic.clinics set timezone = 'Mars/Olympus' where id = $1`)
	worse.Exec(`update clinic.clinics set timezone = 'right/America/Olympus' where id = $1`)
	for range 2 {
		require.NoError(t, bad.Job("overdue").Run(t.Context(), nil))
	}
	for _, p := range []*Clinic{good, better} {
		require.Eventually(t, func() bool { return p.PaymentStatus(owed[p]) == "overdue" }, Timeout, Tick)
		require.Equal(t, []string{"payment.overdue"}, p.EventTypes(1), "once")
	}
	for _, p := range []*Clinic{bad, worse} {
		require.Equal(t, "pending", p.PaymentStatus(owed[p]))
		require.Empty(t, p.EventTypes(1))
		require.Contains(t, p.Hub.Log(), p.ID.String()+`","timezone":`, "the log says whose")
		p.Refused(409, "timezone_unknown", "POST", "/payments/run-overdue", nil)
		p.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua"}) // the rest of the settings can be changed
	}

	// Its administrator mends it.
	bad.OK(200, "PUT", "/clinic", object{"timezone": "America/Recife"})
	require.NoError(t, bad.Job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return bad.PaymentStatus(owed[bad]) == "overdue" }, Timeout, Tick)
	require.Equal(t, "pending", worse.PaymentStatus(owed[worse]))
}

// A clinic is at a place: what machines have in the same directory is none.
func TestZonesOfClinics(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	before := p.Get("/clinic")
	for _, zone := range []string{"Factory", "localtime", "posixrules", "right/America/Sao_Paulo", "posix/America/Sao_Paulo", "Local", "", "Mars/Olympus", "America", "America/", "EST5EDT", "america/sao_paulo", "../America/Sao_Paulo"} {
		p.Invalid("body.timezone", "PUT", "/clinic", object{"timezone": zone})
	}
	require.Equal(t, before, p.Get("/clinic"))
	for _, zone := range []string{"America/Argentina/Buenos_Aires", "Brazil/East", "UTC", "America/Noronha"} {
		require.Equal(t, zone, p.OK(200, "PUT", "/clinic", object{"timezone": zone})["timezone"])
	}
}

// What was paid or cancelled stays so, however long it is past its date.
func TestSettledPaymentsDoNotBecomeOverdue(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	path := "/patients/" + id + "/payments"
	owed := func(date string) string {
		return p.OK(201, "POST", path, object{"amount": 3, "due_date": date})["id"].(string)
	}
	paid, cancelled := owed(DateIn(t, -1)), owed(DateIn(t, -1))
	p.OK(200, "POST", "/payments/"+paid+"/pay", nil)
	p.OK(200, "POST", "/payments/"+cancelled+"/cancel", nil)
	made := p.OK(201, "POST", path, object{"amount": 3, "due_date": DateIn(t, -1), "status": "paid"})["id"].(string)
	before := len(p.Events())
	require.EqualValues(t, 0, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"])
	require.NoError(t, p.Job("overdue").Run(t.Context(), nil))
	require.Equal(t, []string{"paid", "cancelled", "paid"}, []string{p.PaymentStatus(paid), p.PaymentStatus(cancelled), p.PaymentStatus(made)})
	require.Empty(t, p.EventTypes(before))
	require.EqualValues(t, 0, p.Get("/patients/" + id)["balance_due"])
}

// A day ends when the next one begins where the clinic is, on days that have 23 or 25
// hours too: in Santiago the clock is put back from 24:00 to 23:00, and forward at 0:00.
func TestOverdueWhenClocksChange(t *testing.T) {
	t.Parallel()
	p := NewClinicAt(t, time.Date(2026, 4, 5, 2, 59, 0, 0, time.UTC)) // 23:59 of April 4, the first time
	p.OK(200, "PUT", "/clinic", object{"timezone": "America/Santiago"})
	autumn, spring := p.AddDuePayment("2026-04-04"), p.AddDuePayment("2026-09-05")
	job := p.Job("overdue")
	at := func(now time.Time, first, second string) {
		t.Helper()
		p.Hub.Clock.Advance(now.Sub(p.Hub.Clock.Now()))
		require.NoError(t, job.Run(t.Context(), nil))
		require.Eventually(t, func() bool { return p.PaymentStatus(autumn) == first && p.PaymentStatus(spring) == second }, Timeout, Tick, "%v: %s, %s", now, p.PaymentStatus(autumn), p.PaymentStatus(spring))
	}
	at(time.Date(2026, 4, 5, 2, 59, 59, 0, time.UTC), "pending", "pending")
	at(time.Date(2026, 4, 5, 3, 59, 59, 0, time.UTC), "pending", "pending") // 23:59:59, the second time
	at(time.Date(2026, 4, 5, 4, 0, 0, 0, time.UTC), "overdue", "pending")
	at(time.Date(2026, 9, 6, 3, 59, 59, 0, time.UTC), "overdue", "pending")
	at(time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC), "overdue", "overdue") // 1:00 of September 6
	require.Equal(t, []string{"patient.created", "patient.created", "payment.overdue", "payment.overdue"}, p.EventTypes(0))
}

// What the forgotten owe becomes overdue as ever, and nobody is told.
func TestOverdueOfTheForgotten(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	id := p.AddPatient(Phone)
	owed := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 3, "due_date": DateIn(t, -1)})["id"].(string)
	p.OK(202, "POST", "/patients/"+id+"/deletion-request", nil)
	before := len(p.Events())
	require.NoError(t, p.Job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return p.PaymentStatus(owed) == "overdue" }, Timeout, Tick)
	require.Empty(t, p.EventTypes(before))
}

// A date may be today's where the clinic is, and not tomorrow's; the clock of whoever
// writes down what happened may be a little ahead.
func TestNothingIsFromTheFuture(t *testing.T) {
	t.Parallel()
	p := NewClinicAt(t, time.Date(2026, 3, 3, 2, 30, 0, 0, time.UTC)) // March 2, 23:30 in São Paulo
	id := p.AddPatient(Phone)
	one := "/patients/" + id
	born := func(date string) object { return object{"name": "Gil", "birth_date": date} }
	record := func(date string) object { return object{"date": date, "type": "x"} }
	for zone, days := range map[string][2]string{"America/Sao_Paulo": {"2026-03-02", "2026-03-03"}, "Pacific/Kiritimati": {"2026-03-03", "2026-03-04"}} {
		p.OK(200, "PUT", "/clinic", object{"timezone": zone})
		today, tomorrow := days[0], days[1]
		p.OK(201, "POST", "/patients", born(today))
		p.Invalid("body.birth_date", "POST", "/patients", born(tomorrow))
		p.OK(200, "PUT", one, object{"birth_date": today})
		p.Invalid("body.birth_date", "PUT", one, object{"birth_date": tomorrow})
		p.OK(201, "POST", one+"/records", record(today))
		p.Invalid("body.date", "POST", one+"/records", record(tomorrow))
		RequireImportCounts(t, p.Import("csv", "nome;nascimento\nEva;"+today+"\nIda;"+tomorrow+"\n"), 1, 0, 0, 1)
		p.Exec(`delete from clinic.patients where clinic_id = $1 and name = 'Eva'`)
	}
	happened := func(at string) object {
		return object{"interaction_type": "call", "summary": "x", "occurred_at": at}
	}
	for _, at := range []string{"2026-03-03T02:35:01Z", "2026-03-03T02:35:01+00:00", "2026-03-02T23:35:01-03:00", "2030-01-01T00:00:00Z", "9998-12-31T00:00:00Z"} {
		p.Invalid("body.occurred_at", "POST", one+"/interactions", happened(at))
	}
	for _, at := range []string{"2026-03-03T02:35:00Z", "2026-03-02T23:35:00-03:00", "1999-01-01T00:00:00Z"} {
		p.OK(201, "POST", one+"/interactions", happened(at))
	}
	require.Len(t, p.History(id), 3)

	// What is wrong is said with its bounds.
	for text, body := range map[string]object{
		"body.birth_date must be from 1900-01-01 to 9998-12-31": born("1850-01-01"), "body.birth_date must be YYYY-MM-DD": born("1850-1-1"),
		"body.birth_date must not be in the future": born("2026-03-05"),
	} {
		require.Equal(t, text, p.Refused(422, "validation_failed", "POST", "/patients", body)["detail"])
	}
	require.Equal(t, "body.summary must have at most 500 characters",
		p.Refused(422, "validation_failed", "POST", one+"/records", object{"date": "2026-03-02", "type": "x", "summary": strings.Repeat("x", 501)})["detail"])
}
