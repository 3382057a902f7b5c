package clinic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest/moduletest"
)

func TestAtOnce(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	m := p.ConnectPeer("messaging")
	post := func(path string, body any) func() answer { return func() answer { return p.Call("POST", path, body) } }
	count := func(after int, kind string) (n int) {
		for _, one := range p.EventTypes(after) {
			if one == kind {
				n++
			}
		}
		return n
	}

	responses := moduletest.Concurrently(moduletest.Repeat(8, post("/patients", object{"name": "Ana", "cpf": CPF}))...)
	require.Equal(t, map[int]int{201: 1, 409: 7}, moduletest.CountStatuses(responses), "one has the tax id")
	require.Equal(t, 1, count(0, "patient.created"))

	id := p.AddPatient(Phone)
	owed := p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 5, "due_date": DateIn(t, 5)})["id"].(string)
	responses = moduletest.Concurrently(append(moduletest.Repeat(6, post("/payments/"+owed+"/pay", object{"method": "pix"})), moduletest.Repeat(2, post("/payments/"+owed+"/cancel", nil))...)...)
	require.Equal(t, 8, moduletest.CountStatuses(responses)[200]+moduletest.CountStatuses(responses)[409], "%v", responses)
	if p.Items("/patients/" + id + "/payments")[0]["status"] == "paid" {
		require.Equal(t, 1, count(0, "payment.received"))
	} else {
		require.Zero(t, count(0, "payment.received"))
	}

	for range 30 {
		p.OK(201, "POST", "/patients/"+id+"/payments", object{"amount": 1, "due_date": DateIn(t, -3)})
	}
	responses = moduletest.Concurrently(moduletest.Repeat(4, post("/payments/run-overdue", nil))...)
	found := 0
	for _, one := range responses {
		require.Equal(t, 200, one.Status, one.Text)
		found += int(one.Body["overdue"].(float64))
	}
	require.Equal(t, 30, found)
	require.Equal(t, 30, count(0, "payment.overdue"), "each once")

	for n := range 5 {
		m.Send("ignored", "message.received", object{"phone": fmt.Sprintf("+552199990000%d", n), "body": "Hi", "ticket_id": n + 100})
		entry := "/integrations/inbox/" + p.Items("/integrations/inbox")[0]["id"].(string)
		responses = moduletest.Concurrently(post(entry+"/link", object{"patient_id": id}), post(entry+"/dismiss", nil))
		require.Equal(t, map[int]int{200: 1, 409: 1}, moduletest.CountStatuses(responses), "%v", responses)
	}

	responses = moduletest.Concurrently(moduletest.Repeat(8, post("/patients/"+id+"/deletion-request", nil))...)
	require.Equal(t, map[int]int{202: 8}, moduletest.CountStatuses(responses), "%v", responses)
	for _, one := range responses {
		require.Equal(t, responses[0].Body["id"], one.Body["id"])
	}
	require.Equal(t, 1, count(0, "patient.deleted"))
}

// Everything that can happen to a patient while they are forgotten, and to a relative:
// each request has an answer that is no failure of ours, and afterwards nothing is left.
func TestForgettingAmidTheRest(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	m, s := p.ConnectPeer("messaging"), p.ConnectPeer("scheduling")
	post := func(path string, body any) func() answer { return func() answer { return p.Call("POST", path, body) } }
	when := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	for round := range 12 {
		number, other := fmt.Sprintf("+5511966660%03d", round), fmt.Sprintf("+5521966660%03d", round)
		id := p.OK(201, "POST", "/patients", object{"name": "Zuleica", "phone": number})["id"].(string)
		relative := p.OK(201, "POST", "/patients", object{"name": "Bia", "phone": number})["id"].(string)
		path, booking, ticket := "/patients/"+id, fmt.Sprintf("a-%d", round), 1000+round
		booked := object{"appointment_id": booking, "client_phone": number, "client_name": "Zuleica", "service": "Check", "datetime": when}
		s.Send("accepted", "appointment.created", booked)
		appointment := p.Items(path + "/appointments")[0]["id"].(string)
		payment := p.OK(201, "POST", path+"/payments", object{"amount": 5, "due_date": DateIn(t, -1)})["id"].(string)
		m.Send("ignored", "message.received", object{"phone": other, "name": "Zuleica", "body": "Hi", "ticket_id": ticket})
		m.Send("ignored", "contact.created", object{"phone": other, "name": "Zuleica"})
		entries := p.Items("/integrations/inbox")
		link := func(n int, patient string) func() answer {
			return post("/integrations/inbox/"+entries[n]["id"].(string)+"/link", object{"patient_id": patient})
		}
		event := func(from *Peer, kind string, data object) func() answer {
			return func() answer { return from.Deliver(hub.NewEventID(), kind, data) }
		}
		responses := moduletest.Concurrently(
			post(path+"/deletion-request", nil), link(0, id), link(1, relative), link(1, id),
			event(m, "message.received", object{"phone": number, "name": "Zuleica", "body": "x", "ticket_id": ticket}),
			event(m, "ticket.closed", object{"ticket_id": ticket, "resolution": "x"}),
			event(s, "appointment.created", booked), event(s, "appointment.cancelled", object{"appointment_id": booking, "reason": "x"}),
			event(s, "appointment.noshow", object{"appointment_id": booking, "client_phone": number}),
			func() answer {
				return p.Call("PUT", "/appointments/"+appointment, object{"status": "confirmed", "reason": "x"})
			},
			func() answer { return p.Call("PUT", path, object{"name": "Zuleica Lima", "phone": other}) },
			post("/payments/"+payment+"/pay", nil), post("/payments/run-overdue", nil),
			post(path+"/interactions", object{"interaction_type": "call", "summary": "x"}), post(path+"/records", object{"date": "2026-03-02", "type": "x"}),
			post("/patients/"+relative+"/deletion-request", nil),
		)
		for i, one := range responses {
			require.Less(t, one.Status, 500, "%d: %s", i, one.Text)
			require.NotZero(t, one.Status)
		}
		require.Equal(t, 202, responses[0].Status, responses[0].Text)
		require.Equal(t, "anonymized", p.Get(path)["status"])
		for _, entry := range p.Items("/integrations/inbox") { // what came too late waits for somebody to look at it
			p.OK(200, "POST", "/integrations/inbox/"+entry["id"].(string)+"/dismiss", nil)
		}
	}
	require.Zero(t, p.QueryInt(`select count(*) from clinic.interactions i join clinic.patients p on p.id = i.patient_id where i.clinic_id = $1 and p.status = 'anonymized' and summary <> ''`))
	require.Zero(t, p.QueryInt(`select count(*) from clinic.linked_phones l join clinic.patients p on p.id = l.patient_id where l.clinic_id = $1 and p.status = 'anonymized'`))
}

// A number that hundreds wait from is linked, dismissed, heard of and forgotten at once:
// nobody waits in a circle, and each event is on one history once or in the inbox.
func TestLinkingAmidTheRest(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	m, s := p.ConnectPeer("messaging"), p.ConnectPeer("scheduling")
	for round := range 4 {
		number := fmt.Sprintf("+5511955550%03d", round)
		id, other := p.AddPatient(fmt.Sprintf("+5511944440%03d", round)), p.AddPatient(fmt.Sprintf("+5511933330%03d", round))
		p.AddWaitingEvents(number, messages(450, number)...)
		entries := p.Items("/integrations/inbox?per_page=20")
		call := func(n int, what string, body any) func() answer {
			return func() answer { return p.Call("POST", "/integrations/inbox/"+entries[n]["id"].(string)+what, body) }
		}
		var calls []func() answer
		for n := range 4 {
			calls = append(calls, call(n, "/link", object{"patient_id": id}), call(4+n, "/link", object{"patient_id": other}), call(n, "/dismiss", nil), call(8+n, "/dismiss", nil),
				func() answer {
					return m.Deliver(hub.NewEventID(), "message.received", object{"phone": number, "body": "New", "ticket_id": 10*round + n}) // a ticket tells whose its messages are as well
				},
				func() answer {
					return s.Deliver(hub.NewEventID(), "appointment.cancelled", object{"appointment_id": fmt.Sprintf("r-%d-%d", round, n), "client_phone": number})
				})
		}
		if round%2 == 1 {
			calls = append(calls, func() answer { return p.Call("POST", "/patients/"+id+"/deletion-request", nil) })
		}
		responses := moduletest.Concurrently(calls...)
		for i, one := range responses {
			require.NotZero(t, one.Status)
			require.Less(t, one.Status, 500, "%d: %s", i, one.Text)
		}
		p.WaitForLinking()
		if round%2 == 0 {
			require.Equal(t, 450+8, p.QueryInt(`select count(*) from clinic.inbox where clinic_id = $1`)+
				p.QueryInt(`select count(*) from clinic.interactions i where clinic_id = $1 and not exists (select from clinic.inbox b where b.clinic_id = i.clinic_id and b.event_id = i.source_id)`), "nothing is lost")
			require.Equal(t, 1, p.QueryInt(`select count(distinct patient_id) from clinic.interactions where clinic_id = $1`), "one of them has the number")
		}
		require.Zero(t, p.QueryInt(`select count(*) from clinic.inbox b where clinic_id = $1 and (meant_for is not null
			or (status = 'open') = exists (select from clinic.interactions i where i.clinic_id = b.clinic_id and i.source_id = b.event_id) and status <> 'dismissed')`))
		require.Zero(t, p.QueryInt(`select count(*) from clinic.interactions i join clinic.patients p on p.id = i.patient_id where i.clinic_id = $1 and p.status = 'anonymized' and summary <> ''`))
		p.Exec(`delete from clinic.inbox where clinic_id = $1`)
		p.Exec(`delete from clinic.interactions where clinic_id = $1`)
	}
}

// An import takes the patients of a batch by their ids, in whatever order the file has
// them: while it waits for the first, it holds none of the others.
func TestImportsLockPatientsInOrder(t *testing.T) {
	t.Parallel()
	p := NewClinic(t)
	first := p.OK(201, "POST", "/patients", object{"name": "Ana", "cpf": CPF})["id"].(string)
	last := p.OK(201, "POST", "/patients", object{"name": "Gil", "cpf": "529.982.247-25"})["id"].(string)
	require.Less(t, first, last)
	tx, err := p.Hub.Host.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	const lock = `select from clinic.patients where id = $1 for update`
	_, err = tx.Exec(t.Context(), lock, first)
	require.NoError(t, err)
	made := p.UploadImport("csv", "nome;cpf\nGil Lima;529.982.247-25\nAna Lima;"+CPF+"\n")
	require.Equal(t, 202, made.Status, made.Text)
	require.Eventually(t, func() bool {
		return p.QueryInt("select count(*) from pg_stat_activity where $1::uuid is not null and datname = current_database() and wait_event_type = 'Lock' and query like '%from clinic.patients%for update%'") == 1
	}, Timeout, Tick)
	_, err = tx.Exec(t.Context(), lock+" nowait", last)
	require.NoError(t, err, "the import has the other one")
	require.NoError(t, tx.Rollback(t.Context()))
	RequireImportCounts(t, p.WaitForImport(made.Body["id"].(string)), 0, 2, 0, 0)
}
