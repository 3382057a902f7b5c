package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A payment is overdue by the clinic's present time zone. One that is paid late stays pending
// until the job runs, and the job marks more than one batch.
func TestOverdueBoundaries(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	clinic.OK(200, "PUT", "/clinic", object{"timezone": "Pacific/Niue"})
	there, err := time.LoadLocation("Pacific/Niue")
	require.NoError(t, err)
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": time.Now().In(there).Format(time.DateOnly)})
	run := func() any { return clinic.OK(200, "POST", "/payments/run-overdue", nil)["overdue"] }
	require.EqualValues(t, 0, run())
	clinic.OK(200, "PUT", "/clinic", object{"timezone": "Pacific/Kiritimati"})
	require.EqualValues(t, 1, run(), "a clinic that moved")

	late := clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": "2026-01-02"})
	require.Equal(t, "pending", late["status"])
	require.Equal(t, 0, clinic.QueryInt(`select count(*) from clinic.payments where clinic_id = $1 and id = $2 and status <> 'pending'`, late["id"]))
	require.EqualValues(t, 1, run())

	_, err = clinic.Hub.Host.Pool.Exec(t.Context(), `insert into clinic.payments (clinic_id, env, id, patient_id, amount, due_date) select $1, 'live', gen_random_uuid(), $2, 1, '2026-01-02' from generate_series(1, 450)`, clinic.ID, id)
	require.NoError(t, err)
	before := len(clinic.Events())
	require.EqualValues(t, 450, run())
	require.Len(t, clinic.EventTypes(before), 450, "each published once")
	require.EqualValues(t, 0, run())
}

// PaymentStatus is the status of a payment.
func PaymentStatus(clinic *clinictest.Clinic, payment string) (status string) {
	clinic.T.Helper()
	require.NoError(clinic.T, clinic.Hub.Host.Pool.QueryRow(clinic.T.Context(), `select status from clinic.payments where clinic_id = $1 and id = $2`, clinic.ID, payment).Scan(&status))
	return status
}

// A clinic with an unknown time zone does not keep the payments of other clinics from becoming
// overdue.
func TestUnknownTimeZoneSkipsOneClinic(t *testing.T) {
	t.Parallel()
	bad := clinictest.NewClinicAlone(t)
	good, worse, better := bad.AnotherClinic(), bad.AnotherClinic(), bad.AnotherClinic()
	owed := map[*clinictest.Clinic]string{}
	for _, clinic := range []*clinictest.Clinic{bad, good, worse, better} {
		owed[clinic] = clinic.AddDuePayment(clinictest.DateIn(t, -2))
	}
	bad.Exec(`update clinic.clinics set timezone = 'Mars/Olympus' where id = $1`)
	worse.Exec(`update clinic.clinics set timezone = 'right/America/Olympus' where id = $1`)
	for range 2 {
		require.NoError(t, bad.Job("overdue").Run(t.Context(), nil))
	}
	for _, clinic := range []*clinictest.Clinic{good, better} {
		require.Eventually(t, func() bool { return PaymentStatus(clinic, owed[clinic]) == "overdue" }, clinictest.Timeout, clinictest.Tick)
		require.Equal(t, []string{"payment.overdue"}, clinic.EventTypes(1), "once")
	}
	for _, clinic := range []*clinictest.Clinic{bad, worse} {
		require.Equal(t, "pending", PaymentStatus(clinic, owed[clinic]))
		require.Empty(t, clinic.EventTypes(1))
		require.Contains(t, clinic.Hub.Log(), clinic.ID.String()+`","timezone":`, "the log says whose")
		clinic.Refused(409, "timezone_unknown", "POST", "/payments/run-overdue", nil)
		clinic.OK(200, "PUT", "/clinic", object{"name": "Clínica Lua"}) // the rest of the settings can be changed
	}

	// Its administrator mends it.
	bad.OK(200, "PUT", "/clinic", object{"timezone": "America/Recife"})
	require.NoError(t, bad.Job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return PaymentStatus(bad, owed[bad]) == "overdue" }, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, "pending", PaymentStatus(worse, owed[worse]))
}

// A clinic's time zone is a place. Other files in the same directory of a machine are refused.
func TestTimeZonesOfClinics(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	before := clinic.Get("/clinic")
	for _, zone := range []string{"Factory", "localtime", "posixrules", "right/America/Sao_Paulo", "posix/America/Sao_Paulo", "Local", "", "Mars/Olympus", "America", "America/", "EST5EDT", "america/sao_paulo", "../America/Sao_Paulo"} {
		clinic.Invalid("body.timezone", "PUT", "/clinic", object{"timezone": zone})
	}
	require.Equal(t, before, clinic.Get("/clinic"))
	for _, zone := range []string{"America/Argentina/Buenos_Aires", "Brazil/East", "UTC", "America/Noronha"} {
		require.Equal(t, zone, clinic.OK(200, "PUT", "/clinic", object{"timezone": zone})["timezone"])
	}
}

// Paid and cancelled payments stay as they are, however old they are.
func TestSettledPaymentsDoNotBecomeOverdue(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	path := "/patients/" + id + "/payments"
	owed := func(date string) string {
		return clinic.OK(201, "POST", path, object{"amount": 3, "due_date": date})["id"].(string)
	}
	paid, cancelled := owed(clinictest.DateIn(t, -1)), owed(clinictest.DateIn(t, -1))
	clinic.OK(200, "POST", "/payments/"+paid+"/pay", nil)
	clinic.OK(200, "POST", "/payments/"+cancelled+"/cancel", nil)
	created := clinic.OK(201, "POST", path, object{"amount": 3, "due_date": clinictest.DateIn(t, -1), "status": "paid"})["id"].(string)
	before := len(clinic.Events())
	require.EqualValues(t, 0, clinic.OK(200, "POST", "/payments/run-overdue", nil)["overdue"])
	require.NoError(t, clinic.Job("overdue").Run(t.Context(), nil))
	require.Equal(t, []string{"paid", "cancelled", "paid"}, []string{PaymentStatus(clinic, paid), PaymentStatus(clinic, cancelled), PaymentStatus(clinic, created)})
	require.Empty(t, clinic.EventTypes(before))
	require.EqualValues(t, 0, clinic.Get("/patients/" + id)["balance_due"])
}

// A day ends when the next one begins in the clinic's zone, also on days of 23 or 25 hours: in
// Santiago the clock goes back from 24:00 to 23:00, and forward at 0:00.
func TestOverdueWhenClocksChange(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAt(t, time.Date(2026, 4, 5, 2, 59, 0, 0, time.UTC)) // 23:59 of April 4, the first time
	clinic.OK(200, "PUT", "/clinic", object{"timezone": "America/Santiago"})
	autumn, spring := clinic.AddDuePayment("2026-04-04"), clinic.AddDuePayment("2026-09-05")
	job := clinic.Job("overdue")
	at := func(now time.Time, first, second string) {
		t.Helper()
		clinic.Hub.Clock.Advance(now.Sub(clinic.Hub.Clock.Now()))
		require.NoError(t, job.Run(t.Context(), nil))
		require.Eventually(t, func() bool { return PaymentStatus(clinic, autumn) == first && PaymentStatus(clinic, spring) == second }, clinictest.Timeout, clinictest.Tick, "%v: %s, %s", now, PaymentStatus(clinic, autumn), PaymentStatus(clinic, spring))
	}
	at(time.Date(2026, 4, 5, 2, 59, 59, 0, time.UTC), "pending", "pending")
	at(time.Date(2026, 4, 5, 3, 59, 59, 0, time.UTC), "pending", "pending") // 23:59:59, the second time
	at(time.Date(2026, 4, 5, 4, 0, 0, 0, time.UTC), "overdue", "pending")
	at(time.Date(2026, 9, 6, 3, 59, 59, 0, time.UTC), "overdue", "pending")
	at(time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC), "overdue", "overdue") // 1:00 of September 6
	require.Equal(t, []string{"patient.created", "patient.created", "payment.overdue", "payment.overdue"}, clinic.EventTypes(0))
}

// Payments of erased patients become overdue, and no event is published.
func TestOverduePaymentsOfErasedPatients(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	owed := clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 3, "due_date": clinictest.DateIn(t, -1)})["id"].(string)
	clinic.OK(202, "POST", "/patients/"+id+"/deletion-request", nil)
	before := len(clinic.Events())
	require.NoError(t, clinic.Job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return PaymentStatus(clinic, owed) == "overdue" }, clinictest.Timeout, clinictest.Tick)
	require.Empty(t, clinic.EventTypes(before))
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	late := clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "description": "Late", "due_date": clinictest.DateIn(t, -1)})["id"].(string)
	today := clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 8, "due_date": clinictest.DateIn(t, 0)})["id"].(string)
	clinic.InEnvironment("test").OK(201, "POST", "/patients/"+clinic.InEnvironment("test").AddPatient(clinictest.Phone)+"/payments", object{"amount": 9, "due_date": clinictest.DateIn(t, -1)})
	clinic.AddStaff().Refused(403, "admin_only", "POST", "/payments/run-overdue", nil)
	before := len(clinic.Events())
	require.EqualValues(t, 1, clinic.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], "what is due today is not late, and test data are apart")
	require.EqualValues(t, 0, clinic.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], "once for a payment")
	require.Equal(t, []string{"payment.overdue"}, clinic.EventTypes(before))
	require.Equal(t, object{"patient_id": id, "amount": 7.0, "due_date": clinictest.DateIn(t, -1)}, clinic.Events()[before].Data)
	status := map[any]any{}
	for _, item := range clinic.Items("/patients/" + id + "/payments") {
		status[item["id"]] = item["status"]
	}
	require.Equal(t, map[any]any{late: "overdue", today: "pending"}, status)
	require.InDelta(t, 15.0, clinic.Get("/patients/" + id)["balance_due"], 0)
	clinic.OK(200, "POST", "/payments/"+late+"/pay", nil)
	require.InDelta(t, 8.0, clinic.Get("/patients/" + id)["balance_due"], 0)
	require.EqualValues(t, 1, clinic.InEnvironment("test").OK(200, "POST", "/payments/run-overdue", nil)["overdue"])
}

// A date ends at midnight in the clinic's zone: earlier in Auckland than in Honolulu.
func TestOverdueInTheClinicsTimeZone(t *testing.T) {
	t.Parallel()
	first := clinictest.NewClinicAlone(t)
	for zone, late := range map[string]int{"Pacific/Kiritimati": 1, "Pacific/Niue": 0} { // 25 hours apart
		clinic := first.AnotherClinic()
		clinic.OK(200, "PUT", "/clinic", object{"timezone": zone})
		there, err := time.LoadLocation("Pacific/Niue")
		require.NoError(t, err)
		due := time.Now().In(there).Format(time.DateOnly) // over already on Kiritimati
		clinic.OK(201, "POST", "/patients/"+clinic.AddPatient(clinictest.Phone)+"/payments", object{"amount": 1, "due_date": due})
		require.EqualValues(t, late, clinic.OK(200, "POST", "/payments/run-overdue", nil)["overdue"], zone)
	}
}

// The hourly job marks payments of every clinic.
func TestOverdueJob(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "due_date": clinictest.DateIn(t, -1)})
	clinic.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 7, "due_date": clinictest.DateIn(t, -2)})
	job := clinic.Job("overdue")
	require.Equal(t, time.Hour, job.Every)
	for range 2 {
		require.NoError(t, job.Run(t.Context(), nil))
	}
	require.Equal(t, []string{"payment.overdue", "payment.overdue"}, clinic.EventTypes(1))
}

// A suspended clinic has no payment marked as overdue; once it is resumed, it has.
func TestSuspendedClinicHasNoOverduePayments(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	clinic.AddDuePayment("2020-01-02")
	marked := func() int {
		return clinic.QueryInt(`select count(*) from clinic.payments where clinic_id = $1 and status = 'overdue'`)
	}
	clinic.Hub.Suspend(clinic.ID)
	require.NoError(t, clinic.Job("overdue").Run(t.Context(), nil))
	require.Zero(t, marked())
	require.Equal(t, 200, clinic.Hub.OperatorStatus("POST", "/api/v1/tenants/"+clinic.ID.String()+"/resume"))
	require.Eventually(t, func() bool { return clinic.Hub.Host.Tenants.CheckActive(clinic.ID) == nil }, clinictest.Timeout, clinictest.Tick)
	require.NoError(t, clinic.Job("overdue").Run(t.Context(), nil))
	require.Equal(t, 1, marked())
}
