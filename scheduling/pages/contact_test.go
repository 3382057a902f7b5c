package pages_test

import (
	"image/color"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// withContact sets the organization's address and phone.
func (s *studio) withContact() {
	s.T.Helper()
	s.OK(200, "PUT", "/organization", object{"phone": "+5511999990000", "address": "Rua Augusta, 1200\nSão Paulo"})
}

// "a zone beside each time": next to every time of every page stands its offset.
func TestEveryTimeHasItsZone(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.OK(201, "POST", "/schedule-exceptions", object{"professional_id": s.ana, "date": "2026-03-03", "exception_type": "block"})
	v := s.visitor("en")
	ana := []string{"service", s.service, "professional", s.ana}
	late := s.details(v, monday)
	moving := s.booked(v, "2026-03-04T08:00:00-03:00")
	done := s.booked(v, monday)
	taken := v.submit(late, "name", "Davi Reis", "phone", "11 91234-5678")
	require.Equal(t, 409, taken.status)
	reference := token(t, moving.path)
	move := v.get(200, s.path("move", "token", reference, "start", monday))
	moveTaken := v.submit(move)
	require.Equal(t, 409, moveTaken.status)
	for name, p := range map[string]*page{
		"times": v.get(200, s.path("time", append(ana, "date", "2026-03-02")...)), "no times": v.get(200, s.path("time", append(ana, "date", "2026-03-03")...)),
		"details": late, "taken": taken, "done": done, "cancel": v.click(done, "Cancel or move"), "move": move, "move taken": moveTaken,
	} {
		times := p.all("time", "")
		require.NotEmpty(t, times, name)
		for _, shown := range times {
			require.Contains(t, textOf(zoneBeside(shown)), "GMT−3", "%s: %s", name, textOf(shown))
		}
	}
}

// zoneBeside returns the element after a time, or after what marks the time.
func zoneBeside(shown *html.Node) *html.Node {
	for at := shown; at != nil; at = at.Parent {
		for next := at.NextSibling; next != nil; next = next.NextSibling {
			if next.Type == html.ElementNode {
				return next
			}
		}
		if at.Parent == nil || at.Parent.Data != "s" && at.Parent.Data != "strong" {
			break
		}
	}
	return &html.Node{}
}

// "address and phone of the organization on mobile and on the confirmation": every page of
// an organization has both, once.
func TestContactOnEveryPage(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	require.Empty(t, v.get(200, s.path("")).all("address", ""), "nothing where there is nothing to say")
	s.withContact()
	ana := []string{"service", s.service, "professional", s.ana}
	for _, p := range []*page{
		v.get(200, s.path("")), v.get(200, s.path("professional", "service", s.service)), v.get(200, s.path("day", ana...)),
		v.get(200, s.path("time", append(ana, "date", "2026-03-02")...)), s.details(v, monday), v.get(404, s.path("cancel", "token", "x")),
	} {
		contact := p.requireOne("aside", "class=contact")
		require.Equal(t, "Rua Augusta, 1200 São Paulo Phone: (11) 99999-0000", textOf(contact), p.path)
		require.Equal(t, "tel:+5511999990000", p.link("(11) 99999-0000"))
	}
	done := s.booked(v, monday)
	for _, p := range []*page{done, v.click(done, "Cancel or move")} {
		lines := textOf(p.requireOne("dl", "class=lines"))
		require.Contains(t, lines, "Address Rua Augusta, 1200 São Paulo")
		require.Contains(t, lines, "Phone (11) 99999-0000")
		require.Equal(t, "tel:+5511999990000", p.link("(11) 99999-0000"))
		require.Equal(t, 1, strings.Count(p.text(), "99999-0000"))
		require.Equal(t, 1, strings.Count(p.text(), "Rua Augusta"))
	}
}

// "service and professional photos … shown on the pages": the uploaded ones, which the
// browser may load and the hub serves.
func TestPhotosOnThePages(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	v := s.visitor("en")
	photo := s.PNG(90, 60, color.Black)
	require.Equal(t, 200, s.Upload("/services/"+s.service+"/image", "file", photo).Status)
	require.Equal(t, 200, s.Upload("/professionals/"+s.ana+"/avatar", "file", photo).Status)
	for step, class := range map[string]string{"": "photo", "professional": "face"} {
		p := v.get(200, s.path(step, "service", s.service))
		address := attr(p.requireOne("img", "class="+class), "src")
		origin, name, found := strings.Cut(address, "/files/scheduling/")
		require.True(t, found, address)
		require.Contains(t, p.header.Get("Content-Security-Policy"), "img-src 'self' data: https: "+origin+";")
		served := v.get(200, "/files/scheduling/"+name)
		require.Equal(t, "image/png", served.header.Get("Content-Type"))
	}
}

// `a sandbox "pay" button where the organization takes payments (development only)`.
func TestSandboxPayment(t *testing.T) {
	t.Parallel()
	s := newStudio(t)
	s.OK(200, "PUT", "/services/"+s.service, object{"requires_deposit": true, "deposit_amount": 30})
	v := s.visitor("en")
	due := s.booked(v, monday)
	require.Equal(t, "Pay the deposit to keep your time", due.h1())
	require.Contains(t, due.text(), "Pay in the sandbox")
	require.Equal(t, 405, v.send(http.MethodGet, s.path("pay", "token", token(t, due.path)), "").status, "looking pays nothing")
	require.Equal(t, 404, v.send(http.MethodPost, s.path("pay"), "token=x").status)
	require.Equal(t, 403, v.send(http.MethodPost, s.path("pay"), "token="+token(t, due.path), "Sec-Fetch-Site", "cross-site").status)
	require.Equal(t, 1, s.Count("scheduling.sandbox_charges where status = 'pending'"))
	answer := v.submit(due)
	require.Equal(t, due.path, v.follow(answer).path)
	require.Eventually(t, func() bool { return strings.Contains(v.get(200, due.path).text(), "Deposit paid") }, time.Minute, 50*time.Millisecond)
	action, fields := due.form()
	require.Equal(t, 303, v.send(http.MethodPost, action, fields.Encode()).status, "twice is no error")
	require.Equal(t, 1, s.Count("scheduling.sandbox_charges where status = 'paid'"))
	require.Empty(t, v.get(200, due.path).all("form", ""), "there is nothing more to pay")

	none := newStudio(t, "HUB_ENV=production", "HUB_PUBLIC_URL=https://hub.example.com")
	reference := token(t, none.booked(none.visitor("en"), monday).path)
	require.Equal(t, 303, none.visitor("en").send(http.MethodPost, none.path("pay"), "token="+reference).status, "nothing is due")
	none.Exec(`update scheduling.appointments set deposit_status = 'pending', deposit_cents = 3000, hold_until = start_at`)
	refused := none.visitor("en").send(http.MethodPost, none.path("pay"), "token="+reference)
	require.Equal(t, 404, refused.status, refused.text())
	require.NotContains(t, none.visitor("en").get(200, none.path("done", "token", reference)).text(), "sandbox")
}
