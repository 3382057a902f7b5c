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

// practiceOn is a clinic where it is a time, until the hub's clock is advanced.
func practiceOn(t *testing.T, now time.Time) *practice {
	t.Helper()
	return practiceAt(t, moduletest.Start(t, clinic.New(), moduletest.Options{Start: now, Connectors: []hub.Connector{anyPeer("messaging"), anyPeer("scheduling")}}))
}

// due makes a payment of a new patient and gives its id.
func (p *practice) due(date string) string {
	p.t.Helper()
	return p.ok(201, "POST", "/patients/"+p.patient(phone)+"/payments", object{"amount": 1, "due_date": date})["id"].(string)
}

// stands is the status of a payment.
func (p *practice) stands(payment string) (status string) {
	p.t.Helper()
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), `select status from clinic.payments where clinic_id = $1 and id = $2`, p.id, payment).Scan(&status))
	return status
}

// A clinic whose time zone nobody knows keeps no other one's payments from becoming
// overdue, wherever it stands among them.
func TestOneClinicsZoneStopsNobodyElse(t *testing.T) {
	t.Parallel()
	bad := newPractice(t)
	good, worse, better := bad.another(), bad.another(), bad.another()
	owed := map[*practice]string{}
	for _, p := range []*practice{bad, good, worse, better} {
		owed[p] = p.due(inDays(t, -2))
	}
	bad.exec(`update clinic.clinics set timezone = 'Mars/Olympus' where id = $1`)
	worse.exec(`update clinic.clinics set timezone = 'right/America/Olympus' where id = $1`)
	for range 2 {
		require.NoError(t, bad.job("overdue").Run(t.Context(), nil))
	}
	for _, p := range []*practice{good, better} {
		require.Eventually(t, func() bool { return p.stands(owed[p]) == "overdue" }, soon, tick)
		require.Equal(t, []string{"payment.overdue"}, p.kinds(1), "once")
	}
	for _, p := range []*practice{bad, worse} {
		require.Equal(t, "pending", p.stands(owed[p]))
		require.Empty(t, p.kinds(1))
		require.Contains(t, p.hub.Log(), p.id.String()+`","timezone":`, "the log says whose")
		p.refused(409, "timezone_unknown", "POST", "/payments/run-overdue", nil)
		p.ok(200, "PUT", "/clinic", object{"name": "Clínica Lua"}) // the rest of the settings can be changed
	}

	// Its administrator mends it.
	bad.ok(200, "PUT", "/clinic", object{"timezone": "America/Recife"})
	require.NoError(t, bad.job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return bad.stands(owed[bad]) == "overdue" }, soon, tick)
	require.Equal(t, "pending", worse.stands(owed[worse]))
}

// A clinic is at a place: what machines have in the same directory is none.
func TestZonesOfClinics(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	before := p.get("/clinic")
	for _, zone := range []string{"Factory", "localtime", "posixrules", "right/America/Sao_Paulo", "posix/America/Sao_Paulo", "Local", "", "Mars/Olympus", "America", "America/", "EST5EDT", "america/sao_paulo", "../America/Sao_Paulo"} {
		p.invalid("body.timezone", "PUT", "/clinic", object{"timezone": zone})
	}
	require.Equal(t, before, p.get("/clinic"))
	for _, zone := range []string{"America/Argentina/Buenos_Aires", "Brazil/East", "UTC", "America/Noronha"} {
		require.Equal(t, zone, p.ok(200, "PUT", "/clinic", object{"timezone": zone})["timezone"])
	}
}

// What was paid or cancelled stays so, however long it is past its date.
func TestSettledPaymentsDoNotBecomeOverdue(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	path := "/patients/" + id + "/payments"
	owed := func(date string) string {
		return p.ok(201, "POST", path, object{"amount": 3, "due_date": date})["id"].(string)
	}
	paid, cancelled := owed(inDays(t, -1)), owed(inDays(t, -1))
	p.ok(200, "POST", "/payments/"+paid+"/pay", nil)
	p.ok(200, "POST", "/payments/"+cancelled+"/cancel", nil)
	made := p.ok(201, "POST", path, object{"amount": 3, "due_date": inDays(t, -1), "status": "paid"})["id"].(string)
	before := len(p.sent())
	require.EqualValues(t, 0, p.ok(200, "POST", "/payments/run-overdue", nil)["overdue"])
	require.NoError(t, p.job("overdue").Run(t.Context(), nil))
	require.Equal(t, []string{"paid", "cancelled", "paid"}, []string{p.stands(paid), p.stands(cancelled), p.stands(made)})
	require.Empty(t, p.kinds(before))
	require.EqualValues(t, 0, p.get("/patients/" + id)["balance_due"])
}

// A day ends when the next one begins where the clinic is, on days that have 23 or 25
// hours too: in Santiago the clock is put back from 24:00 to 23:00, and forward at 0:00.
func TestOverdueWhenClocksChange(t *testing.T) {
	t.Parallel()
	p := practiceOn(t, time.Date(2026, 4, 5, 2, 59, 0, 0, time.UTC)) // 23:59 of April 4, the first time
	p.ok(200, "PUT", "/clinic", object{"timezone": "America/Santiago"})
	autumn, spring := p.due("2026-04-04"), p.due("2026-09-05")
	job := p.job("overdue")
	at := func(now time.Time, first, second string) {
		t.Helper()
		p.hub.Clock.Advance(now.Sub(p.hub.Clock.Now()))
		require.NoError(t, job.Run(t.Context(), nil))
		require.Eventually(t, func() bool { return p.stands(autumn) == first && p.stands(spring) == second }, soon, tick, "%v: %s, %s", now, p.stands(autumn), p.stands(spring))
	}
	at(time.Date(2026, 4, 5, 2, 59, 59, 0, time.UTC), "pending", "pending")
	at(time.Date(2026, 4, 5, 3, 59, 59, 0, time.UTC), "pending", "pending") // 23:59:59, the second time
	at(time.Date(2026, 4, 5, 4, 0, 0, 0, time.UTC), "overdue", "pending")
	at(time.Date(2026, 9, 6, 3, 59, 59, 0, time.UTC), "overdue", "pending")
	at(time.Date(2026, 9, 6, 4, 0, 0, 0, time.UTC), "overdue", "overdue") // 1:00 of September 6
	require.Equal(t, []string{"patient.created", "patient.created", "payment.overdue", "payment.overdue"}, p.kinds(0))
}

// What the forgotten owe becomes overdue as ever, and nobody is told.
func TestOverdueOfTheForgotten(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	owed := p.ok(201, "POST", "/patients/"+id+"/payments", object{"amount": 3, "due_date": inDays(t, -1)})["id"].(string)
	p.ok(202, "POST", "/patients/"+id+"/deletion-request", nil)
	before := len(p.sent())
	require.NoError(t, p.job("overdue").Run(t.Context(), nil))
	require.Eventually(t, func() bool { return p.stands(owed) == "overdue" }, soon, tick)
	require.Empty(t, p.kinds(before))
}

// A date may be today's where the clinic is, and not tomorrow's; the clock of whoever
// writes down what happened may be a little ahead.
func TestNothingIsFromTheFuture(t *testing.T) {
	t.Parallel()
	p := practiceOn(t, time.Date(2026, 3, 3, 2, 30, 0, 0, time.UTC)) // March 2, 23:30 in São Paulo
	id := p.patient(phone)
	one := "/patients/" + id
	born := func(date string) object { return object{"name": "Gil", "birth_date": date} }
	record := func(date string) object { return object{"date": date, "type": "x"} }
	for zone, days := range map[string][2]string{"America/Sao_Paulo": {"2026-03-02", "2026-03-03"}, "Pacific/Kiritimati": {"2026-03-03", "2026-03-04"}} {
		p.ok(200, "PUT", "/clinic", object{"timezone": zone})
		today, tomorrow := days[0], days[1]
		p.ok(201, "POST", "/patients", born(today))
		p.invalid("body.birth_date", "POST", "/patients", born(tomorrow))
		p.ok(200, "PUT", one, object{"birth_date": today})
		p.invalid("body.birth_date", "PUT", one, object{"birth_date": tomorrow})
		p.ok(201, "POST", one+"/records", record(today))
		p.invalid("body.date", "POST", one+"/records", record(tomorrow))
		counts(t, p.imported("csv", "nome;nascimento\nEva;"+today+"\nIda;"+tomorrow+"\n"), 1, 0, 0, 1)
		p.exec(`delete from clinic.patients where clinic_id = $1 and name = 'Eva'`)
	}
	happened := func(at string) object {
		return object{"interaction_type": "call", "summary": "x", "occurred_at": at}
	}
	for _, at := range []string{"2026-03-03T02:35:01Z", "2026-03-03T02:35:01+00:00", "2026-03-02T23:35:01-03:00", "2030-01-01T00:00:00Z", "9998-12-31T00:00:00Z"} {
		p.invalid("body.occurred_at", "POST", one+"/interactions", happened(at))
	}
	for _, at := range []string{"2026-03-03T02:35:00Z", "2026-03-02T23:35:00-03:00", "1999-01-01T00:00:00Z"} {
		p.ok(201, "POST", one+"/interactions", happened(at))
	}
	require.Len(t, p.history(id), 3)

	// What is wrong is said with its bounds.
	for text, body := range map[string]object{
		"body.birth_date must be from 1900-01-01 to 9998-12-31": born("1850-01-01"), "body.birth_date must be YYYY-MM-DD": born("1850-1-1"),
		"body.birth_date must not be in the future": born("2026-03-05"),
	} {
		require.Equal(t, text, p.refused(422, "validation_failed", "POST", "/patients", body)["detail"])
	}
	require.Equal(t, "body.summary must have at most 500 characters",
		p.refused(422, "validation_failed", "POST", one+"/records", object{"date": "2026-03-02", "type": "x", "summary": strings.Repeat("x", 501)})["detail"])
}
