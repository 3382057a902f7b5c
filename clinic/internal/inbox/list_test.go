package inbox_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store/dbgen"
	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

// Totals are counted up to a bound, and are right on pages beyond the last.
func TestInboxPages(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	const path = "/integrations/inbox?per_page=100&page="
	AddWaitingEvents(clinic, stranger, messages(3, stranger)...)
	beyond := clinic.Get(path + "2")
	require.Empty(t, beyond["items"])
	require.EqualValues(t, 3, beyond["total"])
	require.EqualValues(t, 1, beyond["pages"])
	clinic.Exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, data_enc) select $1, 'live', gen_random_uuid(), 'x', n, 'x', now(), 'x' from generate_series(1, 9998) n`)
	require.EqualValues(t, 10000, clinic.Get(path + "1")["total"])
	require.Len(t, clinic.Items(path+"101"), 1, "what is not counted is there all the same")
	beyond = clinic.Get(path + "102")
	require.Empty(t, beyond["items"])
	require.EqualValues(t, 10000, beyond["total"])
	require.EqualValues(t, 0, clinic.Get(path + "1&status=linked")["total"])
	require.EqualValues(t, 0, clinic.AnotherClinic().Get(path + "1")["total"])
	require.EqualValues(t, 0, clinic.InEnvironment("test").Get(path + "1")["total"])
}

// An open entry shows a masked summary and the patient who has its number. Reading it is in
// the audit log.
func TestOpenEntryHasSummaryAndSuggestion(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	entries := func() map[string]object {
		list := make(map[string]object)
		for _, item := range clinic.Items("/integrations/inbox?per_page=100") {
			list[item["event_type"].(string)] = item
		}
		return list
	}
	when := "2026-03-02T09:00:00.5-03:00"
	messaging.Send("ignored", "message.received", object{"phone": stranger, "name": "Gil", "body": "My CPF is " + clinictest.CPF + ", I have F32.1", "ticket_id": 7})
	messaging.Send("ignored", "ticket.created", object{"phone": "+5521933334445", "ticket_id": 8, "queue": "Front desk"})
	messaging.Send("ignored", "contact.created", object{"phone": "+5521933334446"})
	scheduling.Send("ignored", "appointment.created", object{"client_phone": "+5521933334447", "service": "Cleaning of " + clinictest.CPF, "professional": "Dr. Lima", "datetime": when})
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-9", "datetime": when, "reason": "Rain"})
	scheduling.Send("ignored", "appointment.noshow", object{"appointment_id": "a-9", "client_phone": "+5521933334448"})
	for kind, want := range map[string]any{
		"message.received": "My CPF is ***.***.***-09, I have ***", "ticket.created": "Front desk", "contact.created": nil,
		"appointment.created": "Cleaning of ***.***.***-09, Dr. Lima, 2026-03-02T12:00:00Z", "appointment.cancelled": "2026-03-02T12:00:00Z: Rain", "appointment.noshow": nil,
	} {
		got := entries()[kind]
		require.Contains(t, got, "summary", kind)
		require.Equal(t, want, got["summary"], kind)
		require.Contains(t, got, "starts_at", kind)
		if summary, isText := want.(string); isText && strings.Contains(summary, "2026-03-02T12:00:00Z") {
			require.Equal(t, "2026-03-02T12:00:00Z", got["starts_at"], kind)
		} else {
			require.Nil(t, got["starts_at"], kind)
		}
		require.Contains(t, got, "suggested_patient_id", kind)
		require.Nil(t, got["suggested_patient_id"], kind)
	}
	require.Equal(t, clinictest.AuditEntry{Action: "inbox.list", Actor: "tenant_user", Environment: "live", PatientID: ""}, clinic.AuditEntries("")[0])

	// One patient with the number is suggested, also without a mobile's ninth digit; two are not;
	// a patient of another clinic, or of the test environment, never.
	clinic.AnotherClinic().AddPatient(stranger)
	clinic.InEnvironment("test").AddPatient(stranger)
	require.Nil(t, entries()["message.received"]["suggested_patient_id"])
	id := clinic.AddPatient("+5521933334445")
	require.Equal(t, id, entries()["ticket.created"]["suggested_patient_id"])
	require.Equal(t, clinictest.AuditEntry{Action: "inbox.list", Actor: "tenant_user", Environment: "live", PatientID: id}, clinic.AuditEntries("")[0])
	clinic.OK(201, "POST", "/patients", object{"name": "Another", "phone": "+5521933334445"})
	require.Nil(t, entries()["ticket.created"]["suggested_patient_id"])
	gil := clinic.AddPatient(stranger)
	require.Equal(t, gil, entries()["message.received"]["suggested_patient_id"])

	// What the entry said is what the history says; the entry says it no more.
	clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'message.received'")+"/link", object{"patient_id": gil})
	require.Equal(t, "My CPF is ***.***.***-09, I have ***", clinic.Items("/patients/" + gil + "/interactions")[0]["summary"])
	linked := clinic.Items("/integrations/inbox?status=linked")[0]
	require.Nil(t, linked["summary"])
	require.Nil(t, linked["suggested_patient_id"])

	clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'appointment.created'")+"/dismiss", nil)
	require.Nil(t, clinic.Items("/integrations/inbox?status=dismissed")[0]["starts_at"])

	// One that cannot be read is listed all the same.
	clinic.Exec(`update clinic.inbox set data_enc = 'broken' where clinic_id = $1 and event_type = 'ticket.created'`)
	require.Nil(t, entries()["ticket.created"]["summary"])
}

// Open entries are deleted after half a year, settled ones after a year, however many there
// are. Entries that are being linked stay.
func TestOldEntriesAreDeleted(t *testing.T) {
	t.Parallel()
	p := clinictest.RegisterClinic(t, moduletest.Start(t, clinic.New(), moduletest.Options{Start: time.Now(), Connectors: []hub.Connector{clinictest.AnyPeer("messaging")}}))
	PauseJob(p, "inbox") // the hub's own run would hold entries that this test's run then skips
	id, began := p.AddPatient(clinictest.Phone), p.Hub.Clock.Now()
	AddWaitingEvents(p, stranger, messages(1300, stranger)...)
	p.Exec(`update clinic.inbox set received_at = $2, external_id = null where clinic_id = $1`, began)
	p.Exec(`insert into clinic.inbox (clinic_id, env, id, source, event_id, event_type, occurred_at, status, settled_at, received_at)
		select $1, 'live', gen_random_uuid(), 'x', n, 'x', $2, 'dismissed', $2, $2 from generate_series(1, 1200) n`, began)
	AddWaitingEvents(p, "+5521955556666", messages(300, "+5521955556666")...)
	p.Exec(`update clinic.inbox set received_at = $2 where clinic_id = $1 and phone = '+5521955556666'`, began)
	resume := PauseJob(p, "linking")
	require.Equal(t, true, p.OK(200, "POST", InboxEntry(p, "phone = '+5521955556666'")+"/link", object{"patient_id": id})["still_linking"])
	count := func(status string) int {
		require.NoError(t, p.Job("inbox").Run(t.Context(), nil))
		return p.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and status = $2`, status)
	}
	p.Hub.Clock.Advance(inbox.OpenRetention - time.Second)
	require.Equal(t, 1300+99, count("open"))
	p.Hub.Clock.Advance(2 * time.Second)
	require.Equal(t, 99, count("open"))
	require.Equal(t, 1200, count("dismissed"))
	resume()
	WaitForLinking(p)
	require.Equal(t, 300, count("linked"))
	p.Hub.Clock.Advance(inbox.SettledRetention - inbox.OpenRetention)
	require.Equal(t, 0, count("dismissed"))
	require.NotZero(t, count("linked"), "those were settled later")
	require.Equal(t, 300, p.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1`), "what came of them stays")
}

// The hub learns which inboxes wait, and since when.
func TestWaitingInboxes(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	queries := dbgen.New(clinic.Hub.Host.Pool)
	after := func(id uuid.UUID, env string) []dbgen.WaitingInboxesRow {
		rows, err := queries.WaitingInboxes(t.Context(), id, env, 1000)
		require.NoError(t, err)
		return slices.DeleteFunc(rows, func(row dbgen.WaitingInboxesRow) bool { return row.ClinicID != clinic.ID })
	}
	waiting := func() []dbgen.WaitingInboxesRow { return after(uuid.Nil, "") }
	require.Empty(t, waiting())
	AddWaitingEvents(clinic, stranger, messages(3, stranger)...)
	rows := waiting()
	require.Len(t, rows, 1)
	require.Equal(t, []any{hub.Live, 3}, []any{rows[0].Env, rows[0].Waiting})
	require.False(t, rows[0].OldestSince.IsZero())
	require.Len(t, after(clinic.ID, ""), 1)
	require.Empty(t, after(clinic.ID, string(hub.Live)), "the next page")
	clinic.Exec(`update clinic.inbox set status = 'dismissed', settled_at = now(), data_enc = null where clinic_id = $1`)
	require.Empty(t, waiting())
}
