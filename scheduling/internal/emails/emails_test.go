package emails_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/emails"
)

func facts(t *testing.T) emails.Data {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	return emails.Data{
		Business: "Studio <b>", Address: "Rua A, 1", Phone: "+55 11 4000-0000", Client: "Gil", Service: "Corte", Professional: "Ana",
		Start: time.Date(2026, 3, 2, 9, 0, 0, 0, zone), PreviousStart: time.Date(2026, 3, 3, 14, 30, 0, 0, zone), DepositDeadline: time.Date(2026, 2, 27, 9, 30, 0, 0, zone),
		Amount: "R$ 20,00", PixCode: "000201pix", Reason: "Chuva & vento", Link: "https://app.example.com/book/studio/cancel?token=a&b=c",
	}
}

var kinds = []emails.Kind{
	emails.Received, emails.Confirmed, emails.Deposit, emails.Cancelled, emails.Rescheduled, emails.Reminder, emails.ReminderMessage, emails.Waitlist,
	emails.StaffBooked, emails.StaffCancelled, emails.StaffRescheduled, emails.AmbiguousErasure, emails.Campaign, emails.CampaignMessage,
}

// Every letter exists in every language, says something else in each, and leaves out
// what is not known.
func TestEveryEmailInEveryLanguage(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		seen := map[string]string{}
		for _, locale := range []string{"pt-BR", "en", "es"} {
			full, err := emails.Render(kind, locale, facts(t))
			require.NoError(t, err, "%s %s", kind, locale)
			require.Equal(t, kind == emails.ReminderMessage || kind == emails.CampaignMessage, full.Subject == "")
			require.Empty(t, seen[full.Text], "%s in %s is the same as in %s", kind, locale, seen[full.Text])
			seen[full.Text] = locale
			require.NotContains(t, full.Text, "\n\n\n")
			require.Contains(t, full.HTML, `<html lang="`+locale[:2]+`">`)
			require.NotContains(t, full.HTML, "<b>", "what people typed is text")
			bare, err := emails.Render(kind, locale, emails.Data{Business: "S", Service: "C"})
			require.NoError(t, err)
			for _, odd := range []string{"<nil>", "<no value>", "0001", "()", "\n\n\n"} {
				require.NotContains(t, bare.Subject+bare.Text, odd, "%s %s", kind, locale)
			}
		}
	}
}

func TestEmailContent(t *testing.T) {
	t.Parallel()
	email, err := emails.Render(emails.Deposit, "pt-BR", facts(t))
	require.NoError(t, err)
	require.Equal(t, "Pague o sinal para garantir o horário: Corte, segunda-feira, 2 de março de 2026 às 09:00", email.Subject)
	for _, part := range []string{"Olá, Gil!", "até sexta-feira, 27 de fevereiro de 2026 às 09:30", "R$ 20,00", "000201pix", "Corte, com Ana\n", "Rua A, 1", "cancel?token=a&b=c"} {
		require.Contains(t, email.Text, part)
	}
	require.Contains(t, email.HTML, `<a href="https://app.example.com/book/studio/cancel?token=a&amp;b=c">`)
	f := facts(t)
	f.TwelveHours = true
	email, err = emails.Render(emails.Rescheduled, "en-US", f)
	require.NoError(t, err)
	require.Equal(t, "Booking moved: Corte, Monday, March 2, 2026 at 9:00 AM", email.Subject)
	require.Contains(t, email.Text, "Tuesday, March 3, 2026 at 2:30 PM")
	email, err = emails.Render(emails.Cancelled, "es-AR", facts(t))
	require.NoError(t, err)
	require.Contains(t, email.Text, "Motivo: Chuva & vento")
	require.Contains(t, email.Text, "lunes, 2 de marzo de 2026 a las 09:00")
	email, err = emails.Render(emails.ReminderMessage, "pt-BR", facts(t))
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(email.Text), "\n"), 1)
	email, err = emails.Render(emails.Received, "fr", facts(t))
	require.NoError(t, err)
	require.Contains(t, email.Text, "Olá", "Portuguese where there are no words")
	_, err = emails.Render("nonsense", "en", facts(t))
	require.Error(t, err)
}
