package main_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMainJob is the README's way from nothing to a delivered, verified webhook.
func TestMainJob(t *testing.T) {
	t.Parallel()
	c := newCLI(t).with("HUB_DATA_DIR", sharedHub(t).dataDir)

	require.Equal(t, "crm", c.run("products", "create", "crm", "--prefix", "crm", "-q").ok())
	require.Len(t, c.run("tenants", "create", "Acme", "--product", "crm", "-q").ok(), 36)
	listen := c.start("listen", "--tenant", "acme", "--count", "1", "--timeout", "60s", "--body")
	listen.await(listen.errs, "listening on http://127.0.0.1:")

	key := c.run("keys", "create", "--tenant", "Acme", "-q").ok()
	require.Regexp(t, `^crm_live_[0-9A-Za-z]{20,}$`, key)
	c = c.with("HUB_KEY", key)
	event := c.run("publish", "--type", "contact.created", "--data", `{"name":"Ana <&>"}`).ok()
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, event)

	require.Zero(t, listen.end(), listen.errs.String())
	require.Regexp(t, event+`  contact\.created  crm  attempt 1  \d+ B  signature ok \(X-Webhook-Signature ok, webhook-signature ok\)  answered 200`, listen.out.String())
	require.Contains(t, listen.out.String(), `"name": "Ana <&>"`)
	require.Empty(t, c.run("endpoints", "list", "--tenant", "Acme", "-q").ok(), "the temporary endpoint is removed")

	var shown string
	require.Eventually(t, func() bool {
		shown = c.run("deliveries", "show", "--event", event).ok()
		return strings.Contains(shown, "delivered after 1 attempt")
	}, soon, 50*time.Millisecond)
	require.Regexp(t, `(?m)^attempt 1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z  200$`, shown)
	require.Regexp(t, `phases      queue [\d.]+ ms \| dns [\d.]+ ms \| connect [\d.]+ ms \| tls 0\.0 ms \| first byte [\d.]+ ms \| total [\d.]+ ms`, shown)
	require.NotContains(t, shown, "X-Webhook-Signature")
	require.Regexp(t, `X-Webhook-Signature: sha256=[0-9a-f]{8}`, c.run("deliveries", "show", "--event", event, "--headers").ok())
	require.Regexp(t, `(?m)^\S+ \S+  \S+  `+event+`  contact\.created  crm      delivered  200          1`, c.run("deliveries", "list", "--tenant", "Acme").ok())
	require.Contains(t, c.run("events", "show", event).ok(), `"data":{"name":"Ana <&>"}`, "data is kept as it was given")
}

// TestDemo runs it twice, and once more on what a killed one left behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).with("HUB_DATA_DIR", s.dataDir)
	first := c.run("demo").ok()
	for _, text := range []string{
		"1. A product", "$ hub products create demo --prefix demo", "attempt 1  signature ok", "answered 500",
		"attempt 2  signature ok", "delivered after 2 attempts", "4 delivered and verified",
	} {
		require.Contains(t, first, text)
	}
	require.NotContains(t, first, "It is there already.")
	// The organization, its week and its page.
	require.Contains(t, first, "Booking page         "+s.url+"/book/demo-salon")
	require.Regexp(t, `A client's own page  `+s.url+`/book/demo-salon/cancel\?token=\S+`, first)
	password := regexp.MustCompile(`logs in as demo@example.com with the password (\w+)`).FindStringSubmatch(first)
	require.NotNil(t, password, first)
	var session struct {
		AccessToken string `json:"access_token"`
	}
	s.into(t, &session, 200, "POST", "/scheduling/api/v1/auth/login", fmt.Sprintf(`{"email":"demo@example.com","password":%q}`, password[1]))
	from, until := time.Now().Format(time.DateOnly), time.Now().AddDate(0, 0, 9).Format(time.DateOnly)
	status, text := s.call(t, "GET", "/scheduling/api/v1/appointments?date_from="+from+"&date_to="+until, "", "Authorization", "Bearer "+session.AccessToken)
	require.Equal(t, 200, status, text)
	var week []struct{ Status, Source string }
	require.NoError(t, json.Unmarshal([]byte(text), &week))
	week = slices.DeleteFunc(week, func(appointment struct{ Status, Source string }) bool { return appointment.Status == "cancelled" })
	require.Len(t, week, 36, "two each of three professionals on six days; one is a Sunday")
	require.Contains(t, first, "36 bookings in the next 7 days")
	var published int
	s.scan(t, []any{&published}, `select count(*) from hub.events where product = 'scheduling' and event_type = 'appointment.created'`)
	require.GreaterOrEqual(t, published, 36)
	requireJourney(t, s, first)
	require.Empty(t, c.run("endpoints", "list", "--tenant", "Demo Bakery", "-q").ok())
	require.Contains(t, c.run("keys", "list", "--tenant", "Demo Bakery").ok(), "revoked")
	require.NotContains(t, c.run("keys", "list", "--tenant", "Demo Bakery").ok(), "active")

	require.Equal(t, 2, strings.Count(c.run("demo").ok(), "It is there already."), "the product and the tenant")
	again := c.run("demo").ok()
	require.Contains(t, again, "Demo Salon has been there since an earlier demo.")
	require.Contains(t, again, "/book/demo-salon")
	require.Contains(t, again, "Demo Clinic has been there since an earlier demo.")
	requireJourney(t, s, again)
	require.NotContains(t, c.run("keys", "list", "--tenant", "Demo Clinic").ok(), "hub demo  active")
	var clinics, patients, links, open int
	s.scan(t, []any{&clinics, &patients}, `select count(distinct c.id), count(p.id) from clinic.clinics c join clinic.patients p on p.clinic_id = c.id where c.name = 'Demo Clinic'`)
	s.scan(t, []any{&links}, `select count(*) from hub.integrations i join hub.tenants t on t.id = i.tenant_id where t.name in ('Demo Clinic', 'Demo Salon')`)
	s.scan(t, []any{&open}, `select count(*) from clinic.appointments a join clinic.clinics c on c.id = a.clinic_id where c.name = 'Demo Clinic' and a.status <> 'cancelled'`)
	require.Equal(t, []int{1, 1, 2, 0}, []int{clinics, patients, links, open}, "what is there is used again, and every booking was cancelled")
	require.Len(t, strings.Split(c.run("tenants", "list", "--product", "demo", "-q").ok(), "\n"), 1)

	// What a killed demo left goes, what may be running stays.
	left := func(age string) (key, endpoint string) {
		var k, e struct {
			ID string `json:"id"`
		}
		c.run("keys", "create", "--tenant", "Demo Bakery", "--name", "hub demo", "-o", "json").into(&k)
		c.run("endpoints", "create", "http://127.0.0.1:1/", "--tenant", "Demo Bakery", "--events", "none",
			"--description", "hub demo", "-o", "json").into(&e)
		s.exec(t, `update hub.keys set created_at = now() - $2::interval where id = $1`, k.ID, age)
		s.exec(t, `update hub.endpoints set created_at = now() - $2::interval where id = $1`, e.ID, age)
		return k.ID, e.ID
	}
	_, oldEndpoint := left("1 hour")
	youngKey, youngEndpoint := left("1 minute")
	var log struct {
		Items []struct {
			Attempts []json.RawMessage `json:"attempts"`
		} `json:"items"`
	}
	c.run("demo", "-o", "json").into(&log)
	require.Len(t, log.Items, 4)
	require.Len(t, log.Items[3].Attempts, 2)
	require.Equal(t, youngEndpoint, c.run("endpoints", "list", "--tenant", "Demo Bakery", "-q").ok())
	require.NotEqual(t, oldEndpoint, youngEndpoint)
	keys := c.run("keys", "list", "--tenant", "Demo Bakery").ok()
	require.Equal(t, 1, strings.Count(keys, "active"))
	require.Regexp(t, `(?m)^`+youngKey+` .* active `, keys)
}

// requireJourney requires that a demo told, from the delivery log, how a booking and its
// cancellation came to the patient's history, and that the log has what it told.
func requireJourney(t *testing.T, s *served, output string) {
	t.Helper()
	require.Regexp(t, `scheduling → clinic +active\n +clinic +→ scheduling +active`, output)
	require.Contains(t, output, "Teresa Nogueira  CPF ***.***.***-25")
	stations := func(begins, eventType, status string) string {
		return `● ` + begins + `.* by Teresa Nogueira\n` +
			` +● published +\d\d:\d\d:\d\d\.\d{3}Z  (evt_[0-9a-f]{16})  ` + eventType + `, in the transaction of the change\n` +
			`(?: +● attempt \d+ +\+\d+ ms  .*\n)* +● attempt \d+ +\+\d+ ms  answered 200 after \d+\.\d ms\n` +
			` +● received +\+\d+ ms  by Demo Clinic, its signature checked: accepted\n` +
			` +● on history of the patient Teresa Nogueira at Demo Clinic: [A-Z][a-z]+, ` + status + `\n`
	}
	for _, pattern := range []string{stations("booked", `appointment\.created`, "scheduled"), stations("cancelled", `appointment\.cancelled`, "cancelled")} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(output)
		require.NotNil(t, found, "%s\n%s", pattern, output)
		var sent, received int
		s.scan(t, []any{&sent, &received}, `select count(*) filter (where not inbound), count(*) filter (where inbound) from hub.deliveries where event_id = ('x' || substr($1, 5))::bit(64)::bigint`, found[1])
		require.Equal(t, []int{1, 1}, []int{sent, received})
	}
}

func TestKeysAndEndpoints(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	type key struct {
		ID        string     `json:"id"`
		APIKey    string     `json:"api_key"`
		Scopes    []string   `json:"scopes"`
		Rate      string     `json:"rate"`
		ExpiresAt *time.Time `json:"expires_at"`
		RevokedAt *time.Time `json:"revoked_at"`
	}
	var made key
	p.run("keys", "create", "--tenant", p.tenant, "--scope", "events.publish", "--rate", "7-H", "--expires", "90d", "-o", "json").into(&made)
	require.WithinDuration(t, time.Now().Add(90*24*time.Hour), *made.ExpiresAt, 5*time.Minute)
	require.Equal(t, []string{"events.publish"}, made.Scopes)
	require.Equal(t, "7-H", made.Rate)
	p.with("HUB_KEY", made.APIKey).run("publish", "--type", "a.b").ok()
	newCLI(t).with("HUB_URL", p.hub.url).with("HUB_KEY", made.APIKey).run("endpoints", "list").fails(4, "(missing_scope, request ", "the key lacks the scope")

	second := p.run("keys", "create", "--tenant", p.tenant)
	require.Contains(t, second.ok(), "api_key      "+p.product+"_live_")
	require.Contains(t, second.err, "shown this once")
	list := p.run("keys", "list", "--tenant", p.tenant).ok()
	require.Contains(t, list, p.product+"_live_…"+made.APIKey[len(made.APIKey)-4:])
	require.NotContains(t, list, made.APIKey)

	require.Contains(t, p.run("keys", "rotate", made.ID, "--overlap", "7d").ok(), p.product+"_live_")
	var page struct{ Items []key }
	p.run("keys", "list", "--tenant", p.tenant, "-o", "json").into(&page)
	require.Len(t, page.Items, 3)
	for _, key := range page.Items {
		if key.ID == made.ID {
			ends := key.ExpiresAt
			if key.RevokedAt != nil {
				ends = key.RevokedAt
			}
			require.WithinDuration(t, time.Now().Add(7*24*time.Hour), *ends, 5*time.Minute)
		}
	}
	p.run("keys", "revoke", made.ID).ok()
	p.with("HUB_KEY", made.APIKey).run("publish", "--type", "a.b").fails(4, "check HUB_KEY")
	p.run("keys", "revoke", "0198aaaa-0000-7000-8000-000000000000").fails(5, "(not_found, request ")
	other := p.run("keys", "list", "--tenant", p.tenant, "-q", "--limit", "1").ok()
	p.run("keys", "revoke", "0198aaaa-0000-7000-8000-000000000000", other).fails(6, "1 of 2 failed", "0198aaaa")
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	receiver := newPeer(t, 200, "thanks")
	secret := p.run("endpoints", "create", receiver.URL, "--tenant", p.tenant, "--events", "contact.*,ticket.*", "-q").ok()
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	id := p.run("endpoints", "list", "--tenant", p.tenant, "-q").ok()
	require.Contains(t, p.run("endpoints", "update", id, "--enabled=false", "--rate-per-minute", "50").ok(), "50 a minute")
	shown := p.run("endpoints", "show", id).ok()
	require.Contains(t, shown, "disabled")
	require.Contains(t, shown, "contact.*,ticket.*", "what is not given stays")
	require.NotContains(t, shown, secret)
	require.NotEqual(t, secret, p.run("endpoints", "rotate-secret", id, "--overlap", "1h", "-q").ok())
	var endpoint struct {
		Until time.Time `json:"previous_secret_until"`
	}
	p.run("endpoints", "show", id, "-o", "json").into(&endpoint)
	require.WithinDuration(t, time.Now().Add(time.Hour), endpoint.Until, 5*time.Minute)

	p.run("endpoints", "update", id, "--enabled").ok()
	ping := p.run("endpoints", "ping", id)
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, ping.ok())
	require.Contains(t, ping.err, "on its way")
	p.settled(1, "delivered")
	require.Contains(t, p.run("deliveries", "show", "--event", ping.ok()).ok(), "answered    thanks")

	// A tenant manages its own with its key; the operator's right is not needed.
	tenant := newCLI(t).with("HUB_URL", p.hub.url).with("HUB_KEY", p.run("keys", "create", "--tenant", p.tenant, "-q").ok())
	tenant.run("endpoints", "create", "https://example.com/two").ok()
	require.Contains(t, tenant.run("endpoints", "list").ok(), "https://example.com/two")
	tenant.run("endpoints", "delete", id).ok()
	require.NotContains(t, tenant.run("endpoints", "list").ok(), id)
	tenant.run("endpoints", "delete", id).fails(5, "(not_found, request ")
	another := newPlace(t)
	foreign := another.subscribe(receiver.URL)
	tenant.run("endpoints", "show", foreign).fails(5, "(not_found, request ")
}

func TestTenantNames(t *testing.T) {
	t.Parallel()
	first, two := newPlace(t), newPlace(t)
	first.run("tenants", "create", "Twins", "--product", first.product, "--external-ref", "4711-"+first.product).ok()
	second := first.run("tenants", "create", "Twins", "--product", two.product, "-q").ok()
	first.run("tenants", "create", "Twins and Sons", "--product", two.product).ok()
	first.run("keys", "list", "--tenant", "Twins").fails(2, `several tenants are called "Twins"`, first.product, second+"  "+two.product)
	first.run("keys", "list", "--tenant", "Nobody").fails(5, "no tenant has the name", "hub tenants list")
	first.run("keys", "create", "--tenant", "twins", "--product", two.product).ok()
	require.Len(t, strings.Split(first.run("keys", "list", "--tenant", second, "-q").ok(), "\n"), 1)
	require.Empty(t, first.run("keys", "list", "--tenant", "4711-"+first.product, "-q").ok())
}

func TestPublish(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	key := p.run("keys", "create", "--tenant", p.tenant, "--rate", "0", "-q").ok()
	c := newCLI(t).with("HUB_URL", p.hub.url)
	c.run("publish", "--type", "a.b").fails(4, "publishing needs a tenant's key", "HUB_KEY")
	c.with("HUB_KEY", "wrong").run("publish", "--type", "a.b").fails(4, "(invalid_key, request ", "check HUB_KEY")

	c.write("key", key+"\n")
	c.write("data.json", `{"n":12345678901234567890}`)
	args := []string{"publish", "--key", "@key", "--type", "a.b", "--data", "@data.json", "--correlation-id", "c-1", "--idempotency-key", "once"}
	event := c.run(args...).ok()
	require.Equal(t, event, c.run(args...).ok(), "publishing again is safe")
	var stored struct {
		Type          string          `json:"event_type"`
		CorrelationID string          `json:"correlation_id"`
		Payload       json.RawMessage `json:"payload"`
	}
	p.run("events", "show", event, "-o", "json").into(&stored)
	require.Equal(t, "a.b", stored.Type)
	require.Equal(t, "c-1", stored.CorrelationID)
	require.Contains(t, string(stored.Payload), "12345678901234567890", "data is kept as it was given")
	c.run("publish", "--key", "@key", "--type", "a.c", "--idempotency-key", "once").fails(1, "(idempotency_")

	c = c.with("HUB_KEY", key)
	out := c.runIn(`{"x":1}`, "publish", "--type", "a.b", "--data", "-", "--id", "evt_0123456789abcdef")
	require.Equal(t, "evt_0123456789abcdef", out.ok())
	require.Contains(t, out.err, "nobody is subscribed")
	c.run("publish", "--type", "a.b", "--data", `[1]`).fails(1, "body.data must be a JSON object")
	c.run("publish", "--type", "a.b", "--data", `{"x":`).fails(2, "--data is not JSON: unexpected end of JSON input at character 5")
	c.run("publish", "--data", "{}").fails(2, "--type is needed")
	c.run("publish", "--batch", "x", "--type", "a").fails(2, "none of the others can be")
	c.run("publish", "--batch", "nowhere").fails(2, "no such file")
}

func TestPublishBatch(t *testing.T) {
	t.Parallel()
	p := newPlace(t).withKey()
	line := `{"event_type":"a.b","data":{"x":"<&>"}}` + "\n"
	stored := func() (n int) {
		p.hub.scan(t, []any{&n}, `select count(*) from hub.events where tenant_id = $1`, p.tenantID)
		return n
	}

	ids := p.runIn(strings.Repeat(line, 501)+"\n", "publish", "--batch", "-").ok()
	require.Len(t, strings.Split(ids, "\n"), 501)
	require.Equal(t, 501, stored())
	require.Contains(t, p.run("events", "show", ids[:20]).ok(), `{"x":"<&>"}`)

	// Calls stay below the hub's 1 MiB.
	big := `{"event_type":"a.b","data":{"x":"` + strings.Repeat("x", 300_000) + `"}}` + "\n"
	p.runIn(strings.Repeat(big, 7), "publish", "--batch", "-").ok()
	require.Equal(t, 508, stored())

	bad := strings.Repeat(line, 500) + "\n" + `{"event_type":"poi son","data":{}}` + "\n"
	partly := p.runIn(bad, "publish", "--batch", "-", "-q")
	require.Equal(t, 6, partly.code)
	require.Len(t, strings.Split(strings.TrimSpace(partly.out), "\n"), 500)
	require.Contains(t, partly.err, "publishing lines 502 to 502")
	require.Contains(t, partly.err, "500 events up to line 501 are stored; go on with: tail -n +502 FILE")
	p.runIn(`{"event_type":"poi son","data":{}}`, "publish", "--batch", "-").fails(1, "body.events[0].event_type must be")
	p.runIn(line+"nonsense", "publish", "--batch", "-").fails(2, "line 2 is not a JSON object")
	p.runIn("\n\n", "publish", "--batch", "-").fails(2, "there are no events")
	require.Equal(t, 1008, stored())
}
