package clinic_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// exec changes the database; $1 is the clinic.
func (p *practice) exec(query string, args ...any) {
	p.t.Helper()
	_, err := p.hub.Host.Pool.Exec(p.t.Context(), query, append([]any{p.id}, args...)...)
	require.NoError(p.t, err)
}

// What is read of the inbox does not grow with it: totals are counted up to a number,
// and are right on a page that is beyond the last.
func TestInboxPages(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	const path = "/integrations/inbox?per_page=100&page="
	p.waits(stranger, messages(3, stranger)...)
	beyond := p.get(path + "2")
	require.Empty(t, beyond["items"])
	require.EqualValues(t, 3, beyond["total"])
	require.EqualValues(t, 1, beyond["pages"])
	p.exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, data_enc) select $1, 'live', gen_random_uuid(), 'x', n, 'x', now(), 'x' from generate_series(1, 9998) n`)
	require.EqualValues(t, 10000, p.get(path + "1")["total"])
	require.Len(t, p.items(path+"101"), 1, "what is not counted is there all the same")
	beyond = p.get(path + "102")
	require.Empty(t, beyond["items"])
	require.EqualValues(t, 10000, beyond["total"])
	require.EqualValues(t, 0, p.get(path + "1&status=linked")["total"])
	require.EqualValues(t, 0, p.another().get(path + "1")["total"])
	require.EqualValues(t, 0, p.on("test").get(path + "1")["total"])
}

// Whatever is asked of a large inbox, an index that begins with the clinic answers it; what
// upkeep looks for in all of them, one by age.
func TestInboxUsesIndexes(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	p.exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, received_at, phone, external_id, data_enc, email_hmac)
		select case when n % 30 = 0 then $1::uuid else $2::uuid end, 'live', gen_random_uuid(), 'messaging', n, 'contact.created', now() - n * interval '1 second', now() - n * interval '1 second', '+55119' || 80000000 + n % 5000,
			'ticket ' || n % 5000, 'x', decode(md5(n::text), 'hex') from generate_series(1, 30000) n`, p.another().id)
	p.exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, status, settled_at)
		select $1, 'live', gen_random_uuid(), 'messaging', 'd' || n, 'contact.created', now(), 'dismissed', now() - n * interval '1 second' from generate_series(1, 10000) n`)
	p.exec(`insert into clinic.patients (clinic_id, env, id, name, phone) select $1, 'live', gen_random_uuid(), 'P', '+55119' || 80000000 + n from generate_series(1, 2000) n`)
	p.exec(`insert into clinic.linked_phones (clinic_id, env, phone_key, patient_id) select $1, env, '+55' || phone_key, id from clinic.patients where clinic_id = $1`)
	_, err := p.hub.Host.Pool.Exec(t.Context(), `vacuum analyze clinic.inbox, clinic.patients, clinic.linked_phones`)
	require.NoError(t, err)
	source, err := os.ReadFile("internal/store/dbgen/inbox.sql.go")
	require.NoError(t, err)
	number, subject, first := "+551180000100", "ticket 7", time.Time{}
	for _, c := range []struct {
		query   string
		indexes []string
		args    []any
	}{
		{"countInbox", []string{"inbox_list"}, []any{p.id, "live", "open", 100}},
		{"listInbox", []string{"inbox_list"}, []any{p.id, "live", "open", 500, 20}},
		{"uniquePatientsByPhone", []string{"patients_phone", "linked_phones_", "patients_pkey"}, []any{p.id, "live", []string{number}}},
		{"waitingEntries", []string{"inbox_open_phone", "inbox_open_subject", "inbox_meant"}, []any{p.id, "live", p.id, number, first, p.id, 201, "messaging", subject}},
		{"inboxEntriesAbout", []string{"inbox_patient", "inbox_open_phone", "inbox_email", "inbox_unhashed", "inbox_meant"}, []any{p.id, "live", p.id, []string{number}, [][]byte{{1}}}},
		{"entriesBeingLinked", []string{"inbox_open_phone", "inbox_open_subject"}, []any{p.id, "live", first, p.id, number, "messaging", subject}},
		{"entriesWithoutEmailHash", []string{"inbox_unhashed"}, []any{p.id, "live", p.id, 500}},
		{"deleteOldOpenEntries", []string{"inbox_open_age"}, []any{time.Now().Add(-time.Hour), 20}},
		{"deleteOldSettledEntries", []string{"inbox_settled_age"}, []any{time.Now().Add(-time.Hour), 20}},
	} {
		_, query, _ := strings.Cut(string(source), "const "+c.query+" = `")
		query, _, found := strings.Cut(query, "`")
		require.True(t, found, c.query)
		rows, err := p.hub.Host.Pool.Query(t.Context(), "explain "+query, append([]any{pgx.QueryExecModeSimpleProtocol}, c.args...)...)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, c.query)
		plan := strings.Join(lines, "\n")
		require.NotContains(t, plan, "Seq Scan on inbox", "%s: %s", c.query, plan)
		for _, index := range c.indexes {
			require.Contains(t, plan, index, "%s: %s", c.query, plan)
		}
	}
}

// Who settles the inbox sees what an event tells, masked as on a history, and whom its
// number is by now; only while the entry is open, and it is on record that it was shown.
func TestInboxTellsWhatItIs(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m, s := p.connect("messaging"), p.connect("scheduling")
	entries := func() map[string]object {
		list := make(map[string]object)
		for _, one := range p.items("/integrations/inbox?per_page=100") {
			list[one["event_type"].(string)] = one
		}
		return list
	}
	when := "2026-03-02T09:00:00-03:00"
	m.send("ignored", "message.received", object{"phone": stranger, "name": "Gil", "body": "My CPF is " + cpf + ", I have F32.1", "ticket_id": 7})
	m.send("ignored", "ticket.created", object{"phone": "+5521933334445", "ticket_id": 8, "queue": "Front desk"})
	m.send("ignored", "contact.created", object{"phone": "+5521933334446"})
	s.send("ignored", "appointment.created", object{"client_phone": "+5521933334447", "service": "Cleaning of " + cpf, "professional": "Dr. Lima", "datetime": when})
	s.send("ignored", "appointment.cancelled", object{"appointment_id": "a-9", "datetime": when, "reason": "Rain"})
	s.send("ignored", "appointment.noshow", object{"appointment_id": "a-9", "client_phone": "+5521933334448"})
	for kind, want := range map[string]any{
		"message.received": "My CPF is ***.***.***-09, I have ***", "ticket.created": "Front desk", "contact.created": nil,
		"appointment.created": "Cleaning of ***.***.***-09, Dr. Lima, 2026-03-02T12:00:00Z", "appointment.cancelled": "2026-03-02T12:00:00Z: Rain", "appointment.noshow": nil,
	} {
		got := entries()[kind]
		require.Contains(t, got, "summary", kind)
		require.Equal(t, want, got["summary"], kind)
		require.Contains(t, got, "suggested_patient_id", kind)
		require.Nil(t, got["suggested_patient_id"], kind)
	}
	require.Equal(t, recorded{"inbox.list", "tenant_user", "live", ""}, p.onRecord("")[0])

	// One patient with the number is suggested, also without a mobile's ninth digit; two are not;
	// a patient of another clinic, or of the test environment, never.
	p.another().patient(stranger)
	p.on("test").patient(stranger)
	require.Nil(t, entries()["message.received"]["suggested_patient_id"])
	id := p.patient("+5521933334445")
	require.Equal(t, id, entries()["ticket.created"]["suggested_patient_id"])
	require.Equal(t, recorded{"inbox.list", "tenant_user", "live", id}, p.onRecord("")[0])
	p.ok(201, "POST", "/patients", object{"name": "Another", "phone": "+5521933334445"})
	require.Nil(t, entries()["ticket.created"]["suggested_patient_id"])
	gil := p.patient(stranger)
	require.Equal(t, gil, entries()["message.received"]["suggested_patient_id"])

	// What the entry said is what the history says; the entry says it no more.
	p.ok(200, "POST", p.entry("event_type = 'message.received'")+"/link", object{"patient_id": gil})
	require.Equal(t, "My CPF is ***.***.***-09, I have ***", p.items("/patients/" + gil + "/interactions")[0]["summary"])
	linked := p.items("/integrations/inbox?status=linked")[0]
	require.Nil(t, linked["summary"])
	require.Nil(t, linked["suggested_patient_id"])

	// One that cannot be read is listed all the same.
	p.exec(`update clinic.inbox set data_enc = 'broken' where clinic_id = $1 and event_type = 'ticket.created'`)
	require.Nil(t, entries()["ticket.created"]["summary"])
}

// Nothing waits for ever: open entries go after half a year, settled ones after a year,
// however many they are; what is on its way to a patient does not.
func TestOldEntriesGo(t *testing.T) {
	t.Parallel()
	p := practiceAt(t, moduletest.Start(t, clinic.New(), moduletest.Options{Start: time.Now(), Connectors: []hub.Connector{anyPeer("messaging")}}))
	id, began := p.patient(phone), p.hub.Clock.Now()
	p.waits(stranger, messages(1300, stranger)...)
	p.exec(`update clinic.inbox set received_at = $2, external_id = null where clinic_id = $1`, began)
	p.exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, status, settled_at, received_at)
		select $1, 'live', gen_random_uuid(), 'x', n, 'x', $2, 'dismissed', $2, $2 from generate_series(1, 1200) n`, began)
	p.waits("+5521955556666", messages(300, "+5521955556666")...)
	p.exec(`update clinic.inbox set received_at = $2 where clinic_id = $1 and phone = '+5521955556666'`, began)
	resume := p.paused("linking")
	require.Equal(t, true, p.ok(200, "POST", p.entry("phone = '+5521955556666'")+"/link", object{"patient_id": id})["still_linking"])
	count := func(status string) int {
		require.NoError(t, p.job("inbox").Run(t.Context(), nil))
		return p.count(`select count(*) from clinic.inbox where clinic_id = $1 and status = $2`, status)
	}
	p.hub.Clock.Advance(inbox.OpenRetention - time.Second)
	require.Equal(t, 1300+99, count("open"))
	p.hub.Clock.Advance(2 * time.Second)
	require.Equal(t, 99, count("open"))
	require.Equal(t, 1200, count("dismissed"))
	resume()
	p.linked()
	require.Equal(t, 300, count("linked"))
	p.hub.Clock.Advance(inbox.SettledRetention - inbox.OpenRetention)
	require.Equal(t, 0, count("dismissed"))
	require.NotZero(t, count("linked"), "those were settled later")
	require.Equal(t, 300, p.count(`select count(*) from clinic.interactions where clinic_id = $1`), "what came of them stays")
}

// Who is forgotten is found by an address in an entry without opening any other's.
func TestForgettingByAddress(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	m := p.connect("messaging")
	forget := func(email string, n int) (statusOf func() int) {
		id := p.ok(201, "POST", "/patients", object{"name": "Ana", "email": email})["id"].(string)
		m.send("ignored", "contact.created", object{"phone": fmt.Sprintf("+552195555%04d", n), "name": "Somebody", "email": " " + strings.ToUpper(email)})
		return func() int { return p.call("POST", "/patients/"+id+"/deletion-request", nil).status }
	}
	m.send("ignored", "contact.created", object{"phone": stranger, "name": "Another", "email": "another@example.com"})
	m.send("ignored", "contact.created", object{"phone": "+5521944445555", "name": "Without"})
	p.exec(`update clinic.inbox set data_enc = 'broken' where clinic_id = $1`)
	first, second, third := forget("ana@example.com", 1), forget("bia@example.com", 2), forget("eva@example.com", 3)
	names := func() (n int) {
		return p.count(`select count(*) from clinic.inbox where clinic_id = $1 and name = 'Somebody'`)
	}
	require.Equal(t, 202, first())
	require.Equal(t, 2, names())

	// One from before there were hashes is opened, as everybody's of then; and not any
	// more once upkeep has made up for them.
	p.exec(`update clinic.inbox set email_hmac = null where clinic_id = $1 and name = 'Somebody'`)
	require.Equal(t, 202, second())
	require.Equal(t, 1, names())
	require.Equal(t, 1, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and email_hmac is null`))
	require.NoError(t, p.job("inbox").Run(t.Context(), nil))
	require.Zero(t, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and email_hmac is null`))
	require.Equal(t, 202, third())
	require.Zero(t, names())
	p.exec(`update clinic.inbox set email_hmac = null where clinic_id = $1`)
	require.ErrorContains(t, p.job("inbox").Run(t.Context(), nil), "2 inbox entries cannot be opened")
}
