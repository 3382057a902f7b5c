package clinic_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
)

const stranger = "+5521933334444"

// strange is what waits in the inbox from somebody.
type strange struct {
	kind, subject string
	data          object
}

// waits puts entries into the inbox as they wait there, a minute apart, long ago. They do
// not come in the order in which they happened.
func (p *practice) waits(number string, list ...strange) {
	p.t.Helper()
	began := time.Now().Add(-240 * time.Hour).Truncate(time.Second)
	rows := make([][]any, len(list))
	for i := range list {
		id, at := store.NewID(), (i*7919)%len(list)
		one := list[at]
		raw, err := json.Marshal(one.data)
		require.NoError(p.t, err)
		var subject, from *string
		if one.subject != "" {
			subject = &one.subject
		}
		if number != "" {
			from = &number
		}
		source := "messaging"
		if one.data["service"] != nil {
			source = "scheduling"
		}
		rows[i] = []any{
			p.id, "live", id, source, fmt.Sprintf("evt_%s-%d", number, at), one.kind, began.Add(time.Duration(at) * time.Minute), from, subject,
			p.hub.Host.Sealer.Seal(raw, "inbox/"+id.String()), []byte{},
		}
	}
	_, err := p.hub.Host.Pool.CopyFrom(p.t.Context(), pgx.Identifier{"clinic", "inbox"}, []string{
		"clinic_id", "env", "id", "source", "event_id", "event_type", "occurred_at", "phone", "external_id", "data_enc", "email_hmac",
	}, pgx.CopyFromRows(rows))
	require.NoError(p.t, err)
}

// messages are so many of a number's, about two tickets.
func messages(n int, number string) []strange {
	list := make([]strange, n)
	for i := range list {
		ticket := 7 + i%2
		list[i] = strange{"message.received", fmt.Sprintf("ticket %d", ticket), object{"phone": number, "body": fmt.Sprintf("Message %d", i), "ticket_id": ticket}}
	}
	return list
}

// paused keeps every process from running a job until it is called.
func (p *practice) paused(job string) (resume func()) {
	p.t.Helper()
	tx, err := p.hub.Host.Pool.Begin(p.t.Context())
	require.NoError(p.t, err)
	_, err = tx.Exec(p.t.Context(), "select pg_advisory_xact_lock(hashtextextended('hub.jobs/clinic/' || $1, 0))", job)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = tx.Rollback(p.t.Context()) })
	return func() { require.NoError(p.t, tx.Rollback(p.t.Context())) }
}

// entry is the path of one that is so.
func (p *practice) entry(where string, args ...any) string {
	p.t.Helper()
	var id uuid.UUID
	query := "select id from clinic.inbox where clinic_id = $1 and " + where + " limit 1"
	require.NoError(p.t, p.hub.Host.Pool.QueryRow(p.t.Context(), query, append([]any{p.id}, args...)...).Scan(&id))
	return "/integrations/inbox/" + id.String()
}

// linked waits until nothing is on its way to a patient any more.
func (p *practice) linked() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return p.count(`select count(*) from clinic.linkings where clinic_id = $1`) == 0 }, 4*soon, tick)
}

// eachOnce requires that so many events stand on a patient's history, each once, written
// in the order in which they happened but for the last one, which was linked first.
func (p *practice) eachOnce(patient string, n int) {
	p.t.Helper()
	id := uuid.MustParse(patient)
	require.Equal(p.t, n, p.count(`select count(*) from clinic.interactions where clinic_id = $1 and patient_id = $2`, id))
	require.Equal(p.t, n, p.count(`select count(distinct source_id) from clinic.interactions where clinic_id = $1 and patient_id = $2`, id))
	require.Equal(p.t, 1, p.count(`select count(*) from (select occurred_at, lag(occurred_at) over (order by id) as before from clinic.interactions
		where clinic_id = $1 and patient_id = $2) i where before > occurred_at`, id), "in order")
}

// However many wait from a number, the request that links it settles some of them, and
// the job the others: each once, in order.
func TestLinkingWhatThousandsWaitFor(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id, other := p.patient(phone), p.patient("+5511900001111")
	const all = 5000
	p.waits(stranger, messages(all, stranger)...)
	p.connect("messaging").send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	last := p.entry("event_type = 'contact.created'")
	path := last + "/link"
	resume := p.paused("linking")
	began := time.Now()
	done := p.ok(200, "POST", path, object{"patient_id": id})
	t.Logf("200 of %d were linked in %v", all, time.Since(began))
	require.EqualValues(t, 200, done["also_linked"], "no more than somebody can wait for")
	require.Equal(t, true, done["still_linking"])
	require.Equal(t, "linked", done["status"])
	require.Equal(t, 201, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'linked'`))
	require.Equal(t, 1, p.count(`select count(*) from hub.jobs, clinic.clinics c where c.id = $1 and job = 'linking'`))

	// The others are as good as linked.
	waiting := p.entry("status = 'open'")
	p.refused(409, "already_settled", "POST", waiting+"/dismiss", nil)
	p.refused(409, "already_settled", "POST", waiting+"/link", object{"patient_id": other})
	again := p.ok(200, "POST", path, object{"patient_id": id})
	require.EqualValues(t, 0, again["also_linked"])
	require.Equal(t, true, again["still_linking"])
	resume()
	p.linked()
	p.eachOnce(id, all+1)
	require.Zero(t, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and (status <> 'linked' or data_enc is not null or phone is not null)`))
	require.Equal(t, false, p.ok(200, "POST", path, object{"patient_id": id})["still_linking"])
	require.Empty(t, p.history(other))
}

// A process that dies in the middle of a step has done the ones before, and nothing of
// that one; another goes on from there.
func TestLinkingSurvivesLosingItsProcess(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id, db := p.patient(phone), p.hub.Host.Pool
	const all, held = 900, 500
	p.waits(stranger, messages(all, stranger)...)
	p.connect("messaging").send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	var me int
	require.NoError(t, tx.QueryRow(t.Context(), `select pg_backend_pid() from clinic.inbox where clinic_id = $1 and event_id = $2 for update`, p.id, fmt.Sprintf("evt_%s-%d", stranger, held)).Scan(&me))
	p.ok(200, "POST", p.entry("event_type = 'contact.created'")+"/link", object{"patient_id": id})
	var stuck int
	require.Eventually(t, func() bool {
		return db.QueryRow(t.Context(), `select coalesce(min(pid), 0) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))`, me).Scan(&stuck) == nil && stuck != 0
	}, soon, tick)
	linked := `select count(*) from clinic.inbox where clinic_id = $1 and status = 'linked'`
	require.Equal(t, 2*inbox.MaxLinkedPerTransaction+1, p.count(linked))
	_, err = db.Exec(t.Context(), `select pg_terminate_backend($1)`, stuck)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return p.count(`select count(*) from hub.jobs, clinic.clinics c where c.id = $1 and job = 'linking' and tries > 0`) == 1
	}, soon, tick)
	require.Equal(t, 2*inbox.MaxLinkedPerTransaction+1, p.count(linked))
	require.Equal(t, 2*inbox.MaxLinkedPerTransaction+1, p.count(`select count(*) from clinic.interactions where clinic_id = $1`))
	require.NoError(t, tx.Rollback(t.Context()))
	p.linked()
	p.eachOnce(id, all+1)
}

// News of a number overtake nothing that is on its way to the patient: a cancellation of
// an appointment that is known there finds it, and means no other.
func TestNewsWaitBehindWhatIsLinked(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	m, s := p.connect("messaging"), p.connect("scheduling")
	day := time.Now().Add(72 * time.Hour).UTC().Truncate(time.Second)
	list := messages(260, stranger)
	list[250] = strange{"appointment.created", "appointment a-1", object{
		"appointment_id": "a-1", "client_phone": stranger, "service": "Waiting", "datetime": day.Format(time.RFC3339),
	}}
	p.waits(stranger, list...)
	s.send("accepted", "appointment.created", object{"client_phone": phone, "service": "Nameless", "datetime": day.Add(time.Hour).Format(time.RFC3339)})
	m.send("ignored", "contact.created", object{"phone": stranger, "name": "Ana"})
	resume := p.paused("linking")
	require.Equal(t, true, p.ok(200, "POST", p.entry("event_type = 'contact.created'")+"/link", object{"patient_id": id})["still_linking"])
	s.send("ignored", "appointment.cancelled", object{"appointment_id": "a-1", "client_phone": stranger, "reason": "late"})
	s.send("ignored", "appointment.noshow", object{"appointment_id": "a-2", "client_phone": stranger, "reason": "unknown"})
	m.send("accepted", "message.received", object{"phone": phone, "body": "From another number", "ticket_id": 99})
	resume()
	p.linked()
	standing := map[any]any{}
	for _, one := range p.items("/patients/" + id + "/appointments") {
		standing[one["service"]] = one["status"]
	}
	require.Equal(t, map[any]any{"Waiting": "cancelled", "Nameless": "scheduled"}, standing)
	require.Zero(t, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and meant_for is not null`))
	left := p.items("/integrations/inbox")
	require.Len(t, left, 1, "what is not known waits for somebody, as ever")
	require.Equal(t, "appointment.noshow", left[0]["event_type"])
	p.ok(200, "POST", "/integrations/inbox/"+left[0]["id"].(string)+"/dismiss", nil)
	s.send("accepted", "appointment.noshow", object{"appointment_id": "a-1", "client_phone": stranger})
}

// One event brings up everything that waits about its ticket, also in steps; one that
// cannot be read stays and keeps no other.
func TestATicketsNewsFollowInSteps(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	list := messages(450, "")
	for i := range list {
		list[i].subject = "ticket 7"
	}
	p.waits("", list...)
	_, err := p.hub.Host.Pool.Exec(t.Context(), `update clinic.inbox set data_enc = 'broken' where clinic_id = $1 and event_id in ('evt_-100', 'evt_-300')`, p.id)
	require.NoError(t, err)
	resume := p.paused("linking")
	m := p.connect("messaging")
	m.send("accepted", "message.received", object{"phone": phone, "body": "Hers", "ticket_id": 7})
	require.Equal(t, inbox.MaxLinkedPerTransaction-1, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'linked'`))
	m.send("ignored", "ticket.closed", object{"ticket_id": 7, "resolution": "done"})
	resume()
	p.linked()
	require.Equal(t, 2, p.count(`select count(*) from clinic.inbox where clinic_id = $1 and status = 'open'`))
	require.Equal(t, 450, p.count(`select count(distinct source_id) from clinic.interactions where clinic_id = $1`), "all but two, the message and the end")
	require.Equal(t, "ticket_closed: done", p.history(id)[0])
}

// Who is forgotten while their news are on the way takes all of them along.
func TestForgettingAmidALinking(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	id := p.patient(phone)
	relative := p.ok(201, "POST", "/patients", object{"name": "Zoe", "phone": stranger})["id"].(string) // the number is hers too
	m := p.connect("messaging")
	p.waits(stranger, messages(300, stranger)...)
	resume := p.paused("linking")
	require.Equal(t, true, p.ok(200, "POST", p.entry("true")+"/link", object{"patient_id": id})["still_linking"])
	m.send("ignored", "message.received", object{"phone": stranger, "name": "Zoe", "body": "Not hers", "ticket_id": 9})
	p.deleted(id)
	left := p.items("/integrations/inbox")
	require.Len(t, left, 1)
	require.Equal(t, "Zoe", left[0]["name"], "what is another's stays")
	require.Zero(t, p.count(`select count(*) from clinic.linkings where clinic_id = $1`))
	resume()
	p.ok(200, "POST", "/integrations/inbox/"+left[0]["id"].(string)+"/link", object{"patient_id": relative})
	require.Equal(t, []string{"message_received: Not hers"}, p.history(relative))
	m.send("ignored", "ticket.closed", object{"ticket_id": 8, "resolution": "x"})
	require.Empty(t, p.items("/integrations/inbox"), "a ticket of hers that was not linked yet is known as forgotten")
}
