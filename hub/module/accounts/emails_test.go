package accounts_test

import (
	"html"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/accounts"
)

// Emails have the tenant's language and name, as text and as HTML.
func TestEmails(t *testing.T) {
	t.Parallel()
	r := start(t)
	for _, test := range []struct {
		locale, language string
		purpose          accounts.LinkPurpose
		subject, begins  string
	}{
		{"pt-BR", "pt-BR", accounts.PurposeInvite, "Sua conta em Club & Co", "Olá, Zoe <b>!\n\nCriaram uma conta para você em Club & Co. "},
		{"pt-BR", "pt-BR", accounts.PurposeReset, "Defina uma nova senha", "Olá, Zoe <b>!\n\nAlguém, provavelmente você, pediu uma nova senha para a sua conta em Club & Co. "},
		{"en-GB", "en", accounts.PurposeInvite, "Your account at Club & Co", "Hello Zoe <b>,\n\nAn account was made for you at Club & Co. "},
		{"en", "en", accounts.PurposeReset, "Set a new password", "Hello Zoe <b>,\n\nSomebody, probably you, asked for a new password for your account at Club & Co. "},
		{"es", "es", accounts.PurposeInvite, "Tu cuenta en Club & Co", "Hola, Zoe <b>:\n\nCrearon una cuenta para ti en Club & Co. "},
		{"es-AR", "es", accounts.PurposeReset, "Define una nueva contraseña", "Hola, Zoe <b>:\n\nAlguien, probablemente tú, pidió una nueva contraseña para tu cuenta en Club & Co. "},
		{"fr", "pt-BR", accounts.PurposeInvite, "Sua conta em Club & Co", "Olá, Zoe <b>!"},
	} {
		r.locale = test.locale
		link := r.newLink(test.purpose)
		var from, replyTo, subject, text, form string
		require.NoError(t, r.db.QueryRow(t.Context(), `select from_name, reply_to, subject, body, html from hub.mails order by id desc limit 1`).
			Scan(&from, &replyTo, &subject, &text, &form))
		require.Equal(t, []string{"Club & Co", "desk@example.com", test.subject}, []string{from, replyTo, subject}, test.locale)
		require.Contains(t, text, test.begins)
		require.Contains(t, text, "\n"+link+"\n")
		require.Contains(t, form, `<html lang="`+test.language+`">`)
		require.Contains(t, form, html.EscapeString(link)+"</a>")
		require.NotContains(t, form, "<b>", "what people typed is text")
	}
}
