package pages_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leaveLink returns the unsubscribe link of an email.
func (s *studio) leaveLink() string {
	s.T.Helper()
	s.OK(201, "POST", "/clients", object{"name": "Eva", "email": s.Slug + "-eva@example.com", "marketing_consent": true})
	_, err := s.Hub.Host.Pool.Exec(s.T.Context(), `update scheduling.clients set created_at = created_at - interval '100 days' where email = $1`, s.Slug+"-eva@example.com")
	require.NoError(s.T, err)
	s.OK(202, "POST", "/remarketing/campaigns", object{})
	var link *url.URL
	require.Eventually(s.T, func() bool {
		var text string
		err := s.Hub.Host.Pool.QueryRow(s.T.Context(), `select unsubscribe from hub.mails where recipient = $1`, s.Slug+"-eva@example.com").Scan(&text)
		if err == nil {
			link, err = url.Parse(text)
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	return link.RequestURI()
}

// Who books may agree to be written to: the box is theirs to tick, and stays as it was
// where something else has to be typed anew. A page ends it again.
func TestConsentAndUnsubscribe(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	form := s.details(v, monday)
	require.Empty(t, form.value("marketing_consent"), "not ticked")
	require.Contains(t, form.text(), "news and offers")
	action, fields := form.form()
	for name, value := range map[string]string{"name": "Carla Dias", "phone": "1", "email": "carla@example.com", "marketing_consent": "true"} {
		fields.Set(name, value)
	}
	wrong := v.send("POST", action, fields.Encode())
	require.Equal(t, 422, wrong.status)
	require.Equal(t, "true", wrong.value("marketing_consent"))
	v.follow(v.submit(wrong, "phone", "(11) 98765-4321"))
	agreed := func() (n int) {
		require.NoError(t, s.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from scheduling.clients where marketing_consent_at is not null`).Scan(&n))
		return n
	}
	require.Equal(t, 1, agreed())
	s.booked(v, "2026-03-03T08:00:00-03:00")
	require.Equal(t, 1, agreed())

	link := s.leaveLink()
	for _, tc := range []struct{ language, ask, done string }{
		{"en", "No more messages?", "You will get no more messages"}, {"es", "¿No recibir más mensajes?", "No recibirás más mensajes"},
		{"pt-BR", "Não receber mais mensagens?", "Você não receberá mais mensagens"},
	} {
		v := s.visitor(tc.language)
		page := v.get(200, link)
		require.Equal(t, tc.ask, page.h1())
		require.Equal(t, tc.done, v.submit(page).h1())
	}
	require.Equal(t, 1, agreed())
	require.Equal(t, "This link is not valid", v.get(404, s.path("unsubscribe", "token", "x")).h1())
	require.Equal(t, 403, v.send("POST", link, "", "Sec-Fetch-Site", "cross-site").status, "other sites' pages end nothing")
}
