package pages_test

import (
	"image/color"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// "axe clean in a real browser, tested at 360 px and desktop": browser/run.mjs books with
// and without JavaScript, with the keyboard alone, and looks at every state. With
// HUB_SCREENSHOTS set to a directory it keeps a picture of each page there.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	s := newStudio(t, "HUB_TRUSTED_PROXIES=127.0.0.0/8")
	hubtest.RunInBrowser(t, "scheduling/pages/browser/run.mjs", s.stage())
}

// Texts of people, such as links and names, are broken where they are wider than a phone.
func TestLongWordsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	s := newStudio(t)
	word := strings.Repeat("w", 115)
	link := "https://example.com/" + strings.Repeat("a", 300)
	s.OK(200, "PUT", "/organization", object{"name": word, "phone": "+5511999990000", "address": word})
	s.OK(200, "PUT", "/services/"+s.service, object{"name": word, "description": link, "category": word})
	s.OK(200, "PUT", "/professionals/"+s.ana, object{"name": word, "specialty": word})
	s.changeSettings(object{"booking_page": object{"welcome_message": link, "cancellation_policy": link}})
	choice := []string{"service", s.service, "professional", s.ana}
	token := token(t, s.booked(s.visitor("pt-BR"), monday).path)
	s.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu@example.com"})
	_, password, _ := strings.Cut(s.Hub.Emails("edu@example.com")[0], s.Hub.URL)
	password, _, _ = strings.Cut(password, "\n")
	hubtest.RunInBrowser(t, "scheduling/pages/browser/longwords.mjs", object{"url": s.Hub.URL, "pages": [][]any{
		{"long-service", s.path(""), link},
		{"long-professional", s.path("professional", "service", s.service), word},
		{"long-day", s.path("day", choice...), word},
		{"long-time", s.path("time", append(choice, "date", "2026-03-04")...), word},
		{"long-details", s.path("details", append(choice, "start", monday)...), link},
		{"long-cancel", s.path("cancel", "token", token), link},
		{"long-leave", s.leaveLink(), word},
		{"long-password", password, ""},
	}})
}

// stage prepares what run.mjs visits.
func (s *studio) stage() object {
	s.T.Helper()
	colour := s.addService(object{
		"name": "Coloração", "description": "Diagnóstico, coloração completa e tratamento de brilho.", "duration_minutes": 150, "price": 380,
		"requires_deposit": true, "deposit_amount": 95, "color": "#D946EF", "category": "Cor",
	})
	group := s.addService(object{"name": "Aula de automaquiagem", "description": "Em grupo, até seis pessoas.", "duration_minutes": 90, "price": 0, "capacity": 6, "color": "#10B981"})
	nobody := s.addService(object{"name": "Massagem", "duration_minutes": 60, "price": 150})
	s.setServices(s.ana, s.service, colour)
	s.setServices(s.bruno, s.service, group)
	s.OK(200, "PUT", "/organization", object{"phone": "+5511999990000", "address": "Rua Augusta, 1200\nSão Paulo"})
	require.Equal(s.T, 200, s.Upload("/services/"+s.service+"/image", "file", s.PNG(90, 60, color.Black)).Status)
	require.Equal(s.T, 200, s.Upload("/professionals/"+s.ana+"/avatar", "file", s.PNG(60, 60, color.Black)).Status)
	s.changeSettings(object{"booking_page": object{
		"primary_color": "#7C5CFC", "welcome_message": "Que bom ter você por aqui. Escolha o serviço e o horário: leva um minuto.",
		"cancellation_policy": "Cancele até 24 horas antes para receber o sinal de volta.", "terms_url": "https://example.com/termos", "privacy_url": "https://example.com/privacidade",
	}})
	for day := 1; day <= 30; day++ { // Ana is away in April
		date := time.Date(2026, time.April, day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		s.OK(201, "POST", "/schedule-exceptions", object{"professional_id": s.ana, "date": date, "exception_type": "block"})
	}
	closed, empty := addStudio(s.T, s.Hub), addStudio(s.T, s.Hub)
	closed.changeSettings(object{"booking_enabled": false, "booking_disabled_message": "De férias até abril."})
	empty.OK(200, "PUT", "/services/"+empty.service, object{"is_active": false})
	final := addStudio(s.T, s.Hub)
	token := token(s.T, final.booked(final.visitor("pt-BR"), monday).path)
	final.changeSettings(object{"cancel_notice_minutes": 43200, "reschedule_notice_minutes": 43200})
	s.OK(201, "POST", "/users", object{"name": "Edu", "email": "edu@example.com"})
	_, link, _ := strings.Cut(s.Hub.Emails("edu@example.com")[0], s.Hub.URL)
	link, _, _ = strings.Cut(link, "\n")
	careful := addStudio(s.T, s.Hub)
	careful.changeSettings(object{"proof_of_work": true})
	ana := []string{"service", s.service, "professional", s.ana}
	return object{
		"url": s.Hub.URL, "now": friday, "slug": s.Slug, "service": s.service, "deposit": colour, "group": group,
		"ana": s.ana, "bruno": s.bruno, "date": "2026-03-04", "depositStart": "2026-03-05T08:00:00-03:00", "contested": "2026-03-06T08:00:00-03:00",
		"careful": careful.path("details", "service", careful.service, "professional", careful.ana, "start", monday),
		"states": [][]any{
			{"unknown", "/book/nobody-here", 404},
			{"gone", s.path("professional", "service", "x"), 404},
			{"nobody", s.path("professional", "service", nobody), 200},
			{"full-month", s.path("day", append(ana, "month", "2026-04")...), 200},
			{"full-day", s.path("time", append(ana, "date", "2026-04-01")...), 200},
			{"closed", closed.path(""), 200},
			{"empty", empty.path(""), 200},
			{"bad-token", s.path("cancel", "token", "x"), 404},
			{"leave", s.leaveLink(), 200},
			{"too-late", final.path("cancel", "token", token), 200},
			{"password", link, 200},
			{"password-link-over", "/reset-password?lang=en&token=x", 404},
			{"password-ask", "/reset-password?lang=es", 200},
			{"english", s.path("", "lang", "en"), 200},
			{"spanish", s.path("time", append(ana, "date", "2026-03-04", "lang", "es")...), 200},
		},
	}
}
