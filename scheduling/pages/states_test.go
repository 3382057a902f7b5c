package pages_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// "every state drawn: unknown slug, booking closed, no services, no slots (with the next
// free day), slot just taken, rate limited".
func TestNothingToBook(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	for _, path := range []string{"/book", "/book/", "/book/nobody-here", "/book/nobody-here/day", "/book/A%20b"} {
		require.Equal(t, "This page does not exist", v.get(404, path).h1(), path)
	}
	const gone = "This is no longer offered"
	unknown := "01900000-0000-7000-8000-000000000000"
	for _, path := range []string{
		s.path("nothing"), s.path("day"), s.path("professional", "service", unknown), s.path("day", "service", "x"), s.path("day", "service", s.service, "professional", unknown),
		s.path("time", "service", s.service, "professional", "any", "date", "tomorrow"), s.path("day", "service", s.service, "professional", "any", "month", "2026-13"),
		s.path("details", "service", s.service, "professional", "any", "start", "soon"), s.path("time", "service", s.service, "professional", "any", "date", "9998-01-01"),
	} {
		p := v.get(404, path)
		require.Equal(t, gone, p.h1(), path)
		require.Equal(t, "What would you like to book?", v.click(p, "See what can be booked").h1())
	}
	require.Equal(t, 405, v.send(http.MethodPut, s.path("cancel"), "").status)
	require.Equal(t, 405, v.send(http.MethodPost, s.path("day"), "").status)

	empty := s.addService(object{"name": "Massagem", "duration_minutes": 30, "price": 50})
	require.Equal(t, "Nobody is available", v.get(200, s.path("professional", "service", empty)).h1())
	require.Equal(t, "Nobody is available", v.get(200, s.path("time", "service", empty, "professional", "any", "date", "2026-03-02")).h1())
	for _, id := range []string{empty, s.service} {
		s.OK(200, "PUT", "/services/"+id, object{"is_public": false})
	}
	require.Equal(t, "Nothing to book yet", v.get(200, s.path("")).h1())
	require.Equal(t, gone, v.get(404, s.path("professional", "service", s.service)).h1())

	s.changeSettings(object{"booking_enabled": false})
	require.Contains(t, v.get(200, s.path("")).text(), "does not take bookings online right now")
	s.changeSettings(object{"booking_disabled_message": "De férias até abril."})
	for _, step := range []string{"", "professional", "day", "time", "details"} {
		p := v.get(200, s.path(step))
		require.Equal(t, "Online booking is closed", p.h1())
		require.Contains(t, p.text(), "De férias até abril.")
	}
}

// "no slots (with the next free day)".
func TestFullDays(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	days := func(from, to string) {
		first, err := time.Parse(time.DateOnly, from)
		require.NoError(t, err)
		for d := first; d.Format(time.DateOnly) <= to; d = d.AddDate(0, 0, 1) {
			s.OK(201, "POST", "/schedule-exceptions", object{"professional_id": s.ana, "date": d.Format(time.DateOnly), "exception_type": "block"})
		}
	}
	days("2026-03-02", "2026-03-03")
	p := v.get(200, s.path("time", "service", s.service, "professional", s.ana, "date", "2026-03-02"))
	require.Contains(t, p.text(), "No free times on this day")
	require.Contains(t, p.text(), "Next free time: Wednesday, March 4, 2026, 08:00 São Paulo (GMT−3)")
	form := v.click(p, "Book this time")
	require.Equal(t, "2026-03-04T08:00:00-03:00", form.value("start"))
	next := v.click(p, "See all times")
	require.NotEmpty(t, next.links("slot"))
	require.Contains(t, v.click(p, "See month").text(), "March 2026")
	require.NotEmpty(t, v.click(p, "Next week").links("slot"))

	days("2026-03-09", "2026-03-15")
	p = v.get(200, s.path("time", "service", s.service, "professional", s.ana, "date", "2026-03-11"))
	require.Contains(t, p.text(), "No free times this week Next free time: Monday, March 16, 2026, 08:00 São Paulo (GMT−3)")
	require.Equal(t, "2026-03-16T08:00:00-03:00", v.click(p, "Book this time").value("start"))
	booked := s.booked(v, "2026-03-20T08:00:00-03:00")
	p = v.get(200, s.path("move", "token", token(t, booked.path), "date", "2026-03-11"))
	require.Equal(t, "2026-03-16T08:00:00-03:00", v.click(p, "Book this time").value("start"), "moving offers it too")

	days("2026-02-27", "2026-02-28")
	p = v.get(200, s.path("day", "service", s.service, "professional", s.ana))
	require.Contains(t, p.text(), "March 2026", "what is full is not what it begins with")
	p = v.get(200, s.path("day", "service", s.service, "professional", s.ana, "month", "2026-02"))
	require.Contains(t, p.text(), "No free times this month")
	require.Contains(t, v.click(p, "See all times").text(), "Sunday, March 1, 2026")
	require.Equal(t, "2026-03-01T08:00:00-03:00", v.click(p, "Book this time").value("start"))
	require.Equal(t, "Who would you like to see?", v.click(p, "Choose another professional").h1())

	s.changeSettings(object{"max_advance_days": 1})
	p = v.get(200, s.path("time", "service", s.service, "professional", s.ana, "date", "2026-02-28"))
	require.Contains(t, p.text(), "There are no free times in the coming months.")
	require.Contains(t, v.get(200, s.path("day", "service", s.service, "professional", s.ana)).text(), "There are no free times")
	require.Empty(t, v.get(200, s.path("day", "service", s.service, "professional", s.bruno, "month", "2026-03")).links("date"))
}

// Steps without a choice are left out, and what may not be chosen is not offered.
func TestChoices(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	s.changeSettings(object{"allow_any_professional": false, "booking_page": object{"show_prices": false, "welcome_message": "Olá!\nQue bom ter você aqui."}, "week_start": 6, "time_format": "12h"})
	p := v.get(200, s.path(""))
	require.Contains(t, p.text(), "Que bom ter você aqui.")
	require.NotContains(t, p.text(), "120")
	p = v.click(p, "Corte")
	require.NotContains(t, p.text(), "Anyone available")
	require.Equal(t, 404, v.get(404, s.path("day", "service", s.service, "professional", "any")).status)
	p = v.click(p, "Ana Souza")
	require.Equal(t, "Sun", textOf(p.all("th", "")[0]), "the week begins when the organization says")
	p = v.click(p, "February 28")
	require.Contains(t, p.text(), "7:15\u00a0PM")
	require.NotContains(t, p.text(), "120")

	s.changeSettings(object{"allow_any_professional": true, "booking_page": object{"show_prices": true}})
	only := s.addService(object{"name": "Barba", "duration_minutes": 30, "price": 0, "category": "Homens", "color": "#123456"})
	s.setServices(s.bruno, s.service, only)
	p = v.get(200, s.path(""))
	require.Contains(t, p.text(), "Homens")
	require.Contains(t, p.text(), "Free")
	require.Contains(t, p.body, `fill="#123456"`)
	direct := v.click(p, "Barba")
	require.Equal(t, "Choose a day", direct.h1(), "there is nobody else")
	require.Contains(t, direct.text(), "Bruno Lima")

	s.OK(200, "PUT", "/professionals/"+s.ana+"/services", object{"service_ids": []string{s.service}, "overrides": object{s.service: object{"custom_price": 200, "custom_duration": 60}}})
	p = v.get(200, s.path("professional", "service", s.service))
	require.Contains(t, p.text(), "R$200.00")
	require.Contains(t, v.click(p, "Anyone").text(), "from R$120.00")
	require.Contains(t, v.click(p, "Ana Souza").text(), "1\u00a0h")

	s.OK(200, "PUT", "/professionals/"+s.ana, object{"specialty": "Cachos", "bio": "Há dez anos no estúdio.", "avatar_url": "https://example.com/ana.png"})
	p = v.get(200, s.path("professional", "service", s.service))
	require.Contains(t, p.text(), "Cachos Há dez anos no estúdio.")
	require.Equal(t, "https://example.com/ana.png", attr(p.requireOne("img", "class=face"), "src"))

	class := s.addService(object{"name": "Aula", "duration_minutes": 60, "price": 10, "capacity": 3})
	s.setServices(s.bruno, s.service, only, class)
	require.Contains(t, v.get(200, s.path("time", "service", class, "professional", s.bruno, "date", "2026-03-02")).text(), "3 places left")
}

// "the organization's zone": wall clocks that show an hour twice tell both apart.
func TestClocksGoBack(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.OK(200, "PUT", "/organization", object{"timezone": "Europe/Lisbon"})
	night := s.addService(object{"name": "Plantão", "duration_minutes": 60, "price": 10})
	eva := s.OK(201, "POST", "/professionals", object{"name": "Eva"})["id"].(string)
	s.setServices(eva, night)
	s.OK(201, "POST", "/schedule-rules", object{"professional_id": eva, "day_of_week": 6, "start_time": "00:00", "end_time": "04:00"})
	p := s.visitor("en").get(200, s.path("time", "service", night, "professional", eva, "date", "2026-10-25"))
	require.Contains(t, p.text(), "01:00 GMT+1")
	require.Contains(t, p.text(), "01:00 GMT ")
	require.Len(t, p.links("slot"), 5)
	require.Contains(t, p.text(), "Lisbon")
}

// "old slug redirects 90 days".
func TestOldSlugs(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	s.OK(200, "PUT", "/organization", object{"slug": s.Slug + "-novo"})
	for path, leads := range map[string]string{
		"/book/" + s.Slug:                    "/book/" + s.Slug + "-novo",
		"/book/" + s.Slug + "/day?service=x": "/book/" + s.Slug + "-novo/day?service=x",
	} {
		p := v.send(http.MethodGet, path, "")
		require.Equal(t, 302, p.status)
		require.Equal(t, leads, p.header.Get("Location"))
	}
	require.Equal(t, 307, v.send(http.MethodPost, "/book/"+s.Slug+"/details", "").status, "a form goes along")
	s.Hub.Clock.Advance(89 * 24 * time.Hour)
	require.Equal(t, 302, v.send(http.MethodGet, "/book/"+s.Slug, "").status)
	s.Hub.Clock.Advance(2 * 24 * time.Hour)
	v.get(404, "/book/"+s.Slug)
}

// A missing database is a page too, which shows nothing of what went wrong.
func TestDatabaseUnavailable(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	form := s.details(v, monday)
	s.Hub.Host.Pool.Close()
	for _, p := range []*page{v.send(http.MethodGet, s.path(""), ""), v.submit(form, "name", "Carla Dias", "phone", "(11) 98765-4321")} {
		require.Equal(t, 503, p.status)
		require.NotEmpty(t, p.header.Get("Retry-After"))
		require.NotContains(t, p.text(), "pool")
		require.Equal(t, "en", attr(p.requireOne("html", ""), "lang"))
		require.Equal(t, "Back in a moment", p.h1())
	}
}

// "rate limited".
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	var p *page
	for n := 0; n < 2000 && (p == nil || p.status != 429); n++ { // the limit is 120 in a minute
		p = v.send(http.MethodPost, s.path("cancel"), "token=x")
		require.True(t, p.status != 429 || n >= 120)
	}
	require.Equal(t, 429, p.status)
	require.Equal(t, "Too many requests", p.h1())
	require.Regexp(t, `Please wait [0-9]+ seconds`, p.text())
	require.NotEmpty(t, p.header.Get("Retry-After"))
	require.Equal(t, 200, v.send(http.MethodGet, s.path(""), "").status, "reading has a limit of its own")
}

// "CSRF: same-origin checks via Origin/Sec-Fetch-Site".
func TestForeignFormsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	action, fields := s.details(v, monday).form()
	fields.Set("name", "Carla Dias")
	fields.Set("phone", "(11) 98765-4321")
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site", "Origin", s.Hub.URL}, {"Origin", "https://evil.example"},
	} {
		p := v.send(http.MethodPost, action, fields.Encode(), headers...)
		require.Equal(t, 403, p.status)
		require.Equal(t, "This request was not sent from here", p.h1())
	}
	require.Zero(t, s.appointments())
	for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin", "Origin", "null"}, {"Origin", s.Hub.URL}, {"Origin", "null"}, {}} {
		require.Equal(t, 303, v.send(http.MethodPost, action, fields.Encode(), headers...).status, headers)
	}
}

var directive = regexp.MustCompile(`style-src 'self' 'sha256-([^']+)'`)

// "CSP strict, nosniff, frame-ancestors by embed_allowed_origins, Referrer-Policy; cache
// headers sane; noindex".
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.changeSettings(object{"booking_page": object{"primary_color": "#7C3AED"}})
	v := s.visitor("en")
	p := v.get(200, s.path(""))
	policy := p.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		require.Contains(t, policy, part)
	}
	style := p.requireOne("style", "").FirstChild.Data
	sum := sha256.Sum256([]byte(style))
	require.Equal(t, base64.StdEncoding.EncodeToString(sum[:]), directive.FindStringSubmatch(policy)[1], "the one style that is allowed")
	require.Contains(t, style, "--fill:#7c3aed")
	require.NotContains(t, p.body, " style=")
	require.NotRegexp(t, `<script>|\son[a-z]+=`, p.body)
	require.Equal(t, []string{"DENY"}, p.header.Values("X-Frame-Options"))
	require.Equal(t, []string{"nosniff"}, p.header.Values("X-Content-Type-Options"))
	require.Equal(t, []string{"no-referrer"}, p.header.Values("Referrer-Policy"))
	require.Equal(t, []string{"no-store"}, p.header.Values("Cache-Control"), "nobody gets another's form")
	require.Equal(t, "text/html; charset=utf-8", p.header.Get("Content-Type"))
	require.Empty(t, p.header.Get("X-Robots-Tag"), "the first step may be found")
	require.Empty(t, p.header.Values("Set-Cookie"))
	done := s.booked(v, monday)
	for _, path := range []string{done.path, s.path("cancel", "token", token(t, done.path)), s.path("move", "token", token(t, done.path)), "/book/nobody", s.path("day")} {
		page := v.send(http.MethodGet, path, "")
		require.Equal(t, "noindex, nofollow", page.header.Get("X-Robots-Tag"), path)
		require.Equal(t, "noindex, nofollow", attr(page.requireOne("meta", "name=robots"), "content"))
		require.Equal(t, "no-referrer", page.header.Get("Referrer-Policy"))
		require.NotEmpty(t, page.header.Get("Content-Security-Policy"))
	}

	s.changeSettings(object{"booking_page": object{"embed_allowed_origins": []string{"https://aurora.example", "http://localhost:3000", "https://x;sandbox"}}})
	p = v.get(200, s.path(""))
	require.Contains(t, p.header.Get("Content-Security-Policy"), "frame-ancestors 'self' https://aurora.example http://localhost:3000")
	require.NotContains(t, p.header.Get("Content-Security-Policy"), "sandbox")
	require.Empty(t, p.header.Get("X-Frame-Options"))

	size := 0
	for _, tc := range []struct{ name, attribute, kind string }{{"link", "rel=stylesheet", "text/css; charset=utf-8"}, {"script", "", "text/javascript; charset=utf-8"}, {"link", "rel=preload", "font/woff2"}} {
		n := p.requireOne(tc.name, tc.attribute)
		address := attr(n, "href") + attr(n, "src")
		file := v.get(200, address)
		require.Equal(t, tc.kind, file.header.Get("Content-Type"))
		require.Equal(t, []string{"public, max-age=31536000, immutable"}, file.header.Values("Cache-Control"))
		if tc.name == "script" {
			size += len(file.body)
		}
		parts := strings.Split(address, "/")
		before := v.get(200, fmt.Sprintf("/book/_/before/%s", parts[len(parts)-1]))
		require.Equal(t, file.body, before.body, "a page from before an update")
		require.Equal(t, "no-cache", before.header.Get("Cache-Control"))
	}
	require.LessOrEqual(t, size, 30<<10, "≤ 30 kB of JavaScript")
	v.get(404, "/book/_/x/nothing.js")
	v.get(404, "/book/_/x/inter-LICENSE.txt")
}
