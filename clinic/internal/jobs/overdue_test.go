package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// The day that is over is that of the clinic's present zone, a payment that is made late
// is pending until the job sees it, and the job sees more than it takes in at once.
func TestOverdueAtItsEdges(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	id := p.AddPatient(clinictest.Phone)
	p.OK(200, "PUT", "/clinic", object{"timezone": "Pacific/Niue"})
	there, err := time.LoadLocation("Pacific/Niue")
	require.NoError(t, err)
	p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": time.Now().In(there).Format(time.DateOnly)})
	run := func() any { return p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"] }
	require.EqualValues(t, 0, run())
	p.OK(200, "PUT", "/clinic", object{"timezone": "Pacific/Kiritimati"})
	require.EqualValues(t, 1, run(), "a clinic that moved")

	late := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": "2026-01-02"})
	require.Equal(t, "pending", late["status"])
	require.Equal(t, 0, p.QueryInt(`select count(*) from clinic.payments where clinic_id = $1 and id = $2 and status <> 'pending'`, late["id"]))
	require.EqualValues(t, 1, run())

	_, err = p.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.payments (clinic_id, env, id, patient_id, amount, due_date) select $1, 'live', gen_random_uuid(), $2, 1, '2026-01-02' from generate_series(1, 450)`, p.ID, id)
	require.NoError(t, err)
	before := len(p.Events())
	require.EqualValues(t, 450, run())
	require.Len(t, p.EventTypes(before), 450, "each told once")
	require.EqualValues(t, 0, run())
}

// PaymentStatus is the status of a payment.
func PaymentStatus(p *clinictest.Clinic, payment string) (status string) {
	p.T.Helper()
	require.NoError(p.T, p.Hub.Host.Pool.QueryRow(p.T.Context(), `select status from clinic.payments where clinic_id = $1 and id = $2`, p.ID, payment).Scan(&status))
	return status
}

// A clinic whose time zone nobody knows keeps no other one's payments from becoming
// overdue, wherever it stands among them.
func TestOneClinicsZoneStopsNobodyElse(t *testing.T) {
	t.Parallel()
	bad := clinictest.NewClinic(t)
	good, worse, better := bad.AnotherClinic(), bad.AnotherClinic(), bad.AnotherClinic()
	owed := map[*clinictest.Clinic]string{}
	for _, p := range []*clinictest.Clinic{bad, good, worse, better} {
		owed[p] = p.AddDuePayment(clinictest.DateIn(t, -2))
	}
	bad.Exec(`update clinic.clinics set timezone = 'Mars/Olympus' where id = $1`)
	worse.Exec(`update clinic.clinics set timezone = 'right/America/Olympus' where id = $1`)
	for range 2 {
		require.NoError(t, bad.Job("overdue").Run(t.Context(), nil))
	}
	for _, p := range []*clinictest.Clinic{good, better} {
		require.Eventually(t, func() bool { return PaymentStatus(p, owed[p]) == "overdue" }, clinictest.Timeout, clinictest.Tick)
		require.Equal(t, []string{"payment.overdue"}, p.EventTypes(1), "once")
	}
	for _, p := range []*clinictest.Clinic{bad, worse} {
		require.Equal(t, "pending", PaymentStatus(p, owed[p]))
		require.Empty(t, p.EventTypes(1))
		require.Contains(t, p.Hub.Log(), p.ID.String()+`","timezone":`, "the log says whose")
		p.Refused(409, "timezone_unknown", "POST", "/payments/run-overdue", nil)
		p.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua"}) // the rest of the settings can be changed
	}

	// Its administrator mends it.
	bad.OK(200, "PUT", "/clinic", object{"timezone": "America/Recife"})
	require.NoError(t, bad.Job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return PaymentStatus(bad, owed[bad]) == "overdue" }, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, "pending", PaymentStatus(worse, owed[worse]))
}

// A clinic is at a place: what machines have in the same directory is none.
func TestZonesOfClinics(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
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
	p := clinictest.NewClinic(t)
	id := p.AddPatient(clinictest.Phone)
	path := "/patients/" + id + "/payments"
	owed := func(date string) string {
		return p.OK(201, "POST", path, object{"amount": 3, "due_date": date})["id"].(string)
	}
	paid, cancelled := owed(clinictest.DateIn(t, -1)), owed(clinictest.DateIn(t, -1))
	p.OK(200, "POST", "/payments/"+paid+"/pay", nil)
	p.OK(200, "POST", "/payments/"+cancelled+"/cancel", nil)
	made := p.OK(201, "POST", path, object{"amount": 3, "due_date": clinictest.DateIn(t, -1), "status": "paid"})["id"].(string)
	before := len(p.Events())
	require.EqualValues(t, 0, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"])
	require.NoError(t, p.Job("overdue").Run(t.Context(), nil))
	require.Equal(t, []string{"paid", "cancelled", "paid"}, []string{PaymentStatus(p, paid), PaymentStatus(p, cancelled), PaymentStatus(p, made)})
	require.Empty(t, p.EventTypes(before))
	require.EqualValues(t, 0, p.Get("/patients/" + id)["balance_due"])
}

// A day ends when the next one begins where the clinic is, on days that have 23 or 25
// hours too: in Santiago the clock is put back from 24:00 to 23:00, and forward at 0:00.
func TestOverdueWhenClocksChange(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinicAt(t, time.Date(2026, 4, 5, 2, 59, 0, 0, time.UTC)) // 23:59 of April 4, the first time
	p.OK(200, "PUT", "/clinic", object{"timezone": "America/Santiago"})
	autumn, spring := p.AddDuePayment("2026-04-04"), p.AddDuePayment("2026-09-05")
	job := p.Job("overdue")
	at := func(now time.Time, first, second string) {
		t.Helper()
		p.Hub.Clock.Advance(now.Sub(p.Hub.Clock.Now()))
		require.NoError(t, job.Run(t.Context(), nil))
		require.Eventually(t, func() bool { return PaymentStatus(p, autumn) == first && PaymentStatus(p, spring) == second }, clinictest.Timeout, clinictest.Tick, "%v: %s, %s", now, PaymentStatus(p, autumn), PaymentStatus(p, spring))
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
	p := clinictest.NewClinic(t)
	id := p.AddPatient(clinictest.Phone)
	owed := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 3, "due_date": clinictest.DateIn(t, -1)})["id"].(string)
	p.OK(202, "POST", "/patients/"+id+"/deletion-request", nil)
	before := len(p.Events())
	require.NoError(t, p.Job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return PaymentStatus(p, owed) == "overdue" }, clinictest.Timeout, clinictest.Tick)
	require.Empty(t, p.EventTypes(before))
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	id := p.AddPatient(clinictest.Phone)
	late := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "description": "Late", "due_date": clinictest.DateIn(t, -1)})["id"].(string)
	today := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 8, "due_date": clinictest.DateIn(t, 0)})["id"].(string)
	p.InEnvironment("test").OK(201, "POST", "/patients/"+p.InEnvironment("test").AddPatient(clinictest.Phone)+"/payments", object{"amount": 9, "due_date": clinictest.DateIn(t, -1)})
	p.AddStaff().Refused(403, "admin_only", "POST", "/payments/run-overdue", nil)
	before := len(p.Events())
	require.EqualValues(t, 1, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], "what is due today is not late, and test data are apart")
	require.EqualValues(t, 0, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], "once for a payment")
	require.Equal(t, []string{"payment.overdue"}, p.EventTypes(before))
	require.Equal(t, object{"patient_id": id, "amount": 7.0, "due_date": clinictest.DateIn(t, -1)}, p.Events()[before].Data)
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
	first := clinictest.NewClinic(t)
	for zone, late := range map[string]int{"Pacific/Kiritimati": 1, "Pacific/Niue": 0} { // 25 hours apart
		p := first.AnotherClinic()
		p.OK(200, "PUT", "/clinic", object{"timezone": zone})
		there, err := time.LoadLocation("Pacific/Niue")
		require.NoError(t, err)
		due := time.Now().In(there).Format(time.DateOnly) // over already on Kiritimati
		p.OK(201, "POST", "/patients/"+p.AddPatient(clinictest.Phone)+"/payments", object{"amount": 1, "due_date": due})
		require.EqualValues(t, late, p.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], zone)
	}
}

// The hourly job looks at every clinic.
func TestOverdueJob(t *testing.T) {
	t.Parallel()
	p := clinictest.NewClinic(t)
	id := p.AddPatient(clinictest.Phone)
	p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "due_date": clinictest.DateIn(t, -1)})
	p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "due_date": clinictest.DateIn(t, -2)})
	job := p.Job("overdue")
	require.Equal(t, time.Hour, job.Every)
	for range 2 {
		require.NoError(t, job.Run(t.Context(), nil))
	}
	require.Equal(t, []string{"payment.overdue", "payment.overdue"}, p.EventTypes(1))
}
