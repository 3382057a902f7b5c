package scheduling_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

// mails waits until as many mails were sent to an address as there should be, and
// gives their subjects, oldest first, and the newest text.
func (s *studio) mails(to string, n int) (subjects []string, text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var page struct {
			Items []struct{ Subject, Text string }
		}
		s.hub.CallAPI("GET", "/api/v1/dev/mail?to="+url.QueryEscape(to), nil, &page)
		subjects = nil
		for i, one := range page.Items {
			if i == 0 {
				text = one.Text
			}
			subjects = append([]string{one.Subject}, subjects...)
		}
		return len(subjects) >= n
	}, 30*time.Second, 50*time.Millisecond, "%d mails to %s", n, to)
	require.Len(s.t, subjects, n)
	return subjects, text
}

// settled waits until no letter is to be written any more.
func (s *studio) settled() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.count("hub.jobs where product = 'scheduling' and key is null and due_at <= $1 and not repeats", s.hub.Clock.Now()) == 0
	}, 30*time.Second, 50*time.Millisecond)
}

const monday9 = "segunda-feira, 2 de março de 2026 às 09:00"

func TestClientsAndOrganizationsAreToldByMail(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/organization", object{"email": "studio@example.com", "address": "Rua A, 1"})
	p.ok(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com", "boss@example.com"}})
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	subjects, text := p.mails("gil@example.com", 1)
	require.Equal(t, "Recebemos seu agendamento: Cut, "+monday9, subjects[0])
	require.Contains(t, text, made["cancel_url"])
	require.Contains(t, text, "Rua A, 1")
	require.Contains(t, text, "Cut, com Ana")
	for _, to := range []string{"desk@example.com", "boss@example.com"} {
		subjects, text = p.mails(to, 1)
		require.Equal(t, "Novo agendamento: Gil, "+monday9, subjects[0])
		require.NotContains(t, text, "cancel?token", "the client's link is the client's")
	}
	var html, attachment, from, replyTo string
	require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select html, convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8'), from_name, reply_to
		from hub.mails where recipient = 'gil@example.com'`).Scan(&html, &attachment, &from, &replyTo))
	require.Contains(t, html, "<a href=")
	require.Contains(t, attachment, "METHOD:REQUEST")
	require.Contains(t, attachment, "SEQUENCE:0")
	require.Equal(t, "Studio", from)
	require.Equal(t, "studio@example.com", replyTo)

	id := made["appointment_id"].(string)
	p.do(200, "confirm", id, nil)
	subjects, _ = p.mails("gil@example.com", 2)
	require.Equal(t, "Agendamento confirmado: Cut, "+monday9, subjects[1])
	p.do(200, "confirm", id, nil)
	p.do(200, "reschedule", id, object{"start_at": p.at(time.Hour)})
	subjects, text = p.mails("gil@example.com", 3)
	require.Contains(t, subjects[2], "Agendamento remarcado: Cut")
	require.Contains(t, text, "O seu agendamento de "+monday9)
	require.Contains(t, text, "às 10:00")
	p.do(200, "reschedule", id, object{"start_at": p.at(2 * time.Hour), "notify_client": false})
	g.ok(200, "POST", p.public("/reschedule"), object{"cancel_token": made["cancel_token"], "start_at": p.at(0)})
	p.mails("gil@example.com", 4)
	subjects, _ = p.mails("desk@example.com", 2)
	require.Contains(t, subjects[1], "Agendamento remarcado: Gil", "what staff does themselves they know")
	g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"], "reason": "Chuva"})
	subjects, text = p.mails("gil@example.com", 5)
	require.Equal(t, "Agendamento cancelado: Cut, "+monday9, subjects[4])
	require.Contains(t, text, "Motivo: Chuva")
	p.mails("desk@example.com", 3)
	require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8')
		from hub.mails where recipient = 'gil@example.com' order by id desc limit 1`).Scan(&attachment))
	require.Contains(t, attachment, "METHOD:CANCEL")
	g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": made["cancel_token"]})
	p.settled()
	p.mails("gil@example.com", 5)
	require.Contains(t, attachment, "UID:"+id+"@")
}

func TestLettersAreInTheOrganizationsLanguage(t *testing.T) {
	t.Parallel()
	p := deposits(t)
	g := p.guest()
	for i, one := range []struct{ locale, subject string }{
		{"pt-BR", "Pague o sinal para garantir o horário: Cut"}, {"en-US", "Pay the deposit to keep your time: Cut"}, {"es", "Paga la seña para asegurar tu hora: Cut"},
	} {
		p.ok(200, "PUT", "/organization", object{"locale": one.locale})
		wish := p.wish(time.Duration(i) * time.Hour)
		wish["client_email"], wish["client_phone"] = one.locale+"@example.com", "+551191111000"+strconv.Itoa(i)
		made := g.ok(201, "POST", p.public("/appointments"), wish)
		subjects, text := p.mails(one.locale+"@example.com", 1)
		require.Contains(t, subjects[0], one.subject)
		require.Contains(t, text, made["deposit"].(object)["pix_copy_paste"], "the code to pay it")
	}
	p.ok(200, "PUT", "/organization", object{"locale": "en"})
	p.ok(201, "POST", "/users", object{"name": "Edu", "email": "edu@example.com"})
	subjects, text := p.mails("edu@example.com", 1)
	require.Equal(t, "Your account at Studio", subjects[0])
	require.Contains(t, text, "Hello Edu,\n\nAn account was made for you at Studio. ")
	var from, form string
	require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select from_name, html from hub.mails where recipient = 'edu@example.com'`).Scan(&from, &form))
	require.Equal(t, "Studio", from)
	require.Contains(t, form, `<html lang="en">`)
	require.Contains(t, text, "/reset-password?token=")
	p.guest().ok(200, "POST", "/auth/forgot-password", object{"email": p.email})
	subjects, _ = p.mails(p.email, 4) // the owner is told of the three bookings
	require.Equal(t, "Set a new password", subjects[3])
}

// What is rolled back is not told of.
func TestLettersStandOrFallWithTheChange(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.hub.FailPublishing.Store(true)
	require.Equal(t, 500, p.guest().call("POST", p.public("/appointments"), p.wish(0)).status)
	p.hub.FailPublishing.Store(false)
	require.Zero(t, p.count("hub.jobs where product = 'scheduling' and job = 'letters'"))
}

func TestReminders(t *testing.T) {
	t.Parallel()
	p := opened(t)
	made := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	id := made["appointment_id"].(string)
	p.mails("gil@example.com", 1)
	require.Equal(t, 2, p.count("scheduling.reminders where appointment_id = $1", id))
	p.hub.Clock.Advance(48*time.Hour - time.Second)
	p.work("reminders")
	p.mails("gil@example.com", 1)
	p.hub.Clock.Advance(time.Second)
	var done sync.WaitGroup
	for range 10 { // however many look for them
		done.Go(func() { p.work("reminders") })
	}
	done.Wait()
	subjects, text := p.mails("gil@example.com", 2)
	require.Equal(t, "Lembrete: Cut, "+monday9, subjects[1])
	require.Contains(t, text, made["cancel_url"])
	events := p.hub.Events(p.org)
	require.Len(t, events, 2)
	require.Equal(t, "appointment.reminded", events[1].Type)
	require.Equal(t, object{"appointment_id": id, "client_phone": "+5511987650000"}, events[1].Data)
	p.hub.Clock.Advance(22 * time.Hour)
	p.work("reminders")
	p.work("reminders")
	p.mails("gil@example.com", 3)
	require.Len(t, p.hub.Events(p.org), 3)
}

// A moved appointment is reminded of at its new time only, a cancelled one not at all.
func TestRemindersFollowTheAppointment(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	moved := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	other := p.wish(time.Hour)
	other["client_email"], other["client_phone"] = "eva@example.com", "+5511911112222"
	cancelled := g.ok(201, "POST", p.public("/appointments"), other)
	p.mails("eva@example.com", 1)
	g.ok(200, "POST", p.public("/reschedule"), object{"cancel_token": moved["cancel_token"], "start_at": p.at(24 * time.Hour)})
	g.ok(200, "POST", p.public("/cancel"), object{"cancel_token": cancelled["cancel_token"]})
	p.mails("gil@example.com", 2)
	p.mails("eva@example.com", 2)
	p.hub.Clock.Advance(48 * time.Hour)
	p.work("reminders")
	p.mails("gil@example.com", 2)
	p.hub.Clock.Advance(24 * time.Hour)
	p.work("reminders")
	subjects, _ := p.mails("gil@example.com", 3)
	require.Contains(t, subjects[2], "terça-feira, 3 de março")
	p.mails("eva@example.com", 2)
	// One whose row is older than the move is stale, whatever left it there.
	p.exec(`insert into scheduling.reminders (org_id, appointment_id, offset_minutes, channel, due_at) values ($1, $2, 60, 'email', $3)`, p.org, moved["appointment_id"], p.hub.Clock.Now())
	p.work("reminders")
	p.mails("gil@example.com", 3)
	require.Zero(t, p.count("scheduling.reminders where appointment_id = $1 and offset_minutes = 60", moved["appointment_id"]))
}

// After an outage only the nearest reminder goes out, and none once it has begun.
func TestRemindersThatAreLate(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	p.mails("gil@example.com", 1)
	p.hub.FailPublishing.Store(true)
	p.later(71 * time.Hour)
	p.work("reminders")
	p.mails("gil@example.com", 1)
	require.Equal(t, 1, p.count("scheduling.reminders where org_id = $1 and sent_at is null", p.org), "without its event there is no reminder")
	p.hub.FailPublishing.Store(false)
	p.work("reminders")
	p.mails("gil@example.com", 2)
	require.Zero(t, p.count("scheduling.reminders where org_id = $1 and sent_at is null", p.org))
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, types(p))
	p.ok(200, "PUT", "/organization/settings", object{"reminder_offsets_minutes": []int{10}})
	p.guest().ok(201, "POST", p.public("/appointments"), p.wish(2*time.Hour))
	p.mails("gil@example.com", 3)
	p.hub.Clock.Advance(4 * time.Hour)
	p.work("reminders")
	p.mails("gil@example.com", 3)
	require.Equal(t, 1, p.count("scheduling.reminders where org_id = $1", p.org))
}

// messenger stands for the messaging product that an organization is connected to.
type messenger struct {
	module.Peers
	mu    sync.Mutex
	uses  []string // of the connection; nil: reminders
	sent  []map[string]string
	fails []error
}

// List implements module.Peers.
func (m *messenger) List(_ context.Context, tenant uuid.UUID, _ hub.Environment) ([]module.Integration, error) {
	uses := m.uses
	if uses == nil {
		uses = []string{"reminders"}
	}
	return []module.Integration{
		{ID: uuid.New(), TenantID: tenant, Product: "clinic", Status: "active", EnabledUses: uses},
		{ID: uuid.New(), TenantID: tenant, Product: "messaging", Status: "active", EnabledUses: uses},
	}, nil
}

// Call implements module.Peers.
func (m *messenger) Call(_ context.Context, _ uuid.UUID, call hub.Call) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var message map[string]string
	if err := json.Unmarshal(call.Body, &message); err != nil || call.Name != "action/send-message" {
		return nil, errors.New("an unexpected call")
	}
	m.sent = append(m.sent, message)
	if len(m.fails) > 0 {
		err := m.fails[0]
		m.fails = m.fails[1:]
		return nil, err
	}
	return json.RawMessage(`{"id":"m-1"}`), nil
}

func (m *messenger) messages() []map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent
}

func TestRemindersByMessage(t *testing.T) {
	t.Parallel()
	limited := hub.Errorf(hub.ErrPeer, hub.CodePeerRateLimited, "too many")
	refused := hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "away").WithCause(&net.OpError{Op: "dial", Err: io.EOF})
	silent := hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent")
	m := &messenger{}
	p := lending(t, func(host *module.Host) { host.Peers = m })
	p.ok(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	id := p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))["appointment_id"].(string)
	p.hub.Clock.Advance(48 * time.Hour)
	m.fails = []error{limited, refused}
	var done sync.WaitGroup
	for range 10 {
		done.Go(func() { p.work("reminders") })
	}
	done.Wait()
	require.Len(t, m.messages(), 1, "claimed by one")
	require.Equal(t, []string{"appointment.created"}, types(p), "it surely was not sent")
	p.hub.Clock.Advance(time.Minute)
	p.work("reminders")
	p.hub.Clock.Advance(time.Minute)
	p.work("reminders")
	require.Len(t, m.messages(), 3)
	require.Equal(t, "5511987650000", m.messages()[2]["number"])
	require.Contains(t, m.messages()[2]["body"], "Olá, Gil! Lembrete de Studio: Cut, "+monday9)
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, types(p))
	p.hub.Clock.Advance(time.Hour)
	p.work("reminders")
	require.Len(t, m.messages(), 3, "never twice")
	require.Equal(t, 1, p.count("scheduling.reminders where appointment_id = $1 and sent_at is not null", id))

	// Nobody knows whether it arrived: it is not sent again.
	next := p.wish(24 * time.Hour)
	second := p.guest().ok(201, "POST", p.public("/appointments"), next)["appointment_id"].(string)
	m.fails = []error{silent}
	p.hub.Clock.Advance(24 * time.Hour)
	p.work("reminders")
	p.hub.Clock.Advance(time.Hour)
	p.work("reminders")
	require.Len(t, m.messages(), 4)
	require.Zero(t, p.count("scheduling.reminders where appointment_id = $1", second))
	require.Equal(t, []string{"appointment.created", "appointment.reminded", "appointment.created"}, types(p))
}

// A process that died while a message was being sent leaves a claim, and nobody knows
// whether it arrived.
func TestAClaimedReminderIsNotSentAgain(t *testing.T) {
	t.Parallel()
	m := &messenger{}
	p := lending(t, func(host *module.Host) { host.Peers = m })
	p.ok(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	p.guest().ok(201, "POST", p.public("/appointments"), p.wish(0))
	p.exec(`update scheduling.reminders set claimed_at = due_at, retry_at = due_at + interval '5 minutes', attempts = 1 where org_id = $1`, p.org)
	p.hub.Clock.Advance(49 * time.Hour)
	p.work("reminders")
	require.Empty(t, m.messages())
	require.Zero(t, p.count("scheduling.reminders where org_id = $1", p.org))
}

func TestCalendars(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	made := g.ok(201, "POST", p.public("/appointments"), p.wish(0))
	got := g.call("GET", p.public("/appointment.ics?token="+made["cancel_token"].(string)), nil)
	require.Equal(t, 200, got.status, got.text)
	require.Equal(t, "text/calendar; charset=utf-8; method=PUBLISH", got.header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="`+p.slug+`.ics"`, got.header.Get("Content-Disposition"))
	require.Contains(t, got.text, "DTSTART;TZID=America/Sao_Paulo:20260302T090000")
	require.Contains(t, got.text, "SUMMARY:Cut · Studio")
	require.Contains(t, got.text, "UID:"+made["appointment_id"].(string)+"@")
	g.refused(404, "invalid_token", "GET", p.public("/appointment.ics?token=x"), nil)

	feed := p.list("/professionals")[0]["calendar_feed_url"].(string)
	read := func(address string) (int, string) {
		res, err := client.Get(address)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	status, text := read(feed)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "X-WR-CALNAME:Ana · Studio")
	require.Contains(t, text, "SUMMARY:Gil · Cut")
	require.Contains(t, text, "STATUS:CONFIRMED")
	require.NotContains(t, text, "cancel?token", "the client's link is the client's")
	p.do(200, "cancel", made["appointment_id"].(string), object{})
	_, text = read(feed)
	require.Contains(t, text, "STATUS:CANCELLED")
	status, _ = read(strings.Replace(feed, ".ics", "x.ics", 1))
	require.Equal(t, http.StatusNotFound, status)
	status, _ = read(strings.Replace(feed, p.professional, uuid.NewString(), 1))
	require.Equal(t, http.StatusNotFound, status)
	fresh := p.ok(200, "POST", "/professionals/"+p.professional+"/calendar-feed/rotate", nil)["calendar_feed_url"].(string)
	status, _ = read(feed)
	require.Equal(t, http.StatusNotFound, status, "the old address has ended")
	status, _ = read(fresh)
	require.Equal(t, http.StatusOK, status)
}
