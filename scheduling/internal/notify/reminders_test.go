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
	org := schedulingtest.NewBookableAlone(t)
	created := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	id := created["appointment_id"].(string)
	org.WaitForEmails("gil@example.com", 1)
	require.Equal(t, 2, org.Count("scheduling.reminders where appointment_id = $1", id))
	org.Hub.Clock.Advance(48*time.Hour - time.Second)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 1)
	org.Hub.Clock.Advance(time.Second)
	var done sync.WaitGroup
	for range 10 { // however many look for them
		done.Go(func() { org.RunJob("reminders") })
	}
	done.Wait()
	subjects, text := org.WaitForEmails("gil@example.com", 2)
	require.Equal(t, "Lembrete: Cut, "+monday9, subjects[1])
	require.Contains(t, text, created["cancel_url"])
	events := org.Hub.Events(org.ID)
	require.Len(t, events, 2)
	require.Equal(t, "appointment.reminded", events[1].Type)
	require.Equal(t, object{"appointment_id": id, "client_phone": "+5511987650000"}, events[1].Data)
	org.Hub.Clock.Advance(22 * time.Hour)
	org.RunJob("reminders")
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 3)
	require.Len(t, org.Hub.Events(org.ID), 3)
}

// A moved appointment is reminded of at its new time only, a cancelled one not at all.
func TestRemindersFollowTheAppointment(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	moved := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	other := org.BookingBody(time.Hour)
	other["client_email"], other["client_phone"] = "eva@example.com", "+5511911112222"
	cancelled := guest.OK(201, "POST", org.PublicPath("/appointments"), other)
	org.WaitForEmails("eva@example.com", 1)
	guest.OK(200, "POST", org.PublicPath("/reschedule"), object{"cancel_token": moved["cancel_token"], "start_at": org.At(24 * time.Hour)})
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": cancelled["cancel_token"]})
	org.WaitForEmails("gil@example.com", 2)
	org.WaitForEmails("eva@example.com", 2)
	org.Hub.Clock.Advance(48 * time.Hour)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 2)
	org.Hub.Clock.Advance(24 * time.Hour)
	org.RunJob("reminders")
	subjects, _ := org.WaitForEmails("gil@example.com", 3)
	require.Contains(t, subjects[2], "terça-feira, 3 de março")
	org.WaitForEmails("eva@example.com", 2)
	// One whose row is older than the move is stale, whatever left it there.
	org.Exec(`insert into scheduling.reminders (org_id, appointment_id, offset_minutes, channel, due_at) values ($1, $2, 60, 'email', $3)`, org.ID, moved["appointment_id"], org.Hub.Clock.Now())
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 3)
	require.Zero(t, org.Count("scheduling.reminders where appointment_id = $1 and offset_minutes = 60", moved["appointment_id"]))
}

// A reminder that was sent for the time before a move is none for the new time.
func TestRemindersAfterALateMove(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization/settings", object{"reminder_offsets_minutes": []int{1440, 120}})
	booked := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.WaitForEmails("gil@example.com", 1)
	org.AdvanceClock(71 * time.Hour)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 2)
	org.OK(200, "PUT", "/appointments/"+booked["appointment_id"].(string), object{"start_at": org.At(7 * 24 * time.Hour)})
	org.WaitForEmails("gil@example.com", 3)
	org.AdvanceClock(6*24*time.Hour + 2*time.Hour)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 4)
}

// After an outage only the nearest reminder goes out, and none once it has begun.
func TestLateReminders(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.WaitForEmails("gil@example.com", 1)
	org.Hub.FailPublishing.Store(true)
	org.AdvanceClock(71 * time.Hour)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 1)
	require.Equal(t, 1, org.Count("scheduling.reminders where org_id = $1 and sent_at is null", org.ID), "without its event there is no reminder")
	org.Hub.FailPublishing.Store(false)
	org.Hub.Clock.Advance(time.Minute)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 2)
	require.Zero(t, org.Count("scheduling.reminders where org_id = $1 and sent_at is null", org.ID))
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, org.EventTypes())
	org.OK(200, "PUT", "/organization/settings", object{"reminder_offsets_minutes": []int{10}})
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(2*time.Hour))
	org.WaitForEmails("gil@example.com", 3)
	org.Hub.Clock.Advance(4 * time.Hour)
	org.RunJob("reminders")
	org.WaitForEmails("gil@example.com", 3)
	require.Equal(t, 1, org.Count("scheduling.reminders where org_id = $1", org.ID))
}

func TestRemindersByMessage(t *testing.T) {
	t.Parallel()
	limited := hub.Errorf(hub.ErrPeer, hub.CodePeerRateLimited, "too many")
	refused := hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "away").WithCause(&net.OpError{Op: "dial", Err: io.EOF})
	silent := hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent")
	m := &messenger{}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	org.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"].(string)
	org.Hub.Clock.Advance(48 * time.Hour)
	m.fails = []error{limited, refused}
	var done sync.WaitGroup
	for range 10 {
		done.Go(func() { org.RunJob("message-reminders") })
	}
	done.Wait()
	require.Len(t, m.messages(), 1, "claimed by one")
	require.Equal(t, []string{"appointment.created"}, org.EventTypes(), "it surely was not sent")
	org.Hub.Clock.Advance(time.Minute)
	org.RunJob("message-reminders")
	org.Hub.Clock.Advance(time.Minute)
	org.RunJob("message-reminders")
	require.Len(t, m.messages(), 3)
	require.Equal(t, "5511987650000", m.messages()[2]["number"])
	require.Equal(t, map[string]string{"id": id, "title": "Cut, " + monday9, "locale": "pt-BR", "until": "2026-03-02T12:00:00Z"}, m.asked[2])
	require.Contains(t, m.messages()[2]["body"], "Olá, Gil! Lembrete de Studio: Cut, "+monday9)
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, org.EventTypes())
	org.Hub.Clock.Advance(time.Hour)
	org.RunJob("message-reminders")
	require.Len(t, m.messages(), 3, "never twice")
	require.Equal(t, 1, org.Count("scheduling.reminders where appointment_id = $1 and sent_at is not null", id))

	// Nobody knows whether it arrived: it is not sent again.
	next := org.BookingBody(24 * time.Hour)
	second := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), next)["appointment_id"].(string)
	m.fails = []error{silent}
	org.Hub.Clock.Advance(24 * time.Hour)
	org.RunJob("message-reminders")
	org.Hub.Clock.Advance(time.Hour)
	org.RunJob("message-reminders")
	require.Len(t, m.messages(), 4)
	require.Zero(t, org.Count("scheduling.reminders where appointment_id = $1", second))
	require.Equal(t, []string{"appointment.created", "appointment.reminded", "appointment.created"}, org.EventTypes())
}

// A messaging product that knows no questions gets the reminder without.
func TestReminderWithoutQuestion(t *testing.T) {
	t.Parallel()
	m := &messenger{fails: []error{hub.Errorf(hub.ErrInvalid, "validation_failed", "unknown member")}}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	org.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.Hub.Clock.Advance(48 * time.Hour)
	org.RunJob("message-reminders")
	require.Len(t, m.messages(), 2)
	require.NotNil(t, m.asked[0])
	require.Nil(t, m.asked[1])
	require.Equal(t, []string{"appointment.created", "appointment.reminded"}, org.EventTypes())
}

// A reminder of an unpaid appointment asks for no answer: its client cannot confirm it yet.
func TestReminderOfAnUnpaidAppointmentAsksNothing(t *testing.T) {
	t.Parallel()
	m := &messenger{}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	org.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	id := org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))["appointment_id"]
	org.Exec(`update scheduling.appointments set deposit_status = 'pending', deposit_cents = 2000, hold_until = start_at where id = $1`, id)
	org.Hub.Clock.Advance(48 * time.Hour)
	org.RunJob("message-reminders")
	require.Len(t, m.messages(), 1)
	require.Nil(t, m.asked[0])
}

// A process that died while a message was being sent leaves a claim, and nobody knows
// whether it arrived.
func TestClaimedReminderIsNotRepeated(t *testing.T) {
	t.Parallel()
	m := &messenger{}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	org.OK(200, "PUT", "/organization/settings", object{"reminder_channels": []string{"whatsapp"}, "reminder_offsets_minutes": []int{1440}})
	org.Guest().OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	org.Exec(`update scheduling.reminders set claimed_at = due_at, retry_at = due_at + interval '5 minutes', attempts = 1 where org_id = $1`, org.ID)
	org.Hub.Clock.Advance(49 * time.Hour)
	org.RunJob("message-reminders")
	require.Empty(t, m.messages())
	require.Zero(t, org.Count("scheduling.reminders where org_id = $1", org.ID))
}
