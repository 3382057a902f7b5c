package notify_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

const monday9 = "segunda-feira, 2 de março de 2026 às 09:00"

func TestClientsAndOrganizationsAreToldByMail(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.OK(200, "PUT", "/organization", object{"email": "studio@example.com", "address": "Rua A, 1"})
	p.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com", "boss@example.com"}})
	g := p.Guest()
	made := g.OK(201, "POST", p.PublicPath("/appointments"), p.BookingBody(0))
	subjects, text := p.WaitForEmails("gil@example.com", 1)
	require.Equal(t, "Recebemos seu agendamento: Cut, "+monday9, subjects[0])
	require.Contains(t, text, made["cancel_url"])
	require.Contains(t, text, "Rua A, 1")
	require.Contains(t, text, "Cut, com Ana")
	for _, to := range []string{"desk@example.com", "boss@example.com"} {
		subjects, text = p.WaitForEmails(to, 1)
		require.Equal(t, "Novo agendamento: Gil, "+monday9, subjects[0])
		require.NotContains(t, text, "cancel?token", "the client's link is the client's")
	}
	var html, attachment, from, replyTo string
	require.NoError(t, p.Hub.Host.Pool.QueryRow(t.Context(), `select html, convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8'), from_name, reply_to
		from hub.mails where recipient = 'gil@example.com'`).Scan(&html, &attachment, &from, &replyTo))
	require.Contains(t, html, "<a href=")
	require.Contains(t, attachment, "METHOD:REQUEST")
	require.Contains(t, attachment, "SEQUENCE:0")
	require.Equal(t, "Studio", from)
	require.Equal(t, "studio@example.com", replyTo)

	id := made["appointment_id"].(string)
	p.Transition(200, "confirm", id, nil)
	subjects, _ = p.WaitForEmails("gil@example.com", 2)
	require.Equal(t, "Agendamento confirmado: Cut, "+monday9, subjects[1])
	p.Transition(200, "confirm", id, nil)
	p.Transition(200, "reschedule", id, object{"start_at": p.At(time.Hour)})
	subjects, text = p.WaitForEmails("gil@example.com", 3)
	require.Contains(t, subjects[2], "Agendamento remarcado: Cut")
	require.Contains(t, text, "O seu agendamento de "+monday9)
	require.Contains(t, text, "às 10:00")
	p.Transition(200, "reschedule", id, object{"start_at": p.At(2 * time.Hour), "notify_client": false})
	g.OK(200, "POST", p.PublicPath("/reschedule"), object{"cancel_token": made["cancel_token"], "start_at": p.At(0)})
	p.WaitForEmails("gil@example.com", 4)
	subjects, _ = p.WaitForEmails("desk@example.com", 2)
	require.Contains(t, subjects[1], "Agendamento remarcado: Gil", "what staff does themselves they know")
	g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"], "reason": "Chuva"})
	subjects, text = p.WaitForEmails("gil@example.com", 5)
	require.Equal(t, "Agendamento cancelado: Cut, "+monday9, subjects[4])
	require.Contains(t, text, "Motivo: Chuva")
	p.WaitForEmails("desk@example.com", 3)
	require.NoError(t, p.Hub.Host.Pool.QueryRow(t.Context(), `select convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8')
		from hub.mails where recipient = 'gil@example.com' order by id desc limit 1`).Scan(&attachment))
	require.Contains(t, attachment, "METHOD:CANCEL")
	g.OK(200, "POST", p.PublicPath("/cancel"), object{"cancel_token": made["cancel_token"]})
	p.WaitForJobs()
	p.WaitForEmails("gil@example.com", 5)
	require.Contains(t, attachment, "UID:"+id+"@")
}

func TestLettersAreInTheOrganizationsLanguage(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewDepositBookable(t)
	g := p.Guest()
	for i, one := range []struct{ locale, subject string }{
		{"pt-BR", "Pague o sinal para garantir o horário: Cut"}, {"en-US", "Pay the deposit to keep your time: Cut"}, {"es", "Paga la seña para asegurar tu hora: Cut"},
	} {
		p.OK(200, "PUT", "/organization", object{"locale": one.locale})
		wish := p.BookingBody(time.Duration(i) * time.Hour)
		wish["client_email"], wish["client_phone"] = one.locale+"@example.com", "+551191111000"+strconv.Itoa(i)
		made := g.OK(201, "POST", p.PublicPath("/appointments"), wish)
		subjects, text := p.WaitForEmails(one.locale+"@example.com", 1)
		require.Contains(t, subjects[0], one.subject)
		require.Contains(t, text, made["deposit"].(object)["pix_copy_paste"], "the code to pay it")
	}
	p.OK(200, "PUT", "/organization", object{"locale": "en"})
	p.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu@example.com"})
	subjects, text := p.WaitForEmails("edu@example.com", 1)
	require.Equal(t, "Your account at Studio", subjects[0])
	require.Contains(t, text, "Hello Edu,\n\nAn account was made for you at Studio. ")
	var from, form string
	require.NoError(t, p.Hub.Host.Pool.QueryRow(t.Context(), `select from_name, html from hub.mails where recipient = 'edu@example.com'`).Scan(&from, &form))
	require.Equal(t, "Studio", from)
	require.Contains(t, form, `<html lang="en">`)
	require.Contains(t, text, "/reset-password?token=")
	p.Guest().OK(200, "POST", "/auth/forgot-password", object{"email": p.Email})
	subjects, _ = p.WaitForEmails(p.Email, 4) // the owner is told of the three bookings
	require.Equal(t, "Set a new password", subjects[3])
}

// What is rolled back is not told of.
func TestLettersStandOrFallWithTheChange(t *testing.T) {
	t.Parallel()
	p := schedulingtest.NewBookable(t)
	p.Hub.FailPublishing.Store(true)
	require.Equal(t, 500, p.Guest().Call("POST", p.PublicPath("/appointments"), p.BookingBody(0)).Status)
	p.Hub.FailPublishing.Store(false)
	require.Zero(t, p.Count("hub.jobs where product = 'scheduling' and job = 'letters'"))
}
