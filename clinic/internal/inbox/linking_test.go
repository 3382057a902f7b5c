package inbox_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
)

const stranger = "+5521933334444"

// strangerEvent is an event in the inbox that matched no patient.
type strangerEvent struct {
	kind, subject string
	data          object
}

// AddWaitingEvents puts entries into the inbox as they wait there, a minute apart, long ago. They do
// not come in the order in which they happened.
func AddWaitingEvents(clinic *clinictest.Clinic, number string, list ...strangerEvent) {
	clinic.T.Helper()
	began := time.Now().Add(-240 * time.Hour).Truncate(time.Second)
	rows := make([][]any, len(list))
	for i := range list {
		id, at := store.NewID(), (i*7919)%len(list)
		strangerEvent := list[at]
		raw, err := json.Marshal(strangerEvent.data)
		require.NoError(clinic.T, err)
		var subject, from *string
		if strangerEvent.subject != "" {
			subject = &strangerEvent.subject
		}
		if number != "" {
			from = &number
		}
		source := "messaging"
		if strangerEvent.data["service"] != nil {
			source = "scheduling"
		}
		rows[i] = []any{
			clinic.ID, "live", id, source, fmt.Sprintf("evt_%s-%d", number, at), strangerEvent.kind, began.Add(time.Duration(at) * time.Minute), from, subject,
			clinic.Hub.Host.Sealer.Seal(raw, "inbox/"+id.String()), []byte{},
		}
	}
	_, err := clinic.Hub.Host.Pool.CopyFrom(clinic.T.Context(), pgx.Identifier{"clinic", "inbox"}, []string{
		"clinic_id", "env", "id", "source", "event_id", "event_type", "occurred_at", "phone", "external_id", "data_enc", "email_hmac",
	}, pgx.CopyFromRows(rows))
	require.NoError(clinic.T, err)
}

// messages are so many of a number's, about two tickets.
func messages(n int, number string) []strangerEvent {
	list := make([]strangerEvent, n)
	for i := range list {
		ticket := 7 + i%2
		list[i] = strangerEvent{"message.received", fmt.Sprintf("ticket %d", ticket), object{"phone": number, "body": fmt.Sprintf("Message %d", i), "ticket_id": ticket}}
	}
	return list
}

// PauseJob keeps every process from running a job until it is called.
func PauseJob(clinic *clinictest.Clinic, job string) (resume func()) {
	clinic.T.Helper()
	tx, err := clinic.Hub.Host.Pool.Begin(clinic.T.Context())
	require.NoError(clinic.T, err)
	_, err = tx.Exec(clinic.T.Context(), "select pg_advisory_xact_lock(hashtextextended('hub.jobs/clinic/' || $1, 0))", job)
	require.NoError(clinic.T, err)
	clinic.T.Cleanup(func() { _ = tx.Rollback(clinic.T.Context()) })
	return func() { require.NoError(clinic.T, tx.Rollback(clinic.T.Context())) }
}

// InboxEntry is the path of one that is so.
func InboxEntry(clinic *clinictest.Clinic, where string, args ...any) string {
	clinic.T.Helper()
	var id uuid.UUID
	query := "select id from clinic.inbox where clinic_id = $1 and " + where + " limit 1"
	require.NoError(clinic.T, clinic.Hub.Host.Pool.QueryRow(clinic.T.Context(), query, append([]any{clinic.ID}, args...)...).Scan(&id))
	return "/integrations/inbox/" + id.String()
}

// WaitForLinking waits until nothing is on its way to a patient any more.
func WaitForLinking(clinic *clinictest.Clinic) {
	clinic.T.Helper()
	require.Eventually(clinic.T, func() bool { return clinic.QueryInt(`select count(*) from clinic.linkings where clinic_id = $1`) == 0 }, 4*clinictest.Timeout, clinictest.Tick)
}

// requireEachOnce requires that so many events stand on a patient's history, each once, written
// in the order in which they happened but for the last one, which was linked first.
func requireEachOnce(clinic *clinictest.Clinic, patient string, n int) {
	clinic.T.Helper()
	id := uuid.MustParse(patient)
	require.Equal(clinic.T, n, clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1 and patient_id = $2`, id))
	require.Equal(clinic.T, n, clinic.QueryInt(`select count(distinct source_id) from clinic.interactions where clinic_id = $1 and patient_id = $2`, id))
	require.Equal(clinic.T, 1, clinic.QueryInt(`select count(*) from (select occurred_at, lag(occurred_at) over (order by id) as before from clinic.interactions
		where clinic_id = $1 and patient_id = $2) i where before > occurred_at`, id), "in order")
}

// The request links some entries of a number, the job the others: each once, in order.
func TestLinkingThousandsOfEntries(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id, other := clinic.AddPatient(clinictest.Phone), clinic.AddPatient("+5511900001111")
	const all = 5000
	AddWaitingEvents(clinic, stranger, messages(all, stranger)...)
	clinic.ConnectPeer("messaging").Send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	last := InboxEntry(clinic, "event_type = 'contact.created'")
	path := last + "/link"
	resume := PauseJob(clinic, "linking")
	began := time.Now()
	done := clinic.OK(200, "POST", path, object{"patient_id": id})
	t.Logf("200 of %d were linked in %v", all, time.Since(began))
	require.EqualValues(t, 200, done["also_linked"], "no more than somebody can wait for")
	require.Equal(t, true, done["still_linking"])
	require.Equal(t, "linked", done["status"])
	require.Equal(t, 201, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'linked'`))
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from hub.jobs, clinic.clinics c where c.id = $1 and job = 'linking'`))

	// The others are as good as linked.
	waiting := InboxEntry(clinic, "status = 'open'")
	clinic.Refused(409, "already_settled", "POST", waiting+"/dismiss", nil)
	clinic.Refused(409, "already_settled", "POST", waiting+"/link", object{"patient_id": other})
	again := clinic.OK(200, "POST", path, object{"patient_id": id})
	require.EqualValues(t, 0, again["also_linked"])
	require.Equal(t, true, again["still_linking"])
	resume()
	WaitForLinking(clinic)
	requireEachOnce(clinic, id, all+1)
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and (status <> 'linked' or data_enc is not null or phone is not null)`))
	require.Equal(t, false, clinic.OK(200, "POST", path, object{"patient_id": id})["still_linking"])
	require.Empty(t, clinic.History(other))
}

// If the process dies in a step, the steps before it are stored and that one is not. Another
// process continues.
func TestLinkingSurvivesLosingItsProcess(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id, db := clinic.AddPatient(clinictest.Phone), clinic.Hub.Host.Pool
	const all, held = 900, 500
	AddWaitingEvents(clinic, stranger, messages(all, stranger)...)
	clinic.ConnectPeer("messaging").Send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	var me int
	require.NoError(t, tx.QueryRow(t.Context(), `select pg_backend_pid() from clinic.inbox where clinic_id = $1 and event_id = $2 for update`, clinic.ID, fmt.Sprintf("evt_%s-%d", stranger, held)).Scan(&me))
	clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'contact.created'")+"/link", object{"patient_id": id})
	var stuck int
	require.Eventually(t, func() bool {
		return db.QueryRow(t.Context(), `select coalesce(min(pid), 0) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))`, me).Scan(&stuck) == nil && stuck != 0
	}, clinictest.Timeout, clinictest.Tick)
	linked := `select count(*) from clinic.inbox where clinic_id = $1 and status = 'linked'`
	require.Equal(t, 2*inbox.MaxLinkedPerTransaction+1, clinic.QueryInt(linked))
	_, err = db.Exec(t.Context(), `select pg_terminate_backend($1)`, stuck)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return clinic.QueryInt(`select count(*) from hub.jobs, clinic.clinics c where c.id = $1 and job = 'linking' and tries > 0`) == 1
	}, clinictest.Timeout, clinictest.Tick)
	require.Equal(t, 2*inbox.MaxLinkedPerTransaction+1, clinic.QueryInt(linked))
	require.Equal(t, 2*inbox.MaxLinkedPerTransaction+1, clinic.QueryInt(`select count(*) from clinic.interactions where clinic_id = $1`))
	require.NoError(t, tx.Rollback(t.Context()))
	WaitForLinking(clinic)
	requireEachOnce(clinic, id, all+1)
}

// An event waits until older entries of its number are linked: a cancellation finds the
// appointment that an older entry creates.
func TestEventsWaitBehindLinking(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	messaging, scheduling := clinic.ConnectPeer("messaging"), clinic.ConnectPeer("scheduling")
	day := time.Now().Add(72 * time.Hour).UTC().Truncate(time.Second)
	list := messages(260, stranger)
	list[250] = strangerEvent{"appointment.created", "appointment a-1", object{
		"appointment_id": "a-1", "client_phone": stranger, "service": "Waiting", "datetime": day.Format(time.RFC3339),
	}}
	AddWaitingEvents(clinic, stranger, list...)
	scheduling.Send("accepted", "appointment.created", object{"client_phone": clinictest.Phone, "service": "Nameless", "datetime": day.Add(time.Hour).Format(time.RFC3339)})
	messaging.Send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	resume := PauseJob(clinic, "linking")
	require.Equal(t, true, clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'contact.created'")+"/link", object{"patient_id": id})["still_linking"])
	scheduling.Send("ignored", "appointment.cancelled", object{"appointment_id": "a-1", "client_phone": stranger, "reason": "late"})
	scheduling.Send("ignored", "appointment.noshow", object{"appointment_id": "a-2", "client_phone": stranger, "reason": "unknown"})
	messaging.Send("accepted", "message.received", object{"phone": clinictest.Phone, "body": "From another number", "ticket_id": 99})
	resume()
	WaitForLinking(clinic)
	storedStatuses := map[any]any{}
	for _, item := range clinic.Items("/patients/" + id + "/appointments") {
		storedStatuses[item["service"]] = item["status"]
	}
	require.Equal(t, map[any]any{"Waiting": "cancelled", "Nameless": "scheduled"}, storedStatuses)
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and meant_for is not null`))
	left := clinic.Items("/integrations/inbox")
	require.Len(t, left, 1, "what is not known waits for somebody, as ever")
	require.Equal(t, "appointment.noshow", left[0]["event_type"])
	clinic.OK(200, "POST", "/integrations/inbox/"+left[0]["id"].(string)+"/dismiss", nil)
	scheduling.Send("accepted", "appointment.noshow", object{"appointment_id": "a-1", "client_phone": stranger})
}

// An event settles all entries that wait about its ticket, also in steps. One that cannot be
// decrypted stays open and delays no other.
func TestEventSettlesEntriesOfItsTicket(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	list := messages(450, "")
	for i := range list {
		list[i].subject = "ticket 7"
	}
	AddWaitingEvents(clinic, "", list...)
	_, err := clinic.Hub.Host.Pool.Exec(t.Context(), `update clinic.inbox set data_enc = 'broken' where clinic_id = $1 and event_id in ('evt_-100', 'evt_-300')`, clinic.ID)
	require.NoError(t, err)
	resume := PauseJob(clinic, "linking")
	messaging := clinic.ConnectPeer("messaging")
	messaging.Send("accepted", "message.received", object{"phone": clinictest.Phone, "body": "Hers", "ticket_id": 7})
	require.Equal(t, inbox.MaxLinkedPerTransaction-1, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'linked'`))
	messaging.Send("ignored", "ticket.closed", object{"ticket_id": 7, "resolution": "done"})
	resume()
	WaitForLinking(clinic)
	require.Equal(t, 2, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'open'`))
	require.Equal(t, 450, clinic.QueryInt(`select count(distinct source_id) from clinic.interactions where clinic_id = $1`), "all but two, the message and the end")
	require.Equal(t, "ticket_closed: done", clinic.History(id)[0])
}

// Erasing a patient whose entries are being linked erases all of them.
func TestErasureDuringALinking(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient(clinictest.Phone)
	relative := clinic.OK(201, "POST", "/patients", object{"name": "Zoe", "phone": stranger})["id"].(string) // the number is hers too
	messaging := clinic.ConnectPeer("messaging")
	AddWaitingEvents(clinic, stranger, messages(300, stranger)...)
	resume := PauseJob(clinic, "linking")
	require.Equal(t, true, clinic.OK(200, "POST", InboxEntry(clinic, "true")+"/link", object{"patient_id": id})["still_linking"])
	messaging.Send("ignored", "message.received", object{"phone": stranger, "name": "Zoe", "body": "Not hers", "ticket_id": 9})
	clinic.RequestDeletion(id)
	left := clinic.Items("/integrations/inbox")
	require.Len(t, left, 1)
	require.Equal(t, "Zoe", left[0]["name"], "what is another's stays")
	require.Zero(t, clinic.QueryInt(`select count(*) from clinic.linkings where clinic_id = $1`))
	resume()
	clinic.OK(200, "POST", "/integrations/inbox/"+left[0]["id"].(string)+"/link", object{"patient_id": relative})
	require.Equal(t, []string{"message_received: Not hers"}, clinic.History(relative))
	messaging.Send("ignored", "ticket.closed", object{"ticket_id": 8, "resolution": "x"})
	require.Empty(t, clinic.Items("/integrations/inbox"), "a ticket of hers that was not linked yet is known as forgotten")
}

// What follows about the tickets of linked entries is settled in steps, each entry once, however
// many entries of a ticket were linked.
func TestLinkingOfManyEntriesAboutATicket(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	id := clinic.AddPatient("+5511900001111")
	AddWaitingEvents(clinic, stranger, messages(60, stranger)...)
	answers := make([]strangerEvent, 450)
	for i := range answers {
		answers[i] = strangerEvent{"message.sent", "ticket 7", object{"body": fmt.Sprintf("Answer %d", i), "ticket_id": 7}}
	}
	AddWaitingEvents(clinic, "", answers...)
	clinic.ConnectPeer("messaging").Send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	resume := PauseJob(clinic, "linking")
	done := clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'contact.created'")+"/link", object{"patient_id": id})
	require.EqualValues(t, 200, done["also_linked"])
	require.Equal(t, true, done["still_linking"])
	require.Equal(t, 1, clinic.QueryInt(`select count(*) from clinic.linkings where clinic_id = $1 and external_id = 'ticket 7' and phone_key is null`))
	resume()
	WaitForLinking(clinic)
	require.Equal(t, 511, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'linked'`))
	require.Equal(t, 511, clinic.QueryInt(`select count(distinct source_id) from clinic.interactions where clinic_id = $1`))
}

// A booking that follows by its number brings its cancellation, which has none: the latest status
// counts. So does every booking of a contact that is linked.
func TestLinkingBringsCancellationsWithoutANumber(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	scheduling, began := clinic.ConnectPeer("scheduling"), time.Now().Add(-time.Hour)
	book := func(minute int, appointment, number string) {
		scheduling.SendAt(began.Add(time.Duration(minute)*time.Minute), "ignored", "appointment.created", object{
			"appointment_id": appointment, "client_phone": number, "service": appointment, "datetime": began.Add(72 * time.Hour).UTC().Format(time.RFC3339),
		})
	}
	cancel := func(minute int, appointment string) {
		scheduling.SendAt(began.Add(time.Duration(minute)*time.Minute), "ignored", "appointment.cancelled", object{"appointment_id": appointment, "reason": "travelling"})
	}
	storedStatuses := func(patient string) map[any]any {
		statuses := map[any]any{}
		for _, item := range clinic.Items("/patients/" + patient + "/appointments") {
			statuses[item["service"]] = item["status"]
		}
		return statuses
	}
	cancel(3, "b2") // it comes first
	book(1, "b1", stranger)
	book(2, "b2", stranger)
	book(4, "b3", stranger)
	cancel(5, "b3")
	scheduling.SendAt(began.Add(6*time.Minute), "ignored", "appointment.created", object{ // it takes place again
		"appointment_id": "b3", "client_phone": stranger, "service": "b3", "status": "scheduled", "datetime": began.Add(96 * time.Hour).UTC().Format(time.RFC3339),
	})
	book(7, "b4", stranger)
	book(8, "b4", "+5521933335555") // another client's by now
	cancel(9, "b4")
	patient := clinic.AddPatient(stranger)
	done := clinic.OK(200, "POST", InboxEntry(clinic, "external_id = 'appointment b1'")+"/link", object{"patient_id": patient})
	require.Equal(t, map[any]any{"b1": "scheduled", "b2": "cancelled", "b3": "scheduled"}, storedStatuses(patient))
	require.EqualValues(t, 6, done["also_linked"])
	require.Equal(t, 2, clinic.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'open' and external_id = 'appointment b4'`), "wait for their client")

	const number = "+5521944445555"
	book(1, "c1", number)
	cancel(2, "c1")
	clinic.ConnectPeer("messaging").Send("ignored", "contact.created", object{"phone": number, "name": "Ana"})
	other := clinic.AddPatient("+5511900001111")
	done = clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'contact.created'")+"/link", object{"patient_id": other})
	require.EqualValues(t, 2, done["also_linked"])
	require.Equal(t, map[any]any{"c1": "cancelled"}, storedStatuses(other))
	require.Nil(t, clinic.Get("/patients/" + other)["next_appointment"])
}

// A run that read its linking before the patient was merged into another goes on for that one.
func TestLinkingContinuesAfterMerge(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	merged, survivor := clinic.AddPatient(clinictest.Phone), clinic.AddPatient("+5511900001111")
	const all = 450
	AddWaitingEvents(clinic, stranger, messages(all, stranger)...)
	clinic.ConnectPeer("messaging").Send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	resume := PauseJob(clinic, "linking")
	clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'contact.created'")+"/link", object{"patient_id": merged})

	// The merge is first in the queue for the patient's row, the run second.
	lock, err := clinic.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(t.Context()) }()
	_, err = lock.Exec(t.Context(), `select from clinic.patients where clinic_id = $1 and id = $2 for update`, clinic.ID, merged)
	require.NoError(t, err)
	merging := make(chan answer, 1)
	go func() {
		merging <- clinic.Call("POST", "/patients/"+merged+"/merge", object{"into": survivor})
	}()
	requireWaiter(clinic, "LockPatients")
	resume()
	requireWaiter(clinic, "LockPatientShared")
	require.NoError(t, lock.Rollback(t.Context()))
	response := <-merging
	require.Equal(t, 200, response.Status, response.Text)
	WaitForLinking(clinic)
	requireEachOnce(clinic, survivor, all+1)
}

// requireWaiter waits until a query waits for a lock.
func requireWaiter(clinic *clinictest.Clinic, query string) {
	clinic.T.Helper()
	require.Eventually(clinic.T, func() bool {
		return clinic.QueryInt(`select count(*) from pg_stat_activity where $1::uuid is not null and datname = current_database()
			and wait_event_type = 'Lock' and query like '-- name: ' || $2 || ' %'`, query) == 1
	}, clinictest.Timeout, clinictest.Tick)
}

// The upkeep plans a run for a linking whose run is lost.
func TestUpkeepContinuesLinking(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinicAlone(t)
	patient := clinic.AddPatient(clinictest.Phone)
	const all = 300
	AddWaitingEvents(clinic, stranger, messages(all, stranger)...)
	clinic.ConnectPeer("messaging").Send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	resume := PauseJob(clinic, "linking")
	clinic.OK(200, "POST", InboxEntry(clinic, "event_type = 'contact.created'")+"/link", object{"patient_id": patient})
	clinic.Exec(`delete from hub.jobs where $1::uuid is not null and job = 'linking'`)
	resume()
	require.NoError(t, clinic.Job("inbox").Run(t.Context(), nil))
	WaitForLinking(clinic)
	requireEachOnce(clinic, patient, all+1)
}
