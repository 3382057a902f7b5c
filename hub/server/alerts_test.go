package server_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
	"integrationhub/hub/events"
)

// alert makes an alert by webhook; fields are more of the request's members.
func (n *node) alert(h *hook, fields string) string {
	n.t.Helper()
	body := `{"kind":"webhook","target":"` + h.url + `",` + strings.Trim(fields, ",") + `}`
	made := n.ok(201, "POST", "/alerts", body)
	h.trust(made["secret"].(string))
	return made["id"].(string)
}

// mails returns the mails to an address that the hub kept, newest first.
func (n *node) mails(to string) []map[string]any {
	n.t.Helper()
	return items(n.ok(200, "GET", "/dev/mail?to="+to, ""))
}

// signal leaves a signal as a change does: n endpoints of a tenant were disabled.
func (p place) signal(t *testing.T, tenant string, n int) {
	t.Helper()
	_, err := p.pool.Exec(t.Context(), `
		insert into hub.signals (event_type, tenant_id, environment, details)
		select 'hub.endpoint.disabled', $1, 'live', jsonb_build_object('endpoint_id', gen_random_uuid(), 'url', 'https://user:pass@example.com/' || i || '?token=secret', 'reason', 'gone', 'disabled_at', now())
		from generate_series(1, $2::integer) i`, tenant, n)
	require.NoError(t, err)
}

// An alert by webhook gets what it is about, signed, and its deliveries stand in the log without
// a tenant. What is about another product or tenant, or of another type, is not sent to it.
func TestAlertByWebhook(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a, b := n.account(), n.account()
	all, byTenant, keys, off := newHook(t, nil), newHook(t, nil), newHook(t, nil), newHook(t, nil)
	id := n.alert(all, `"events":["hub.*"],"product":"shop"`)
	n.alert(byTenant, `"events":["hub.endpoint.*"],"tenant_id":"`+b.tenant+`"`)
	n.alert(keys, `"events":["hub.key.expiring"]`)
	n.alert(off, `"events":["hub.*"],"enabled":false`)
	p.signal(t, a.tenant, 1)
	p.signal(t, b.tenant, 1)
	got := waitType(t, all, "hub.endpoint.disabled", 2)
	require.ElementsMatch(t, []any{a.tenant, b.tenant}, []any{got[0].Data["tenant_id"], got[1].Data["tenant_id"]})
	require.Equal(t, "https://example.com/1", got[0].Data["url"], "without credentials")
	require.Equal(t, b.tenant, waitType(t, byTenant, "hub.endpoint.disabled", 1)[0].Data["tenant_id"])
	p.noSignals(t)
	require.Len(t, byTenant.arrivals(), 1)
	require.Empty(t, keys.arrivals())
	require.Empty(t, off.arrivals())

	sent := n.delivery(got[0].ID, id)
	require.Equal(t, []any{nil, "", "delivered", all.url}, []any{sent["tenant_id"], sent["tenant_name"], sent["status"], sent["receiver"]})
	require.Nil(t, n.ok(200, "GET", "/events/"+got[0].ID, "")["tenant_id"])
	for _, filter := range []string{"environment=live", "environment=live&status=delivered", "product=hub", "status_code=200&environment=live"} {
		var found []any
		for _, item := range items(n.ok(200, "GET", "/deliveries?"+filter, "")) {
			found = append(found, item["id"])
		}
		require.Contains(t, found, sent["id"], filter)
	}
	require.Empty(t, items(n.ok(200, "GET", "/deliveries?tenant_id="+a.tenant, "")), "no tenant's log has it")
	n.ok(202, "POST", "/deliveries/"+sent["id"].(string)+"/retry", "")
	ping := n.ok(202, "POST", "/alerts/"+id+"/test", "")["event_id"].(string)
	n.settles(ping, id, "delivered")
	all.wait(4)
	p.balance(t)
}

// An alert whose webhook fails makes no alert, and none that responds 410 either: it is
// disabled, says why, and works again once it is enabled.
func TestFailingAlertMakesNoAlert(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, func(c *config.Config) { c.EndpointFailingAfter = time.Second })
	a := n.account()
	gone := make(chan struct{})
	failing, watching := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		select {
		case <-gone:
			w.WriteHeader(410)
		default:
			w.WriteHeader(500)
		}
	}), newHook(t, nil)
	id := n.alert(failing, `"events":["hub.*"]`)
	n.alert(watching, `"events":["hub.*"]`)
	a.endpoint(failing, `"event_types":["hub.*"]`) // an operational event that fails makes none
	p.signal(t, a.tenant, 8)
	require.Eventually(t, func() bool { // the retries would take half a minute
		_, err := p.pool.Exec(t.Context(), `update hub.deliveries set spent = 3, next_attempt_at = null, due_at = now() where status = 0 and next_attempt_at is not null`)
		require.NoError(t, err)
		return p.count(t, `status = 2`) == 16
	}, 3*soon, 5*tick)
	close(gone)
	p.signal(t, a.tenant, 1)
	require.Eventually(t, func() bool { return n.ok(200, "GET", "/alerts/"+id, "")["disabled_reason"] == "gone" }, soon, 5*tick)
	require.Equal(t, false, n.ok(200, "GET", "/alerts/"+id, "")["enabled"])
	waitType(t, watching, "hub.endpoint.disabled", 10) // the tenant's own endpoint responded 410 too, which is no loop
	p.noWork(t)
	require.Len(t, watching.arrivals(), 10, "%v", envelopesOf(t, watching))
	n.refused(409, "alert_disabled", "POST", "/alerts/"+id+"/test", n.token, "")
	again := n.ok(200, "PUT", "/alerts/"+id, `{"target":"`+watching.url+`","events":["hub.*"]}`)
	require.Nil(t, again["disabled_reason"])
	require.Equal(t, true, again["enabled"])
}

// noWork waits until the statistics are rolled up and every signal is published.
func (p place) noWork(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, p.pool.QueryRow(t.Context(), `select (select count(*) from hub.signals) + (select count(*) from hub.rollup_deltas)`).Scan(&waiting))
		return waiting == 0
	}, 2*soon, 5*tick)
}

// An alert by e-mail is one mail for all that happens in a minute, in words, with links into the
// console.
func TestAlertByMail(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	id := n.ok(201, "POST", "/alerts", `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)["id"].(string)
	p.signal(t, a.tenant, 1)
	require.Eventually(t, func() bool { return len(n.mails("ops@example.com")) == 1 }, 2*soon, 5*tick)
	mail := n.mails("ops@example.com")[0]
	require.Equal(t, "The endpoint https://example.com/1 of Tenant (shop, live) was disabled", mail["subject"])
	require.Contains(t, mail["text"], "It responded 410 Gone.")
	require.Contains(t, mail["text"], n.url+"/endpoints/")
	require.NotContains(t, mail["text"], "secret")

	p.signal(t, a.tenant, 70)
	p.noWork(t)
	require.Len(t, n.mails("ops@example.com"), 1, "the minute is not over")
	_, err := p.pool.Exec(t.Context(), `update hub.alerts set mailed_at = mailed_at - interval '1 minute'`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(n.mails("ops@example.com")) == 2 }, 2*soon, 5*tick)
	mail = n.mails("ops@example.com")[0]
	require.True(t, strings.HasPrefix(mail["subject"].(string), "70 notices: "), mail["subject"])
	require.Equal(t, 50, strings.Count(mail["text"].(string), "It responded 410 Gone."))
	require.Contains(t, mail["text"], "And 20 more.")
	n.ok(204, "DELETE", "/alerts/"+id, "")
}

// A disabled alert mails nothing, nor what happened before it was disabled once it is enabled again.
func TestDisabledAlertByMail(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	id := n.ok(201, "POST", "/alerts", `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)["id"].(string)
	n.ok(201, "POST", "/alerts", `{"kind":"email","target":"others@example.com","events":["hub.*"]}`)
	signal := func(mails int) { // and waits until the other alert has its mail
		p.signal(t, a.tenant, 1)
		require.Eventually(t, func() bool {
			_, err := p.pool.Exec(t.Context(), `update hub.alerts set mailed_at = mailed_at - interval '1 minute'`)
			require.NoError(t, err)
			return len(n.mails("others@example.com")) == mails
		}, 2*soon, 5*tick)
		p.noWork(t)
	}
	signal(1)
	require.Len(t, n.mails("ops@example.com"), 1)
	notice := func() {
		_, err := p.pool.Exec(t.Context(), `insert into hub.alert_notices (alert_id, notice) values ($1, 'late')`, id)
		require.NoError(t, err)
	}
	set := func(enabled bool) {
		n.ok(200, "PUT", "/alerts/"+id, fmt.Sprintf(`{"target":"ops@example.com","events":["hub.*"],"enabled":%t}`, enabled))
	}
	_, err := p.pool.Exec(t.Context(), `update hub.alerts set mailed_at = now() + interval '1 hour'`) // so that the notice waits
	require.NoError(t, err)
	notice()
	set(false)
	var waiting int
	require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.alert_notices where alert_id = $1`, id).Scan(&waiting))
	require.Zero(t, waiting)
	_, err = p.pool.Exec(t.Context(), `update hub.alerts set mailed_at = now() - interval '1 hour'`)
	require.NoError(t, err)
	notice() // of a process that read the alert before
	signal(2)
	require.Len(t, n.mails("ops@example.com"), 1)
}

// A mail server that hangs delays no webhook and no tenant's events.
func TestHangingMailServerDelaysNoWebhook(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	accepted := make(chan net.Conn, 100) // nobody answers them
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	p := newPlace(t)
	n := p.start(t, func(c *config.Config) { c.SMTPURL = config.Secret("smtp://" + listener.Addr().String()) })
	a := n.account()
	n.ok(201, "POST", "/alerts", `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)
	p.signal(t, a.tenant, 1)
	select {
	case conn := <-accepted:
		defer conn.Close()
	case <-time.After(2 * soon):
		require.Fail(t, "no mail was tried")
	}
	h := newHook(t, nil)
	n.alert(h, `"events":["hub.*"]`)
	p.signal(t, a.tenant, 1)
	waitType(t, h, "hub.endpoint.disabled", 1)
	n.stop()
}

// A hub in production without a mail server refuses alerts by e-mail, and says what to set.
func TestAlertByMailWithoutAServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, func(c *config.Config) { c.Env, c.MetricsToken = config.Production, "a token of the metrics" })
	got := n.refused(422, "mail_not_configured", "POST", "/alerts", n.token, `{"kind":"email","target":"ops@example.com","events":["hub.*"]}`)
	require.Contains(t, got.text, "HUB_SMTP_URL")
}

// Keys that end within seven days are published once each; neither later ones, nor revoked and
// replaced ones.
func TestExpiringKeysArePublishedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.start(t, nil)
	a := first.account()
	h := newHook(t, nil)
	a.endpoint(h, `"event_types":["hub.key.expiring"]`)
	in := func(d time.Duration) string {
		return `"expires_at":"` + time.Now().Add(d).UTC().Format(time.RFC3339) + `"`
	}
	soonEnding := a.key(`"environment":"live","name":"web shop",` + in(7*24*time.Hour-time.Minute))
	a.key(`"environment":"live",` + in(7*24*time.Hour+time.Hour))
	revoked, replaced := a.key(`"environment":"live",`+in(time.Hour)), a.key(`"environment":"live",`+in(time.Hour*24*30))
	a.ok(204, "DELETE", "/keys/"+revoked["id"].(string), "")
	a.ok(201, "POST", "/keys/"+replaced["id"].(string)+"/rotate", `{"overlap_seconds":3600}`)
	first.stop()
	second := p.start(t, nil)
	third := p.start(t, nil)
	got := waitType(t, h, "hub.key.expiring", 1)[0]
	require.Equal(t, []any{soonEnding["id"], "web shop", soonEnding["last4"]}, []any{got.Data["key_id"], got.Data["name"], got.Data["last4"]})
	p.noSignals(t)
	second.stop()
	third.stop()
	p.start(t, nil)
	require.Eventually(t, func() bool { // it has looked: a new key is found
		return len(ofType(t, h, "hub.key.expiring")) == 1
	}, soon, tick)
	require.Len(t, h.arrivals(), 1)
}

// Two processes publish a flood of one tenant without doubles, and another tenant's signal does
// not wait for it.
func TestFloodOfSignals(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	p.start(t, nil)
	a, b := n.account(), n.account()
	flood, other := newHook(t, nil), newHook(t, nil)
	a.endpoint(flood, `"event_types":["hub.*"]`)
	b.endpoint(other, `"event_types":["hub.*"]`)
	p.signal(t, a.tenant, 3000)
	p.signal(t, b.tenant, 1)
	waitType(t, other, "hub.endpoint.disabled", 1)
	var left int
	require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.signals`).Scan(&left))
	require.Positive(t, left, "the other did not wait for all of them")
	require.Eventually(t, func() bool {
		require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.signals`).Scan(&left))
		return left == 0
	}, 4*soon, 5*tick)
	require.Eventually(t, func() bool { return len(flood.arrivals()) >= 3000 }, 4*soon, 5*tick)
	urls := make(map[any]int)
	for _, e := range envelopesOf(t, flood) {
		urls[e.Data["url"]]++
	}
	require.Len(t, urls, 3000)
	for url, times := range urls {
		require.Equal(t, 1, times, url)
	}
	require.Len(t, other.arrivals(), 1)
}

// A signal that cannot be published holds up no other, not even of its tenant.
func TestUnreadableSignalHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	h := newHook(t, nil)
	a.endpoint(h, `"event_types":["hub.*"]`)
	_, err := p.pool.Exec(t.Context(), `
		insert into hub.signals (event_type, tenant_id, environment, details) values ('hub.endpoint.failing', $1, 'live', '{"attempts":"many"}'), ('hub.endpoint.disabled', $2, 'live', '{}')`,
		a.tenant, uuid.NewString())
	require.NoError(t, err)
	p.signal(t, a.tenant, 1)
	waitType(t, h, "hub.endpoint.disabled", 1)
	var left []string
	require.Eventually(t, func() bool {
		require.NoError(t, p.pool.QueryRow(t.Context(), `select array_agg(event_type || ' ' || (due_at > now() + interval '30 seconds')) from hub.signals`).Scan(&left))
		return fmt.Sprint(left) == "[hub.endpoint.failing true]"
	}, soon, tick, "the one of a deleted tenant is gone: %v", left)
}

// A hub that dies by kill -9 while it publishes leaves no double and no gap: another goes on.
func TestKilledHubPublishesOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := p.start(t, nil)
	a := n.account()
	h := newHook(t, nil)
	a.endpoint(h, `"event_types":["hub.*"]`)
	n.stop()
	const many = 300 // more than are published before the kill
	p.signal(t, a.tenant, many)
	left := func() (signals int) {
		require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.signals`).Scan(&signals))
		return signals
	}
	victim := p.startBinary(t, n)
	require.Eventually(t, func() bool { return left() < many }, 2*soon, tick)
	victim.stop()
	require.Positive(t, left(), "it was killed before the end")
	p.start(t, nil)
	require.Eventually(t, func() bool { return left() == 0 }, 4*soon, 5*tick)
	var events, urls int
	require.NoError(t, p.pool.QueryRow(t.Context(), `
		select count(*), count(distinct convert_from(body, 'UTF8')::json -> 'data' ->> 'url') from hub.events where event_type = 'hub.endpoint.disabled'`).Scan(&events, &urls))
	require.Equal(t, []int{many, many}, []int{events, urls})
	p.balance(t)
}

// An endpoint's ping can be the example of an operational event; the hub's event types and their
// OpenAPI document name all of them.
func TestOperationalEventTypes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h := newHook(t, nil)
	endpoint := a.endpoint(h, `"event_types":["a.*"]`)
	document := a.call("GET", "/event-types/openapi?product=hub", a.token, "").text
	for _, eventType := range events.FromHub() {
		a.ok(202, "POST", "/endpoints/"+endpoint+"/ping", `{"event_type":"`+eventType+`"}`)
		got := waitType(t, h, eventType, 1)[0]
		require.Equal(t, "hub", got.Product)
		require.NotEmpty(t, got.Data["tenant_id"])
		require.Contains(t, document, `"`+eventType+`"`)
		a.refused(422, "validation_failed", "POST", "/events", a.live, `{"event_type":"`+eventType+`","data":{}}`)
	}
	p.noSignals(t)
	require.Contains(t, a.call("GET", "/metrics", "", "").text, `hub_operational_events_total{type="hub.key.expiring"} 0`, "examples are none")
}

// What an endpoint parks again and again is one event, until nothing is parked and some time has
// passed.
func TestParkedIsPublishedOncePerEpisode(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.start(t, nil).account()
	h, watching := newHook(t, nil), newHook(t, nil)
	endpoint := a.endpoint(h, `"event_types":["a.*"],"enabled":false`)
	a.endpoint(watching, `"event_types":["hub.delivery.*"]`)
	park := func(n int) {
		for _, id := range a.batch(n, "a.b") {
			a.settles(id, endpoint, "parked")
		}
		p.noSignals(t)
	}
	enable := func(enabled string) {
		a.ok(200, "PUT", "/endpoints/"+endpoint, `{"url":"`+h.url+`","event_types":["a.*"],"enabled":`+enabled+`}`)
	}
	park(20)
	require.Len(t, watching.arrivals(), 1)
	enable("true")
	require.Eventually(t, func() bool { // looks that nothing is left take half a minute
		_, err := p.pool.Exec(t.Context(), `update hub.drains set due_at = now() where state = 'settling'`)
		require.NoError(t, err)
		var drains int
		require.NoError(t, p.pool.QueryRow(t.Context(), `select count(*) from hub.drains`).Scan(&drains))
		return drains == 0
	}, 2*soon, 5*tick)
	enable("false")
	park(3)
	require.Len(t, watching.arrivals(), 1, "soon after")
	_, err := p.pool.Exec(t.Context(), `delete from hub.drains; update hub.episodes set ended_at = now() - interval '10 minutes'`)
	require.NoError(t, err)
	park(1)
	require.Len(t, watching.arrivals(), 2)
}
