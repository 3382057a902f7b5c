package notify_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

func TestReminders(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	made := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	id := made["appointment_id"].(string)
	p.WaitForEmails("gil@example.com", 1)
	require.Equal(t, 2, p.Count("scheduling.reminders where appointment_id = $1", id))
	p.Hub.Clock.Advance(48*time.Hour - time.Second)
	p.RunJob("reminders")
	p.WaitForEmails("gil@example.com", 1)
	p.Hub.Clock.Advance(time.Second)
	var done sync.WaitGroup
	for range 10 { // however many look for them
		done.Go(func() { p.RunJob("reminders") })
	}
	done.Wait()
	subjects, text := p.WaitForEmails("gil@example.com", 2)
	require.Equal(t, "Lembrete: Cut, "+monday9, subjects[1])
	require.Contains(t, text, made["cancel_url"])
	events := p.Hub.Events(p.ID)
	require.Len(t, events, 2)
	require.Equal(t, "appointment.reminded", events[1].Type)
	require.Equal(t, object{"appointment_id": id, "client_phone": "+5511987650000"}, events[1].Data)
	p.Hub.Clock.Advance(22 * time.Hour)
	p.RunJob("reminders")
	p.RunJob("reminders")
	p.WaitForEmails("gil@example.com", 3)
	require.Len(t, p.Hub.Events(p.ID), 3)
}

// A moved appointment is reminded of at its new time only, a cancelled one not at all.
func TestRemindersFollowTheAppointment(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	g := p.Guest()
	moved := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	other := p.BookingBody(time.Hour)
	other["client_email"], other["client_phone"] = "eva@example.com", "+5511911112222"
	cancelled := g.OK(201, "POST", p.PublicPath("/appointments"), other)
	p.WaitForEmails("eva@example.com", 1)
	g.OK(200, "POST", p.PublicPath("/reschedule"), object{"cancel_token": moved["cancel_token"], "start_at": p.At(24 * time.Hour)})
	g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": cancelled["cancel_token"]})
	p.WaitForEmails("gil@example.com", 2)
	p.WaitForEmails("eva@example.com", 2)
	p.Hub.Clock.Advance(48 * time.Hour)
	p.RunJob("reminders")
	p.WaitForEmails("gil@example.com", 2)
	p.Hub.Clock.Advance(24 * time.Hour)
	p.RunJob("reminders")
	subjects, _ := p.WaitForEmails("gil@example.com", 3)
	require.Contains(t, subjects[2], "terça-feira, 3 de março")
	p.WaitForEmails("eva@example.com", 2)
	// One whose row is older than the move is stale, whatever left it there.
	p.Exec(`insert into scheduling.reminders (org_id, appointment_id, offset_minutes, channel, due_at) values ($1, $2, 60, 'email', $3)`, p.ID, moved["appointment_id"], p.Hub.Clock.Now())
	p.RunJob("reminders")
	p.WaitForEmails("gil@example.com", 3)
	require.Zero(t, p.Count("scheduling.reminders where appointment_id = $1 and offset_minutes = 60", moved["appointment_id"]))
}

// After an outage only the nearest reminder goes out, and none once it has begun.
func TestRemindersThatAreLate(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	p.WaitForEmails("gil@example.com", 1)
	p.Hub.FailPublishing.Store(true)
	p.AdvanceClock(71 * time.Hour)
	p.RunJob("reminders")
	p.WaitForEmails("gil@example.com", 1)
	require.Equal(t, 1, p.Count("scheduling.reminders where org_id = $1 and sent_at is null", p.ID), "without its event there is no reminder")
	p.Hub.FailPublishing.Store(false)
	p.RunJob("reminders")
	p.WaitForEmails("gil@example.com", 2)
	require.Zero(t, p.Count("scheduling.reminders where org_id = $1 and sent_at is null", p.ID))
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, p.EventTypes())
	p.OK(200, "PUT", "/organization/settings", object{"reminder_offsets_minutes": []int{10}})
	p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(2*time.Hour))
	p.WaitForEmails("gil@example.com", 3)
	p.Hub.Clock.Advance(4 * time.Hour)
	p.RunJob("reminders")
	p.WaitForEmails("gil@example.com", 3)
	require.Equal(t, 1, p.Count("scheduling.reminders where org_id = $1", p.ID))
}

func TestRemindersByMessage(t *testing.T) {
	t.Parallel()
	limited := hub.Errorf(hub.ErrPeer, hub.CodePeerRateLimited, "too many")
	refused := hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "away").WithCause(&net.OpError{Op: "dial", Err: io.EOF})
	silent := hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent")
	m := &messenger{}
	p := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	p.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	id := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))["appointment_id"].(string)
	p.Hub.Clock.Advance(48 * time.Hour)
	m.fails = []error{limited, refused}
	var done sync.WaitGroup
	for range 10 {
		done.Go(func() { p.RunJob("reminders") })
	}
	done.Wait()
	require.Len(t, m.messages(), 1, "claimed by one")
	require.Equal(t, []string{"appointment.created"}, p.EventTypes(), "it surely was not sent")
	p.Hub.Clock.Advance(time.Minute)
	p.RunJob("reminders")
	p.Hub.Clock.Advance(time.Minute)
	p.RunJob("reminders")
	require.Len(t, m.messages(), 3)
	require.Equal(t, "5511987650000", m.messages()[2]["number"])
	require.Contains(t, m.messages()[2]["body"], "Olá, Gil! Lembrete de Studio: Cut, "+monday9)
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, p.EventTypes())
	p.Hub.Clock.Advance(time.Hour)
	p.RunJob("reminders")
	require.Len(t, m.messages(), 3, "never twice")
	require.Equal(t, 1, p.Count("scheduling.reminders where appointment_id = $1 and sent_at is not null", id))

	// Nobody knows whether it arrived: it is not sent again.
	next := p.BookingBody(24 * time.Hour)
	second := p.Guest().OK(201, "POST", p.PublicPath("/appointments"), next)["appointment_id"].(string)
	m.fails = []error{silent}
	p.Hub.Clock.Advance(24 * time.Hour)
	p.RunJob("reminders")
	p.Hub.Clock.Advance(time.Hour)
	p.RunJob("reminders")
	require.Len(t, m.messages(), 4)
	require.Zero(t, p.Count("scheduling.reminders where appointment_id = $1", second))
	require.Equal(t, []string{"appointment.created", "appointment.reminded", "appointment.created"}, p.EventTypes())
}

// A process that died while a message was being sent leaves a claim, and nobody knows
// whether it arrived.
func TestAClaimedReminderIsNotSentAgain(t *testing.T) {
	t.Parallel()
	m := &messenger{}
	p := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	p.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	p.Guest().OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	p.Exec(`update scheduling.reminders set claimed_at = due_at, retry_at = due_at + interval '5 minutes', attempts = 1 where org_id = $1`, p.ID)
	p.Hub.Clock.Advance(49 * time.Hour)
	p.RunJob("reminders")
	require.Empty(t, m.messages())
	require.Zero(t, p.Count("scheduling.reminders where org_id = $1", p.ID))
}
