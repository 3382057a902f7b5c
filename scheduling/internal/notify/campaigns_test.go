package notify_test

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
	"integrationhub/scheduling/internal/schedulingtest"
)

const campaigns = "/remarketing/campaigns"

// consenting makes a client who agreed to be written to.
func consenting(org *schedulingtest.Bookable, name string, more object) string {
	org.T.Helper()
	client := object{"name": name, "email": strings.ToLower(name) + "@example.com", "marketing_consent": true}
	for member, value := range more {
		client[member] = value
	}
	return org.OK(201, "POST", "/clients", client)["id"].(string)
}

// over waits until a campaign is done and returns it.
func over(org *schedulingtest.Bookable, id any) (found object) {
	org.T.Helper()
	require.Eventually(org.T, func() bool {
		for _, item := range org.OK(200, "GET", campaigns, nil)["items"].([]any) {
			if found = item.(object); found["id"] == id && found["status"] == "done" {
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond)
	return found
}

// Who agreed, when, and by whom that was noted. A person who only knows a client's phone
// agrees to nothing for them.
func TestMarketingConsent(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	guest := org.Guest()
	id := consenting(org, "Ana", object{"phone": "+5511987650000"})
	shown := org.OK(200, "GET", "/clients/"+id, nil)
	require.Equal(t, true, shown["marketing_consent"])
	require.Equal(t, "staff", shown["marketing_consent_source"])
	require.Equal(t, "2026-02-27T09:00:00-03:00", shown["marketing_consent_at"])
	org.Hub.Clock.Advance(time.Minute)
	require.Equal(t, shown["marketing_consent_at"], org.OK(200, "PUT", "/clients/"+id, object{"marketing_consent": true})["marketing_consent_at"])
	require.Equal(t, true, org.OK(200, "PUT", "/clients/"+id, object{"name": "Ana P"})["marketing_consent"])
	shown = org.OK(200, "PUT", "/clients/"+id, object{"marketing_consent": false})
	require.Equal(t, []any{false, nil, nil}, []any{shown["marketing_consent"], shown["marketing_consent_at"], shown["marketing_consent_source"]})

	book := func(after time.Duration, phone, email string, agrees any) {
		t.Helper()
		request := org.BookingBody(after)
		if request["client_phone"], request["client_email"] = phone, email; agrees != nil {
			request["marketing_consent"] = agrees
		}
		guest.OK(201, "POST", org.PublicPath("/appointments"), request)
	}
	agreed := func(id string) any { return org.OK(200, "GET", "/clients/"+id, nil)["marketing_consent_source"] }
	book(0, "+5511987650000", "gil@example.com", true)
	require.Nil(t, agreed(id), "by the phone alone")
	book(30*time.Minute, "+5511987650000", "ANA@example.com", true)
	require.Equal(t, "client", agreed(id))
	book(time.Hour, "+5511911112222", "new@example.com", true)
	book(90*time.Minute, "+5511933334444", "not@example.com", nil)
	book(2*time.Hour, "+5511955556666", "nor@example.com", false)
	require.Equal(t, 2, org.Count("scheduling.clients where marketing_consent_at is not null and marketing_consent_source = 'client'"))
	require.Equal(t, 1, org.Count("scheduling.clients where marketing_consent_at is not null and email = 'new@example.com'"))
}

// A campaign goes to those who agreed and have not come for long, once a period.
func TestCampaign(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	ana, bia := consenting(org, "Ana", nil), consenting(org, "Bia", nil)
	consenting(org, "Caro", object{"email": nil, "phone": "+5511900001111"})
	consenting(org, "Davi", object{"is_blocked": true})
	consenting(org, "Edu", object{"marketing_consent": false})
	org.AdvanceClock(61 * 24 * time.Hour)
	consenting(org, "Fresh", nil)
	draft := org.AppointmentBody(24 * time.Hour)
	draft["client_id"], draft["start_at"] = bia, org.At(120*24*time.Hour)
	booking := org.OK(201, "POST", "/appointments", draft)["id"].(string)
	list := func(query string) (names []string) {
		for _, entry := range org.OK(200, "GET", "/clients/inactive"+query, nil)["items"].([]any) {
			names = append(names, entry.(object)["name"].(string))
		}
		return names
	}
	require.ElementsMatch(t, []string{"Ana", "Caio", "Caro", "Davi", "Edu"}, list(""))
	require.ElementsMatch(t, []string{"Ana", "Caro", "Davi"}, list("?consented=true"))
	require.Empty(t, list("?consented=true&days=300"))

	org.Invalid("body.days", "POST", campaigns, object{"days": 1})
	org.Invalid("body.message", "POST", campaigns, object{"message": strings.Repeat("x", 2001)})
	org.Invalid("body.remarketing_period_days", "PUT", "/organization/settings", object{"remarketing_period_days": 29})
	org.Invalid("body.remarketing_period_days", "PUT", "/organization/settings", object{"remarketing_period_days": 731})
	require.EqualValues(t, 90, org.OK(200, "GET", "/organization", nil)["settings"].(object)["remarketing_period_days"])
	org.OK(200, "PUT", "/organization/settings", object{"remarketing_message": "Temos um corte novo."})
	dry := org.OK(200, "POST", campaigns, object{"dry_run": true})
	require.Equal(t, []any{nil, "dry_run", 1.0, 60.0, "Temos um corte novo."}, []any{dry["id"], dry["status"], dry["recipients"], dry["days"], dry["message"]})
	require.Zero(t, org.Count("scheduling.campaigns"))

	var answers []object
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			got := org.Call("POST", campaigns, object{})
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, got.Body)
		})
	}
	all.Wait()
	total := 0
	for _, answer := range answers {
		total += int(answer["recipients"].(float64))
		over(org, answer["id"])
	}
	require.Equal(t, 1, total, "of campaigns at once only one has a client")
	subjects, text := org.WaitForEmails("ana@example.com", 1)
	require.Equal(t, "Studio: faz tempo que você não vem", subjects[0])
	require.Contains(t, text, "Olá, Ana!")
	require.Contains(t, text, "Temos um corte novo.")
	require.Contains(t, text, org.Hub.URL+"/book/"+org.Slug+"\n")
	var header string
	require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select unsubscribe from hub.mails where recipient = 'ana@example.com'`).Scan(&header))
	require.Contains(t, text, header, "the link of the letter is that of its List-Unsubscribe")
	require.Zero(t, org.OK(200, "POST", campaigns, object{"dry_run": true})["recipients"])
	_, err := org.Hub.Host.Pool.Exec(t.Context(), `insert into scheduling.campaign_letters (org_id, campaign_id, client_id, period)
		select org_id, (select min(id::text)::uuid from scheduling.campaigns where recipients = 0), client_id, tstzrange($1::timestamptz, $1::timestamptz + interval '1 day') from scheduling.campaign_letters`, org.Hub.Clock.Now())
	require.ErrorContains(t, err, "campaign_letters_one_a_period", "the database itself allows no second one")

	// In the next period again; a longer period that was set meanwhile counts.
	org.Transition(200, "cancel", booking, object{})
	org.WaitForEmails("bia@example.com", 1) // before the appointment is over: nobody is written to about the past
	org.AdvanceClock(89 * 24 * time.Hour)
	require.EqualValues(t, 2, org.OK(200, "POST", campaigns, object{"dry_run": true})["recipients"], "Bia and Fresh")
	org.AdvanceClock(2 * 24 * time.Hour)
	org.OK(200, "PUT", "/organization/settings", object{"remarketing_period_days": 100})
	require.EqualValues(t, 2, org.OK(200, "POST", campaigns, object{"dry_run": true})["recipients"])
	org.OK(200, "PUT", "/organization/settings", object{"remarketing_period_days": 90})
	created := org.OK(202, "POST", campaigns, object{"message": "Outra vez"})
	require.EqualValues(t, 3, created["recipients"])
	require.EqualValues(t, 3, over(org, created["id"])["sent"])
	_, text = org.WaitForEmails("ana@example.com", 2)
	require.Contains(t, text, "Outra vez")
	org.WaitForEmails("bia@example.com", 2) // the cancelled booking, and this
	org.WaitForEmails("davi@example.com", 0)
	org.WaitForEmails("edu@example.com", 0)
	require.NotEmpty(t, ana)
}

// Leaving takes a look and a press of a button, or one POST of the mail program.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	org := schedulingtest.NewBookableAlone(t)
	ana, bia := consenting(org, "Ana", nil), consenting(org, "Bia", nil)
	org.AdvanceClock(61 * 24 * time.Hour)
	over(org, org.OK(202, "POST", campaigns, object{})["id"])
	link := func(to string) (address string) {
		require.NoError(t, org.Hub.Host.Pool.QueryRow(t.Context(), `select unsubscribe from hub.mails where recipient = $1`, to).Scan(&address))
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
	agrees := func(id string) any { return org.OK(200, "GET", "/clients/"+id, nil)["marketing_consent"] }
	for range 2 { // programs that look at mails follow links
		status, page := send("GET", link("ana@example.com"), "")
		require.Equal(t, 200, status)
		require.Contains(t, page, "Não receber mais mensagens?")
		require.Contains(t, page, `method="post"`)
	}
	require.Equal(t, true, agrees(ana))
	// An e-mail may be older than the slug, and another organization may have the old slug.
	org.OK(200, "PUT", "/organization", object{"slug": "renamed-" + org.Slug})
	org.Exec(`delete from scheduling.old_slugs where org_id = $1`, org.ID)
	other := schedulingtest.RegisterOrganization(t, org.Hub)
	other.OK(200, "PUT", "/organization", object{"slug": org.Slug})
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
		wrong := org.Hub.URL + "/book/renamed-" + org.Slug + "/unsubscribe?token=" + token
		status, _ := send("POST", wrong, "List-Unsubscribe=One-Click")
		require.Equal(t, 404, status)
		status, _ = send("GET", wrong, "")
		require.Equal(t, 404, status)
	}
	status, _ := send("POST", org.Hub.URL+"/book/"+org.Slug+"/unsubscribe?"+address.RawQuery, "List-Unsubscribe=One-Click")
	require.Equal(t, 404, status, "it is another organization's")
	require.Equal(t, true, agrees(bia))
	org.AdvanceClock(91 * 24 * time.Hour)
	require.EqualValues(t, 1, org.OK(200, "POST", campaigns, object{"dry_run": true})["recipients"])
	org.RequireErased(map[string]bool{ana: false})
	org.OK(204, "DELETE", "/clients/"+bia, nil)
	status, _ = send("POST", org.Hub.URL+"/book/renamed-"+org.Slug+"/unsubscribe?"+address.RawQuery, "List-Unsubscribe=One-Click")
	require.Equal(t, 200, status, "who is forgotten is on no list")
	require.Zero(t, org.OK(200, "POST", campaigns, object{"dry_run": true})["recipients"])
}

// Through a messaging product that is connected for it. What it surely did not take is
// sent again, what may have arrived is not, and who comes after a process that died goes
// on where it stopped.
func TestCampaignByMessage(t *testing.T) {
	t.Parallel()
	m := &messenger{uses: []string{"remarketing"}}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	phones := map[string]string{}
	for i, name := range []string{"Ana", "Bia", "Caro"} {
		phones[name] = "+551190000111" + string(rune('0'+i))
		consenting(org, name, object{"phone": phones[name]})
	}
	consenting(org, "Davi", nil) // who has no phone
	org.AdvanceClock(61 * 24 * time.Hour)
	m.fails = []error{
		hub.Errorf(hub.ErrPeer, hub.CodePeerUnreachable, "away").WithCause(&net.OpError{Op: "dial", Err: io.EOF}),
		hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent"),
	}
	created := org.OK(202, "POST", campaigns, object{"message": "Temos um corte novo."})
	require.EqualValues(t, 4, created["recipients"])
	require.Eventually(t, func() bool { return len(m.messages()) == 3 }, time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		return org.Count("hub.jobs where job = 'campaigns' and tries = 1 and leased_to is null") == 1
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, 1, org.Count("scheduling.campaign_letters where sent_at is null"))
	org.Hub.Clock.Advance(time.Minute)
	require.EqualValues(t, 4, over(org, created["id"])["sent"])
	sent := map[string]int{}
	for _, message := range m.messages() {
		sent[message["number"]]++
		require.Contains(t, message["body"], "Temos um corte novo. Studio: "+org.Hub.URL+"/book/"+org.Slug)
		require.Contains(t, message["body"], "/unsubscribe?token=")
	}
	require.Len(t, m.messages(), 4)
	require.Equal(t, 2, sent[strings.TrimPrefix(m.messages()[0]["number"], "+")], "only the one that was not taken")
	org.WaitForEmails("ana@example.com", 0)
	org.WaitForEmails("davi@example.com", 1)

	// A process that died while it sent, with one message claimed and one not.
	org.AdvanceClock(91 * 24 * time.Hour)
	consenting(org, "Eva", object{"phone": "+5511900001119", "marketing_consent": true})
	next := org.OK(202, "POST", campaigns, object{})
	over(org, next["id"])
	before := len(m.messages())
	org.Exec(`update scheduling.campaign_letters set sent_at = null, claimed_at = case when client_id = (select id from scheduling.clients where name = 'Ana') then now() end
		where campaign_id = $1 and client_id in (select id from scheduling.clients where name in ('Ana', 'Bia', 'Caro'))`, next["id"])
	org.OK(200, "PUT", "/clients/"+id(org, "Caro"), object{"marketing_consent": false})
	payload, err := json.Marshal(object{"org_id": org.ID, "campaign_id": next["id"]})
	require.NoError(t, err)
	for _, job := range org.Hub.Jobs() {
		if job.Name == "campaigns" {
			require.NoError(t, job.Run(t.Context(), payload))
		}
	}
	require.Len(t, m.messages(), before+1, "Bia alone: Ana's may have arrived, Caro does not want any")
	require.Equal(t, strings.TrimPrefix(phones["Bia"], "+"), m.messages()[before]["number"])
	require.Zero(t, org.Count("scheduling.campaign_letters where sent_at is null"))
}

// What the messaging product refuses was not sent: it goes by mail, or the client is
// free for the next campaign.
func TestCampaignRefusedByMessagingProduct(t *testing.T) {
	t.Parallel()
	m := &messenger{uses: []string{"remarketing"}}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	for i, name := range []string{"Ana", "Bia", "Caro"} {
		consenting(org, name, object{"phone": "+551190000111" + string(rune('0'+i))})
	}
	org.OK(200, "PUT", "/clients/"+id(org, "Caro"), object{"email": nil})
	org.AdvanceClock(61 * 24 * time.Hour)
	status := func(code int) error { return hub.Response{Status: code}.StatusError() }
	m.fails = []error{status(422), status(403), status(404)}
	created := over(org, org.OK(202, "POST", campaigns, object{})["id"])
	require.EqualValues(t, 3, created["recipients"])
	require.EqualValues(t, 2, created["sent"])
	require.Len(t, m.messages(), 3)
	org.WaitForEmails("ana@example.com", 1)
	org.WaitForEmails("bia@example.com", 1)
	require.Contains(t, org.Hub.Log(), "the messaging product refuses a campaign message")

	// Caro was not reached. What may have been sent counts as sent.
	m.fails = []error{status(500)}
	created = over(org, org.OK(202, "POST", campaigns, object{})["id"])
	require.EqualValues(t, 1, created["recipients"])
	require.EqualValues(t, 1, created["sent"])
	require.Contains(t, org.Hub.Log(), "a campaign message may not have been sent")
}

// id finds a client by the name.
func id(org *schedulingtest.Bookable, name string) string {
	org.T.Helper()
	items := org.OK(200, "GET", "/clients?search="+url.QueryEscape(name), nil)["items"].([]any)
	require.Len(org.T, items, 1)
	return items[0].(object)["id"].(string)
}
