package scheduling_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
)

const campaigns = "/remarketing/campaigns"

// consenting makes a client who agreed to be written to.
func (p *plan) consenting(name string, more object) string {
	p.t.Helper()
	one := object{"name": name, "email": strings.ToLower(name) + "@example.com", "marketing_consent": true}
	for member, value := range more {
		one[member] = value
	}
	return p.ok(201, "POST", "/clients", one)["id"].(string)
}

// over waits until a campaign is done, and gives it.
func (p *plan) over(id any) (found object) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		for _, one := range p.ok(200, "GET", campaigns, nil)["items"].([]any) {
			if found = one.(object); found["id"] == id && found["status"] == "done" {
				return true
			}
		}
		return false
	}, 30*time.Second, 50*time.Millisecond)
	return found
}

// Who agreed, when, and by whom that was noted. Somebody who only knows a client's phone
// agrees to nothing for them.
func TestMarketingConsent(t *testing.T) {
	t.Parallel()
	p := opened(t)
	g := p.guest()
	id := p.consenting("Ana", object{"phone": "+5511987650000"})
	shown := p.ok(200, "GET", "/clients/"+id, nil)
	require.Equal(t, true, shown["marketing_consent"])
	require.Equal(t, "staff", shown["marketing_consent_source"])
	require.Equal(t, "2026-02-27T09:00:00-03:00", shown["marketing_consent_at"])
	p.hub.Clock.Advance(time.Minute)
	require.Equal(t, shown["marketing_consent_at"], p.ok(200, "PUT", "/clients/"+id, object{"marketing_consent": true})["marketing_consent_at"])
	require.Equal(t, true, p.ok(200, "PUT", "/clients/"+id, object{"name": "Ana P"})["marketing_consent"])
	shown = p.ok(200, "PUT", "/clients/"+id, object{"marketing_consent": false})
	require.Equal(t, []any{false, nil, nil}, []any{shown["marketing_consent"], shown["marketing_consent_at"], shown["marketing_consent_source"]})

	book := func(after time.Duration, phone, email string, agrees any) {
		t.Helper()
		wish := p.wish(after)
		wish["client_phone"], wish["client_email"], wish["marketing_consent"] = phone, email, agrees
		g.ok(201, "POST", p.public("/appointments"), wish)
	}
	agreed := func(id string) any { return p.ok(200, "GET", "/clients/"+id, nil)["marketing_consent_source"] }
	book(0, "+5511987650000", "gil@example.com", true)
	require.Nil(t, agreed(id), "by the phone alone")
	book(30*time.Minute, "+5511987650000", "ANA@example.com", true)
	require.Equal(t, "client", agreed(id))
	book(time.Hour, "+5511911112222", "new@example.com", true)
	book(90*time.Minute, "+5511933334444", "not@example.com", nil)
	book(2*time.Hour, "+5511955556666", "nor@example.com", false)
	require.Equal(t, 2, p.count("scheduling.clients where marketing_consent_at is not null and marketing_consent_source = 'client'"))
	require.Equal(t, 1, p.count("scheduling.clients where marketing_consent_at is not null and email = 'new@example.com'"))
}

// A campaign goes to those who agreed and have not come for long, once a period.
func TestCampaign(t *testing.T) {
	t.Parallel()
	p := opened(t)
	ana, bia := p.consenting("Ana", nil), p.consenting("Bia", nil)
	p.consenting("Caro", object{"email": nil, "phone": "+5511900001111"})
	p.consenting("Davi", object{"is_blocked": true})
	p.consenting("Edu", object{"marketing_consent": false})
	p.later(61 * 24 * time.Hour)
	p.consenting("Fresh", nil)
	draft := p.draft(24 * time.Hour)
	draft["client_id"], draft["start_at"] = bia, p.at(120*24*time.Hour)
	booking := p.ok(201, "POST", "/appointments", draft)["id"].(string)
	list := func(query string) (names []string) {
		for _, one := range p.ok(200, "GET", "/clients/inactive"+query, nil)["items"].([]any) {
			names = append(names, one.(object)["name"].(string))
		}
		return names
	}
	require.ElementsMatch(t, []string{"Ana", "Caio", "Caro", "Davi", "Edu"}, list(""))
	require.ElementsMatch(t, []string{"Ana", "Caro", "Davi"}, list("?consented=true"))
	require.Empty(t, list("?consented=true&days=300"))

	p.invalid("body.days", "POST", campaigns, object{"days": 1})
	p.invalid("body.message", "POST", campaigns, object{"message": strings.Repeat("x", 2001)})
	p.invalid("body.remarketing_period_days", "PUT", "/organization/settings", object{"remarketing_period_days": 29})
	p.invalid("body.remarketing_period_days", "PUT", "/organization/settings", object{"remarketing_period_days": 731})
	require.EqualValues(t, 90, p.ok(200, "GET", "/organization", nil)["settings"].(object)["remarketing_period_days"])
	p.ok(200, "PUT", "/organization/settings", object{"remarketing_message": "Temos um corte novo."})
	dry := p.ok(200, "POST", campaigns, object{"dry_run": true})
	require.Equal(t, []any{nil, "dry_run", 1.0, 60.0, "Temos um corte novo."}, []any{dry["id"], dry["status"], dry["recipients"], dry["days"], dry["message"]})
	require.Zero(t, p.count("scheduling.campaigns"))

	var answers []object
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got := p.call("POST", campaigns, object{})
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, got.body)
		})
	}
	all.Wait()
	total := 0
	for _, one := range answers {
		total += int(one["recipients"].(float64))
		p.over(one["id"])
	}
	require.Equal(t, 1, total, "of campaigns at once only one has a client")
	subjects, text := p.mails("ana@example.com", 1)
	require.Equal(t, "Studio: faz tempo que você não vem", subjects[0])
	require.Contains(t, text, "Olá, Ana!")
	require.Contains(t, text, "Temos um corte novo.")
	require.Contains(t, text, p.hub.URL+"/book/"+p.slug+"\n")
	var header string
	require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select unsubscribe from hub.mails where recipient = 'ana@example.com'`).Scan(&header))
	require.Contains(t, text, header, "the link of the letter is that of its List-Unsubscribe")
	require.Zero(t, p.ok(200, "POST", campaigns, object{"dry_run": true})["recipients"])
	_, err := p.hub.Host.Pool.Exec(t.Context(), `insert into scheduling.campaign_letters (org_id, campaign_id, client_id, period)
		select org_id, (select min(id::text)::uuid from scheduling.campaigns where recipients = 0), client_id, tstzrange($1::timestamptz, $1::timestamptz + interval '1 day') from scheduling.campaign_letters`, p.hub.Clock.Now())
	require.ErrorContains(t, err, "campaign_letters_one_a_period", "the database itself allows no second one")

	// In the next period again; a longer period that was set meanwhile counts.
	p.do(200, "cancel", booking, object{})
	p.later(89 * 24 * time.Hour)
	require.EqualValues(t, 2, p.ok(200, "POST", campaigns, object{"dry_run": true})["recipients"], "Bia and Fresh")
	p.later(2 * 24 * time.Hour)
	p.ok(200, "PUT", "/organization/settings", object{"remarketing_period_days": 100})
	require.EqualValues(t, 2, p.ok(200, "POST", campaigns, object{"dry_run": true})["recipients"])
	p.ok(200, "PUT", "/organization/settings", object{"remarketing_period_days": 90})
	made := p.ok(202, "POST", campaigns, object{"message": "Outra vez"})
	require.EqualValues(t, 3, made["recipients"])
	require.EqualValues(t, 3, p.over(made["id"])["sent"])
	_, text = p.mails("ana@example.com", 2)
	require.Contains(t, text, "Outra vez")
	p.mails("bia@example.com", 2) // the cancelled booking, and this
	p.mails("davi@example.com", 0)
	p.mails("edu@example.com", 0)
	require.NotEmpty(t, ana)
}

// Leaving takes a look and a press of a button, or one POST of the mail program.
func TestLeavingTheList(t *testing.T) {
	t.Parallel()
	p := opened(t)
	ana, bia := p.consenting("Ana", nil), p.consenting("Bia", nil)
	p.later(61 * 24 * time.Hour)
	p.over(p.ok(202, "POST", campaigns, object{})["id"])
	link := func(to string) (address string) {
		require.NoError(t, p.hub.Host.Pool.QueryRow(t.Context(), `select unsubscribe from hub.mails where recipient = $1`, to).Scan(&address))
		return address
	}
	send := func(method, address, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(text)
	}
	agrees := func(id string) any { return p.ok(200, "GET", "/clients/"+id, nil)["marketing_consent"] }
	for range 2 { // programs that look at mails follow links
		status, page := send("GET", link("ana@example.com"), "")
		require.Equal(t, 200, status)
		require.Contains(t, page, "Não receber mais mensagens?")
		require.Contains(t, page, `method="post"`)
	}
	require.Equal(t, true, agrees(ana))
	// A letter may be older than the slug, by any time, and others may have the old one.
	p.ok(200, "PUT", "/organization", object{"slug": "renamed-" + p.slug})
	p.exec(`delete from scheduling.old_slugs where org_id = $1`, p.org)
	other := another(t, p.hub)
	other.ok(200, "PUT", "/organization", object{"slug": p.slug})
	for range 2 {
		status, page := send("POST", link("ana@example.com"), "List-Unsubscribe=One-Click")
		require.Equal(t, 200, status)
		require.Contains(t, page, "Você não receberá mais mensagens")
	}
	require.Equal(t, false, agrees(ana))
	require.Equal(t, true, agrees(bia))
	address, err := url.Parse(link("bia@example.com"))
	require.NoError(t, err)
	for _, token := range []string{"", "x", strings.Replace(address.Query().Get("token"), address.Query().Get("token")[30:34], "AAAA", 1)} {
		wrong := p.hub.URL + "/book/renamed-" + p.slug + "/unsubscribe?token=" + token
		status, _ := send("POST", wrong, "List-Unsubscribe=One-Click")
		require.Equal(t, 404, status)
		status, _ = send("GET", wrong, "")
		require.Equal(t, 404, status)
	}
	status, _ := send("POST", p.hub.URL+"/book/"+p.slug+"/unsubscribe?"+address.RawQuery, "List-Unsubscribe=One-Click")
	require.Equal(t, 404, status, "it is another organization's")
	require.Equal(t, true, agrees(bia))
	p.later(91 * 24 * time.Hour)
	require.EqualValues(t, 1, p.ok(200, "POST", campaigns, object{"dry_run": true})["recipients"])
	p.gone(map[string]bool{ana: false})
	p.ok(204, "DELETE", "/clients/"+bia, nil)
	status, _ = send("POST", p.hub.URL+"/book/renamed-"+p.slug+"/unsubscribe?"+address.RawQuery, "List-Unsubscribe=One-Click")
	require.Equal(t, 200, status, "who is forgotten is on no list")
	require.Zero(t, p.ok(200, "POST", campaigns, object{"dry_run": true})["recipients"])
}

// Through a messaging product that is connected for it. What it surely did not take is
// sent again, what may have arrived is not, and who comes after a process that died goes
// on where it stopped.
func TestCampaignByMessage(t *testing.T) {
	t.Parallel()
	m := &messenger{uses: []string{"remarketing"}}
	p := lending(t, func(host *module.Host) { host.Peers = m })
	phones := map[string]string{}
	for i, name := range []string{"Ana", "Bia", "Caro"} {
		phones[name] = "+551190000111" + string(rune('0'+i))
		p.consenting(name, object{"phone": phones[name]})
	}
	p.consenting("Davi", nil) // who has no phone
	p.later(61 * 24 * time.Hour)
	m.fails = []error{
		hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "away").WithCause(&net.OpError{Op: "dial", Err: io.EOF}),
		hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent"),
	}
	made := p.ok(202, "POST", campaigns, object{"message": "Temos um corte novo."})
	require.EqualValues(t, 4, made["recipients"])
	require.Eventually(t, func() bool { return len(m.messages()) == 3 }, 30*time.Second, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		return p.count("hub.jobs where job = 'campaigns' and tries = 1 and leased_to is null") == 1
	}, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, 1, p.count("scheduling.campaign_letters where sent_at is null"))
	p.hub.Clock.Advance(time.Minute)
	require.EqualValues(t, 4, p.over(made["id"])["sent"])
	sent := map[string]int{}
	for _, one := range m.messages() {
		sent[one["number"]]++
		require.Contains(t, one["body"], "Temos um corte novo. Studio: "+p.hub.URL+"/book/"+p.slug)
		require.Contains(t, one["body"], "/unsubscribe?token=")
	}
	require.Len(t, m.messages(), 4)
	require.Equal(t, 2, sent[strings.TrimPrefix(m.messages()[0]["number"], "+")], "only the one that was not taken")
	p.mails("ana@example.com", 0)
	p.mails("davi@example.com", 1)

	// A process that died while it sent, with one letter claimed and one not.
	p.later(91 * 24 * time.Hour)
	p.consenting("Eva", object{"phone": "+5511900001119", "marketing_consent": true})
	next := p.ok(202, "POST", campaigns, object{})
	p.over(next["id"])
	before := len(m.messages())
	p.exec(`update scheduling.campaign_letters set sent_at = null, claimed_at = case when client_id = (select id from scheduling.clients where name = 'Ana') then now() end
		where campaign_id = $1 and client_id in (select id from scheduling.clients where name in ('Ana', 'Bia', 'Caro'))`, next["id"])
	p.ok(200, "PUT", "/clients/"+p.id("Caro"), object{"marketing_consent": false})
	payload, err := json.Marshal(object{"org_id": p.org, "campaign_id": next["id"]})
	require.NoError(t, err)
	for _, job := range p.jobs() {
		if job.Name == "campaigns" {
			require.NoError(t, job.Run(t.Context(), payload))
		}
	}
	require.Len(t, m.messages(), before+1, "Bia alone: Ana's may have arrived, Caro does not want any")
	require.Equal(t, strings.TrimPrefix(phones["Bia"], "+"), m.messages()[before]["number"])
	require.Zero(t, p.count("scheduling.campaign_letters where sent_at is null"))
}

// What the messaging product refuses was not sent: it goes by mail, or the client is
// free for the next campaign.
func TestACampaignThatIsRefused(t *testing.T) {
	t.Parallel()
	m := &messenger{uses: []string{"remarketing"}}
	p := lending(t, func(host *module.Host) { host.Peers = m })
	for i, name := range []string{"Ana", "Bia", "Caro"} {
		p.consenting(name, object{"phone": "+551190000111" + string(rune('0'+i))})
	}
	p.ok(200, "PUT", "/clients/"+p.id("Caro"), object{"email": nil})
	p.later(61 * 24 * time.Hour)
	status := func(code int) error { return hub.Response{Status: code}.StatusError() }
	m.fails = []error{status(422), status(403), status(404)}
	made := p.over(p.ok(202, "POST", campaigns, object{})["id"])
	require.EqualValues(t, 3, made["recipients"])
	require.EqualValues(t, 2, made["sent"])
	require.Len(t, m.messages(), 3)
	p.mails("ana@example.com", 1)
	p.mails("bia@example.com", 1)
	require.Contains(t, p.hub.Log(), "the messaging product refuses a letter of a campaign")

	// Caro was not reached. What may have been sent counts as sent.
	m.fails = []error{status(500)}
	made = p.over(p.ok(202, "POST", campaigns, object{})["id"])
	require.EqualValues(t, 1, made["recipients"])
	require.EqualValues(t, 1, made["sent"])
	require.Contains(t, p.hub.Log(), "a letter of a campaign may not have been sent")
}

// id finds a client by the name.
func (p *plan) id(name string) string {
	p.t.Helper()
	items := p.ok(200, "GET", "/clients?search="+url.QueryEscape(name), nil)["items"].([]any)
	require.Len(p.t, items, 1)
	return items[0].(object)["id"].(string)
}
