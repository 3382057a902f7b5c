package pages_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// monday is the first slot of Monday, 2 March 2026.
const monday = "2026-03-02T08:00:00-03:00"

// details is the page that asks who books Ana's slot.
func (s *studio) details(v *visitor, start string) *page {
	s.T.Helper()
	return v.get(200, s.path("details", "service", s.service, "professional", s.ana, "start", start))
}

// booked books with Ana and returns the page that shows it.
func (s *studio) booked(v *visitor, start string) *page {
	s.T.Helper()
	return v.follow(v.submit(s.details(v, start), "name", "Carla Dias", "phone", "(11) 98765-4321"))
}

// appointments are all of the organization's.
func (s *studio) appointments() int {
	s.T.Helper()
	var n int
	require.NoError(s.T, s.Hub.Host.Pool.QueryRow(s.T.Context(), `select count(*) from scheduling.appointments a join scheduling.organizations o on o.id = a.org_id where o.slug = $1`, s.Slug).Scan(&n))
	return n
}

// "Pages /book/<slug>: service → professional → day → slot → details → done;
// server-rendered, works without JavaScript, one URL per step; pt-BR, en and es; prices
// and dates by locale."
func TestBookingInThreeLanguages(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	for _, tc := range []struct {
		language, tag                                          string
		service, professional, anybody, day, time, details     string
		price, month, free, date, morning, book, done, confirm string
		manage, cancel, cancelled                              string
	}{
		{"pt-BR,pt;q=0.9", "pt-BR", "O que você quer agendar?", "Com quem você prefere?", "Qualquer profissional", "Escolha o dia", "Escolha o horário", "Seus dados",
			"R$\u00a0120,00", "Fevereiro de 2026", "28 de fevereiro de 2026: 16 horários livres", "Sábado, 28 de fevereiro de 2026", "Manhã", "Confirmar agendamento", "Agendamento recebido", "Falta só a confirmação",
			"Cancelar ou remarcar", "Cancelar o agendamento?", "Este agendamento foi cancelado"},
		{"en-GB,en;q=0.9,pt;q=0.1", "en", "What would you like to book?", "Who would you like to see?", "Anyone available", "Choose a day", "Choose a time", "Your details",
			"R$120.00", "February 2026", "February 28, 2026: 16 free times", "Saturday, February 28, 2026", "Morning", "Confirm booking", "Booking received", "The business still confirms it",
			"Cancel or move", "Cancel your booking?", "This booking is cancelled"},
		{"es-AR", "es", "¿Qué quieres reservar?", "¿Con quién prefieres?", "Cualquier profesional", "Elige el día", "Elige la hora", "Tus datos",
			"120,00\u00a0R$", "Febrero de 2026", "28 de febrero de 2026: 16 horas libres", "Sábado, 28 de febrero de 2026", "Mañana", "Confirmar reserva", "Reserva recibida", "Solo falta que el negocio la confirme",
			"Cancelar o cambiar", "¿Cancelar la reserva?", "Esta reserva está cancelada"},
	} {
		v := s.visitor(tc.language)
		seen := map[string]bool{}
		at := func(p *page, title string) *page {
			require.Equal(t, title, p.h1())
			require.Equal(t, tc.tag, attr(p.requireOne("html", ""), "lang"))
			require.Equal(t, tc.tag, p.header.Get("Content-Language"))
			require.Contains(t, textOf(p.requireOne("title", "")), title+" · Estúdio Aurora")
			path, _, _ := strings.Cut(p.path, "?")
			require.False(t, seen[path], "one address for each step: %s", path)
			seen[path] = true
			return p
		}
		p := at(v.get(200, "/book/"+s.Slug), tc.service)
		require.Contains(t, p.text(), tc.price)
		require.Contains(t, p.text(), "Lavagem, corte e finalização.")
		p = at(v.click(p, "Corte de cabelo"), tc.professional)
		require.Contains(t, p.text(), "Bruno Lima")
		p = at(v.click(p, tc.anybody), tc.day)
		require.Contains(t, p.text(), tc.month)
		require.Contains(t, p.text(), "São Paulo (GMT−3)")
		p = at(v.click(p, tc.free), tc.time)
		require.Contains(t, p.text(), tc.date)
		require.Contains(t, p.text(), tc.morning)
		require.Len(t, p.links("slot"), 16)
		p = at(v.click(p, "10:15"), tc.details)
		require.Contains(t, p.text(), tc.date+", 10:15")
		require.Equal(t, tc.book, textOf(p.requireOne("button", "")))
		p = at(v.follow(v.submit(p, "name", "Carla Dias", "phone", "(11) 98765-4321", "email", "carla@example.com", "notes", "Franja curta")), tc.done)
		require.Contains(t, p.text(), tc.confirm)
		require.Contains(t, p.text(), tc.date+", 10:15")
		token := token(t, p.path)
		calendar := v.send("GET", p.link(map[string]string{"pt-BR": "Adicionar ao calendário", "en": "Add to calendar", "es": "Agregar al calendario"}[tc.tag]), "")
		require.Equal(t, "text/calendar; charset=utf-8; method=PUBLISH", calendar.header.Get("Content-Type"))
		require.Contains(t, calendar.header.Get("Content-Disposition"), s.Slug+".ics")
		require.Contains(t, calendar.body, "DTSTART;TZID=America/Sao_Paulo:20260228T101500\r\n")
		p = at(v.click(p, tc.manage), tc.cancel)
		require.Equal(t, token, p.value("token"))
		p = v.follow(v.submit(p, "reason", "Mudei de ideia"))
		require.Equal(t, tc.cancelled, p.h1())
	}
	require.Equal(t, 3, s.appointments())
	var source, reason, by, notes string
	require.NoError(t, s.Hub.Host.Pool.QueryRow(t.Context(), `select source, cancel_reason, cancelled_by, notes from scheduling.appointments limit 1`).Scan(&source, &reason, &by, &notes))
	require.Equal(t, []string{"web", "Mudei de ideia", "client", "Franja curta"}, []string{source, reason, by, notes})
}

// token is that of an address.
func token(t testing.TB, path string) string {
	t.Helper()
	u, err := url.Parse(path)
	require.NoError(t, err)
	require.NotEmpty(t, u.Query().Get("token"))
	return u.Query().Get("token")
}

// "(?lang=, then Accept-Language, then the organization's locale)".
func TestLanguageIsChosen(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	lang := func(accept, path string) string {
		return attr(s.visitor(accept).get(200, path).requireOne("html", ""), "lang")
	}
	require.Equal(t, "es", lang("en", "/book/"+s.Slug+"?lang=es-MX"))
	require.Equal(t, "en", lang("fr, en;q=0.5", "/book/"+s.Slug+"?lang=xx"))
	require.Equal(t, "pt-BR", lang("fr", "/book/"+s.Slug))
	s.OK(200, "PUT", "/organization", object{"locale": "es"})
	require.Equal(t, "es", lang("fr", "/book/"+s.Slug))
	require.Equal(t, "es", lang("", "/book/"+s.Slug))
	p := s.visitor("pt").get(200, "/book/"+s.Slug+"?lang=en")
	require.Contains(t, p.link("Corte"), "lang=en", "the language that was asked for stays")
	require.Equal(t, "/book/"+s.Slug+"?lang=pt-BR", p.link("Português"))
	require.Equal(t, "en", attr(s.visitor("en").send("GET", "/book/nobody", "").requireOne("html", ""), "lang"))
}

// "double submit (post/redirect/get with an idempotency token: refresh and double click
// make one booking)".
func TestDuplicateSubmitBooksOnce(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	form := s.details(v, monday)
	action, fields := form.form()
	fields.Set("name", "Carla Dias")
	fields.Set("phone", "(11) 98765-4321")
	answers := make([]*page, 8)
	var sent sync.WaitGroup
	for i := range answers {
		sent.Go(func() { answers[i] = v.send("POST", action, fields.Encode()) })
	}
	sent.Wait()
	for _, answer := range answers {
		require.Equal(t, 303, answer.status, answer.text())
		require.Equal(t, answers[0].header.Get("Location"), answer.header.Get("Location"))
	}
	require.Equal(t, answers[0].header.Get("Location"), v.send("POST", action, fields.Encode()).header.Get("Location"), "a refresh")
	require.Equal(t, 1, s.appointments())
	require.NotEqual(t, fields.Get("key"), s.details(v, "2026-03-02T08:45:00-03:00").value("key"), "every form is another")
	fields.Set("key", "not one of ours")
	require.Equal(t, 404, v.send("POST", action, fields.Encode()).status)
	require.Equal(t, 1, s.appointments())
}

// The form of the page before, filled in for another person, is another booking. It must neither
// show the first person's booking nor leave the second without a seat.
func TestChangedFormIsAnotherBooking(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	action, fields := s.details(v, monday).form()
	fields.Set("name", "Carla Dias")
	fields.Set("phone", "(11) 98765-4321")
	first := v.send("POST", action, fields.Encode())
	require.Equal(t, 303, first.status, first.text())
	fields.Set("name", "Rui Dias")
	require.Equal(t, 409, v.send("POST", action, fields.Encode()).status, "the time is taken")
	fields.Set("start", "2026-03-02T08:45:00-03:00")
	second := v.send("POST", action, fields.Encode())
	require.Equal(t, 303, second.status, second.text())
	require.NotEqual(t, first.header.Get("Location"), second.header.Get("Location"))
	require.Equal(t, second.header.Get("Location"), v.send("POST", action, fields.Encode()).header.Get("Location"), "sent twice it is one booking")
	require.Equal(t, 2, s.appointments())
}

// "slot just taken (details kept, alternatives)".
func TestTakenSlotKeepsFormValues(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	late := s.details(v, monday)
	s.booked(v, monday)
	p := v.submit(late, "name", "Davi Reis", "phone", "11 91234-5678", "email", "davi@example.com", "notes", "linha 1\nlinha 2")
	require.Equal(t, 409, p.status)
	require.Equal(t, "Somebody was faster", p.h1())
	require.Equal(t, []string{"Davi Reis", "11 91234-5678", "davi@example.com", "linha 1\nlinha 2"}, []string{p.value("name"), p.value("phone"), p.value("email"), p.value("notes")})
	require.Len(t, p.all("input", "type=radio"), 3)
	require.Equal(t, "2026-03-02T08:45:00-03:00", p.value("start"), "the nearest is proposed")
	require.Contains(t, p.text(), "Monday, March 2, 2026, 08:45")
	require.Equal(t, "Choose a time", v.click(p, "See all times").h1())
	done := v.follow(v.submit(p, "start", attr(p.all("input", "type=radio")[1], "value")))
	require.Contains(t, done.text(), "Monday, March 2, 2026, 09:30")
	require.Equal(t, 2, s.appointments())

	s.OK(201, "POST", "/schedule-exceptions", object{"professional_id": s.bruno, "date": "2026-03-03", "exception_type": "block"})
	s.changeSettings(object{"max_advance_days": 4})
	form := v.get(200, s.path("details", "service", s.service, "professional", s.bruno, "start", "2026-03-03T08:00:00-03:00"))
	s.changeSettings(object{"max_advance_days": 1})
	s.OK(201, "POST", "/schedule-exceptions", object{"professional_id": s.bruno, "date": "2026-02-28", "exception_type": "block"})
	s.OK(201, "POST", "/schedule-exceptions", object{"professional_id": s.bruno, "date": "2026-02-27", "exception_type": "block"})
	none := v.submit(form, "name", "Davi Reis", "phone", "11 91234-5678")
	require.Equal(t, 409, none.status)
	require.Empty(t, none.all("button", ""))
	require.Contains(t, none.text(), "there are no others close to it")
}

// "validation errors beside their fields with what was typed kept".
func TestInvalidDetails(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("pt-BR")
	empty := v.submit(s.details(v, monday))
	require.Equal(t, 422, empty.status)
	for field, message := range map[string]string{"name": "Escreva seu nome, com 2 a 120 caracteres.", "phone": "Escreva seu telefone."} {
		require.Equal(t, message, textOf(empty.requireOne("p", "id="+field+"-error")))
		input := empty.requireOne("", "id="+field)
		require.Equal(t, "true", attr(input, "aria-invalid"))
		require.Contains(t, attr(input, "aria-describedby"), field+"-error")
		require.Equal(t, "#"+field, empty.link(message), "the summary leads to the field")
	}
	require.Equal(t, "alert", attr(empty.requireOne("div", "role=alert"), "role"))
	require.Contains(t, empty.text(), "Confira 2 campos")

	long := strings.Repeat("é", 501)
	p := v.submit(s.details(v, monday), "name", "<b>Carla</b>", "phone", "123", "email", "x", "notes", long)
	require.Equal(t, 422, p.status)
	require.Equal(t, []string{"<b>Carla</b>", "123", "x", long}, []string{p.value("name"), p.value("phone"), p.value("email"), p.value("notes")})
	require.Contains(t, textOf(p.requireOne("p", "id=phone-error")), "telefone com DDD")
	require.Contains(t, textOf(p.requireOne("p", "id=email-error")), "nome@exemplo.com.br")
	require.Contains(t, textOf(p.requireOne("p", "id=notes-error")), "500 caracteres")
	require.Empty(t, p.all("p", "id=name-error"))
	page := v.submit(p, "phone", "(11) 98765-4321", "email", "", "notes", "")
	require.Equal(t, 303, page.status)

	trapped := v.submit(s.details(v, "2026-03-02T08:45:00-03:00"), "name", "Robo", "phone", "11 98765-4321", "website", "http://spam.example")
	require.Equal(t, 422, trapped.status)
	require.Equal(t, "Deixe este campo vazio", textOf(trapped.requireOne("p", "id=website-error")))
	require.Equal(t, 1, s.appointments())

	s.changeSettings(object{"require_client_email": true, "require_client_phone": false})
	p = v.submit(s.details(v, "2026-03-02T08:45:00-03:00"), "name", "Carla")
	require.Equal(t, "Escreva seu e-mail.", textOf(p.requireOne("p", "id=email-error")))
	require.Empty(t, p.all("p", "id=phone-error"))
	require.Equal(t, 303, v.submit(p, "email", "carla@example.com").status)
}

// "deposit due (Pix code, QR image, copy button, expiry)"; "Done shows … the Pix code when
// a deposit is due".
func TestDeposit(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.OK(200, "PUT", "/services/"+s.service, object{"requires_deposit": true, "deposit_amount": 30})
	s.changeSettings(object{"deposit_hold_minutes": 45})
	v := s.visitor("pt-BR")
	require.Contains(t, v.get(200, s.path("")).text(), "Sinal de R$\u00a030,00")
	form := s.details(v, monday)
	require.Equal(t, "Agendar e pagar o sinal", textOf(form.requireOne("button", "")))
	require.Contains(t, form.text(), "Sinal: R$\u00a030,00")
	p := v.follow(v.submit(form, "name", "Carla Dias", "phone", "(11) 98765-4321", "email", "carla@example.com"))
	require.Equal(t, "Pague o sinal para garantir o horário", p.h1())
	require.Contains(t, p.text(), "Guardamos este horário até 10:45 São Paulo (GMT−3).")
	code := textOf(p.requireOne("textarea", "id=pix"))
	require.True(t, strings.HasPrefix(code, "000201"), code)
	require.True(t, strings.HasPrefix(attr(p.requireOne("img", "class=qr"), "src"), "data:image/png;base64,iVBOR"))
	require.Equal(t, "2026-02-27T10:45:00-03:00", attr(p.requireOne("section", "class=pay"), "data-expires"))
	require.Equal(t, "pix", attr(p.requireOne("button", "class=primary"), "data-copy"))
	require.Equal(t, p.path, p.link("Já paguei"))

	var txid string
	require.NoError(t, s.Hub.Host.Pool.QueryRow(t.Context(), `select txid from scheduling.charges`).Scan(&txid))
	s.OK(200, "POST", "/dev/payments/"+txid+"/pay", nil)
	require.Eventually(t, func() bool { return len(v.get(200, p.path).all("p", "class=note")) == 1 }, time.Minute, 20*time.Millisecond)
	paid := v.get(200, p.path)
	require.Contains(t, paid.text(), "Sinal pago")
	require.Empty(t, paid.all("textarea", ""))
	cancel := v.click(paid, "Cancelar ou remarcar")
	require.Contains(t, cancel.text(), "Seu sinal de R$\u00a030,00 será devolvido.")
	s.changeSettings(object{"deposit_refund_notice_minutes": nil})
	require.Contains(t, v.get(200, cancel.path).text(), "Seu sinal de R$\u00a030,00 não será devolvido.")
	require.Contains(t, v.follow(v.submit(cancel)).text(), "O sinal fica com o estabelecimento")
}

// A refused booking shows the reason and keeps what was typed.
func TestRefusedBookings(t *testing.T) {
	t.Parallel()
	s := newStudio(t, "HUB_PAYMENT_PROVIDER=none")
	s.changeSettings(object{"max_active_bookings_per_client": 1})
	v := s.visitor("en")
	s.booked(v, monday)
	second := v.submit(s.details(v, "2026-03-02T09:30:00-03:00"), "name", "Carla Dias", "phone", "(11) 98765-4321")
	require.Equal(t, 409, second.status)
	require.Contains(t, textOf(second.requireOne("div", "role=alert")), "as many open bookings")
	require.Equal(t, "Carla Dias", second.value("name"))

	var client string
	require.NoError(t, s.Hub.Host.Pool.QueryRow(t.Context(), `select id::text from scheduling.clients`).Scan(&client))
	s.OK(200, "PUT", "/clients/"+client, object{"is_blocked": true})
	blocked := v.submit(s.details(v, "2026-03-02T09:30:00-03:00"), "name", "Carla Dias", "phone", "(11) 98765-4321")
	require.Equal(t, 403, blocked.status)
	require.Contains(t, textOf(blocked.requireOne("div", "role=alert")), "cannot be made online")

	s.OK(200, "PUT", "/services/"+s.service, object{"requires_deposit": true, "deposit_amount": 30})
	unpaid := v.submit(s.details(v, "2026-03-02T09:30:00-03:00"), "name", "Davi Reis", "phone", "(11) 91234-5678")
	require.Equal(t, 409, unpaid.status)
	require.Contains(t, textOf(unpaid.requireOne("div", "role=alert")), "needs a deposit")
	require.Equal(t, 1, s.appointments())

	late := s.details(v, "2026-03-02T09:30:00-03:00")
	s.changeSettings(object{"booking_enabled": false, "booking_disabled_message": "De férias até abril."})
	closed := v.submit(late, "name", "Davi Reis", "phone", "(11) 91234-5678")
	require.Equal(t, 403, closed.status)
	require.Contains(t, closed.text(), "De férias até abril.")
}
