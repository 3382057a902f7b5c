package notify_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
)

const monday9 = "segunda-feira, 2 de março de 2026 às 09:00"

func TestEmailsToClientsAndOrganizations(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.OK(200, "PUT", "/organization", object{"email": "studio@example.com", "address": "Rua A, 1"})
	org.OK(200, "PUT", "/organization/settings", object{"notify_emails": []string{"desk@example.com", "boss@example.com"}})
	guest := org.Guest()
	created := guest.OK(201, "POST", org.PublicPath("/appointments"), org.BookingBody(0))
	subjects, text := org.WaitForEmails("gil@example.com", 1)
	require.Equal(t, "Recebemos seu agendamento: Cut, "+monday9, subjects[0])
	require.Contains(t, text, created["cancel_url"])
	require.Contains(t, text, "Rua A, 1")
	require.Contains(t, text, "Cut, com Ana")
	for _, to := range []string{"desk@example.com", "boss@example.com"} {
		subjects, text = org.WaitForEmails(to, 1)
		require.Equal(t, "Novo agendamento: Gil, "+monday9, subjects[0])
		require.NotContains(t, text, "cancel?token", "the client's link is the client's")
	}
	var html, attachment, from, replyTo string
	require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select html, convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8'), from_name, reply_to
		from hub.mails where recipient = 'gil@example.com'`).Scan(&html, &attachment, &from, &replyTo))
	require.Contains(t, html, "<a href=")
	require.Contains(t, attachment, "METHOD:REQUEST")
	require.Contains(t, attachment, "SEQUENCE:0")
	require.Equal(t, "Studio", from)
	require.Equal(t, "studio@example.com", replyTo)

	id := created["appointment_id"].(string)
	org.Transition(200, "confirm", id, nil)
	subjects, _ = org.WaitForEmails("gil@example.com", 2)
	require.Equal(t, "Agendamento confirmado: Cut, "+monday9, subjects[1])
	org.Transition(200, "confirm", id, nil)
	org.Transition(200, "reschedule", id, object{"start_at": org.At(time.Hour)})
	subjects, text = org.WaitForEmails("gil@example.com", 3)
	require.Contains(t, subjects[2], "Agendamento remarcado: Cut")
	require.Contains(t, text, "O seu agendamento de "+monday9)
	require.Contains(t, text, "às 10:00")
	org.Transition(200, "reschedule", id, object{"start_at": org.At(2 * time.Hour), "notify_client": false})
	guest.OK(200, "POST", org.PublicPath("/reschedule"), object{"cancel_token": created["cancel_token"], "start_at": org.At(0)})
	org.WaitForEmails("gil@example.com", 4)
	subjects, _ = org.WaitForEmails("desk@example.com", 2)
	require.Contains(t, subjects[1], "Agendamento remarcado: Gil", "what staff does themselves they know")
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"], "reason": "Chuva"})
	subjects, text = org.WaitForEmails("gil@example.com", 5)
	require.Equal(t, "Agendamento cancelado: Cut, "+monday9, subjects[4])
	require.Contains(t, text, "Motivo: Chuva")
	org.WaitForEmails("desk@example.com", 3)
	require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select convert_from(decode(attachments->0->>'Content', 'base64'), 'UTF8')
		from hub.mails where recipient = 'gil@example.com' order by id desc limit 1`).Scan(&attachment))
	require.Contains(t, attachment, "METHOD:CANCEL")
	guest.OK(200, "POST", org.PublicPath("/cancel"), object{"cancel_token": created["cancel_token"]})
	org.WaitForJobs()
	org.WaitForEmails("gil@example.com", 5)
	require.Contains(t, attachment, "UID:"+id+"@")
}

func TestEmailsAreInTheOrganizationsLanguage(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewDepositBookable(t)
	guest := org.Guest()
	for i, test := range []struct{ locale, subject string }{
		{"pt-BR", "Pague o sinal para garantir o horário: Cut"}, {"en-US", "Pay the deposit to keep your time: Cut"}, {"es", "Paga la seña para asegurar tu hora: Cut"},
	} {
		org.OK(200, "PUT", "/organization", object{"locale": test.locale})
		request := org.BookingBody(time.Duration(i) * time.Hour)
		request["client_email"], request["client_phone"] = test.locale+"@example.com", "+551191111000"+strconv.Itoa(i)
		created := guest.OK(201, "POST", org.PublicPath("/appointments"), request)
		subjects, text := org.WaitForEmails(test.locale+"@example.com", 1)
		require.Contains(t, subjects[0], test.subject)
		require.Contains(t, text, created["deposit"].(object)["pix_copy_paste"], "the code to pay it")
	}
	org.OK(200, "PUT", "/organization", object{"locale": "en"})
	org.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu@example.com"})
	subjects, text := org.WaitForEmails("edu@example.com", 1)
	require.Equal(t, "Your account at Studio", subjects[0])
	require.Contains(t, text, "Hello Edu,\n\nAn account was made for you at Studio. ")
	var from, form string
	require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select from_name, html from hub.mails where recipient = 'edu@example.com'`).Scan(&from, &form))
	require.Equal(t, "Studio", from)
	require.Contains(t, form, `<html lang="en">`)
	require.Contains(t, text, "/reset-password?token=")
	org.Guest().OK(200, "POST", "/auth/forgot-password", object{"email": org.Email})
	subjects, _ = org.WaitForEmails(org.Email, 4) // the owner is notified of the three bookings
	require.Equal(t, "Set a new password", subjects[3])
}

// A change that is rolled back sends no e-mail.
func TestEmailsAndChangesAreAtomic(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	org.Hub.FailPublishing.Store(true)
	require.Equal(t, 500, org.Guest().Call("POST", org.PublicPath("/appointments"), org.BookingBody(0)).Status)
	org.Hub.FailPublishing.Store(false)
	require.Zero(t, org.Count("hub.jobs where product = 'scheduling' and job = 'letters'"))
}
