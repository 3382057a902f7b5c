package scheduling_test

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/proofofwork"
)

// solve does the work that a challenge asks for.
func solve(t testing.TB, challenge string) string {
	t.Helper()
	var c proofofwork.Challenge
	require.NoError(t, json.Unmarshal([]byte(challenge), &c))
	answer, ok := c.Solve()
	require.True(t, ok)
	return answer
}

// proven books with a proof of work, which the organization wants from now on.
func (p *plan) proven(wish object) object {
	p.t.Helper()
	p.ok(200, "PUT", "/organization/settings", object{"proof_of_work": true})
	g := p.guest()
	wish["altcha"] = solve(p.t, g.call("GET", p.public("/challenge"), nil).text)
	return g.ok(201, "POST", p.public("/appointments"), wish)
}

// "optional proof-of-work": off unless an organization wants it, and then every booking
// takes an answer of its own.
func TestProofOfWork(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	const code = "proof_of_work_required"
	require.Equal(t, false, g.ok(200, "GET", p.public(""), nil)["proof_of_work"])
	wish := p.wish(0)
	p.proven(wish)
	require.Equal(t, true, g.ok(200, "GET", p.public(""), nil)["proof_of_work"])
	wish["start_at"] = p.at(time.Hour)
	g.invalid2(code, "body.altcha", "POST", p.public("/appointments"), wish) // spent
	for _, none := range []any{nil, "x"} {
		if wish["altcha"] = none; none == nil {
			delete(wish, "altcha")
		}
		g.invalid2(code, "body.altcha", "POST", p.public("/appointments"), wish)
	}
	other := another(t, p.hub).open()
	wish["altcha"] = solve(t, other.guest().call("GET", other.public("/challenge"), nil).text)
	g.invalid2(code, "body.altcha", "POST", p.public("/appointments"), wish)

	// What could not be booked did not spend it; at once it counts once.
	wish["altcha"], wish["start_at"] = solve(t, g.call("GET", p.public("/challenge"), nil).text), p.at(0)
	g.refused(409, "slot_unavailable", "POST", p.public("/appointments"), wish)
	requests := make([]func() answer, 5)
	for i := range requests {
		requests[i] = func() answer {
			mine := object{}
			for name, value := range wish {
				mine[name] = value
			}
			mine["start_at"] = p.at(time.Duration(i+1) * 30 * time.Minute)
			got, _ := g.try("POST", p.public("/appointments"), mine)
			return got
		}
	}
	require.Equal(t, map[string]int{"201": 1, "422 " + code: 4}, codes(atOnce(requests...)))
	wish["altcha"], wish["start_at"] = solve(t, g.call("GET", p.public("/challenge"), nil).text), p.at(24*time.Hour)
	p.hub.Clock.Advance(time.Hour)
	g.invalid2(code, "body.altcha", "POST", p.public("/appointments"), wish)
	p.later(0)
	p.ok(201, "POST", "/appointments", p.draft(24*time.Hour)) // staff need none
}

var challenged = regexp.MustCompile(`data-proof="([^"]+)"`)

// The page brings its challenge along; without JavaScript it says what is missing.
func TestThePageWithProofOfWork(t *testing.T) {
	t.Parallel()
	p := opened(t)
	p.ok(200, "PUT", "/organization", object{"locale": "en"})
	form := url.Values{"service": {p.service}, "professional": {p.professional}, "start": {p.at(0)}, "key": {uuid.NewString()}, "name": {"Gil Reis"}, "phone": {"11 98765-0000"}}
	address := p.hub.URL + "/book/" + p.slug + "/details?" + form.Encode()
	require.NotContains(t, get(t, address), "data-proof")
	p.ok(200, "PUT", "/organization/settings", object{"proof_of_work": true})
	page := get(t, address)
	require.Contains(t, page, "<noscript>")
	without := p.sent(form)
	require.Equal(t, 422, without.status)
	require.Contains(t, without.text, "needs JavaScript")
	require.Contains(t, without.text, `value="Gil Reis"`)
	again := challenged.FindStringSubmatch(without.text)[1]
	require.NotEqual(t, challenged.FindStringSubmatch(page)[1], again)
	form.Set("altcha", solve(t, html.UnescapeString(again)))
	done := p.sent(form)
	require.Equal(t, 303, done.status, done.text)
	require.Equal(t, done.text, p.sent(form).text, "sent again it is the same booking")
	require.Len(t, p.list("/appointments"), 1)
}
