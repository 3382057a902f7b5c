package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A delivery that was parked when it was published shows no attempt, and why it waits;
// endpoints enable sends it.
func TestParkedWithoutAttempt(t *testing.T) {
	t.Parallel()
	p := newTenant(t).withKey()
	endpoint := p.subscribe(newReceiver(t, 200, "").URL, "--types", "order.*")
	require.Contains(t, p.run("endpoints", "show", endpoint).requireOK(), "order.*")
	require.Contains(t, p.run("endpoints", "disable", endpoint).stderr, "disabled "+endpoint)
	published := p.run("publish", "--type", "order.paid")
	event := published.requireOK()
	require.Contains(t, published.stderr, "stored for 1 receiver; see: hub deliveries show "+event)

	rows := strings.Split(p.run("deliveries", "list", "--tenant", p.tenant).requireOK(), "\n")
	require.Len(t, rows, 2)
	require.Regexp(t, ` parked  disabled +- +0 +-  -$`, rows[1])
	var detail struct {
		Items []struct {
			ID           string
			AttemptCount int  `json:"attempt_count"`
			DurationMS   *int `json:"duration_ms"`
		}
	}
	p.run("deliveries", "show", event, "--json").decode(&detail)
	require.Zero(t, detail.Items[0].AttemptCount)
	require.Nil(t, detail.Items[0].DurationMS)
	shown := p.run("deliveries", "show", event).requireOK()
	require.Contains(t, shown, "parked, not attempted yet")
	require.Regexp(t, `(?m)^receiver +http://127\.0\.0\.1:\d+$`, shown)
	require.Regexp(t, `(?m)^tenant +`+p.tenant+` `+p.tenantID+`$`, shown)
	require.Regexp(t, `(?m)^direction +outbound$`, shown)
	require.Regexp(t, `(?m)^reason +disabled$`, shown)

	p.run("deliveries", "retry", detail.Items[0].ID).requireFails(1, "is disabled; enable it first. (endpoint_disabled, ")
	require.Contains(t, p.run("endpoints", "enable", endpoint).stderr, "enabled "+endpoint)
	p.awaitSettled(1, "delivered")
	require.Regexp(t, ` delivered  - +200 +1 +<?\d+ ms  -$`, p.run("deliveries", "list", "--tenant", p.tenant).requireOK())
	p.run("endpoints", "delete", endpoint).requireOK()
	p.run("deliveries", "retry", detail.Items[0].ID).requireFails(1, "was deleted; it cannot be sent again", "(endpoint_deleted, ")
	p.run("endpoints", "ping", endpoint).requireFails(1, "This endpoint was deleted", "(endpoint_deleted, ")
	replayed := p.run("replay", "--tenant", p.tenant, "--since", "1h", "--yes")
	require.Equal(t, 6, replayed.code)
	require.Contains(t, replayed.stderr, "an endpoint that was deleted or is disabled, cannot be replayed")
}

func TestFailingFilter(t *testing.T) {
	t.Parallel()
	p, _, _ := publishOutcomes(t)
	p.subscribe(newReceiver(t, 500, "").URL, "--events", "order.refunded")
	p.publish("order.refunded")
	failing := func(flags ...string) []string {
		return strings.Fields(p.run(append([]string{"deliveries", "list", "--tenant", p.tenant, "--status", "failing", "-q"}, flags...)...).requireOK())
	}
	require.Eventually(t, func() bool { return len(failing()) == 2 }, waitTimeout, 10*pollInterval, "the parked one, and the one that is tried again")
	require.Len(t, failing("--status-code", "500"), 1)
	require.Len(t, failing("--type", "order.paid"), 1)
	require.Empty(t, failing("--type", "order.created"))
	require.Equal(t, "0", p.run("replay", "--tenant", p.tenant, "--status", "failing", "--dry-run", "--type", "order.paid").requireOK(), "its endpoint is disabled: it is not sent")
}

// What the README's first commands make is made once.
func TestRepeatedCommandsChangeNothing(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	again := p.run("products", "create", p.product, "--prefix", p.product, "-q")
	require.Equal(t, p.product, again.requireOK())
	require.Equal(t, p.tenantID, p.run("tenants", "create", p.tenant, "--product", p.product, "-q").requireOK())
	require.Contains(t, p.run("tenants", "create", p.tenant, "--product", p.product).stderr, "exists already; nothing was changed")
	p.run("products", "create", p.product, "--prefix", "other").requireFails(1, "(name_taken, ")
	require.Regexp(t, `name +Renamed `+p.product, p.run("tenants", "rename", p.tenant, "Renamed "+p.product).requireOK())
	require.Empty(t, p.run("tenants", "list", "--query", p.tenant, "--product", p.product, "-q").requireOK())
}

func TestOperators(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	_, email := s.createOperator(t, "support")
	made := "new-" + email
	create := []string{"operators", "create", made, "--name", "Bia", "--password-stdin"}
	id := c.runIn(adminPassword+"\n", append(create, "-q")...).requireOK()
	c.runIn(adminPassword+"\n", create...).requireFails(1, "(email_taken, ")
	c.run("operators", "create", made).requireFails(2, "--name is needed")
	list := c.run("operators", "list", "--all").requireOK()
	require.Regexp(t, `(?m)^`+id+`  `+made+` +Bia +support  active$`, list)

	require.Regexp(t, `role +admin`, c.run("operators", "update", strings.ToUpper(made), "--role", "admin").requireOK())
	require.Regexp(t, `(?s)name +Bia.*status +disabled`, c.run("operators", "disable", made).requireOK())
	login := []string{"login", "--url", s.url, "--email", made, "--password-stdin"}
	newCLI(t).runIn(adminPassword+"\n", login...).requireFails(4)
	require.Regexp(t, `role +admin`, c.run("operators", "enable", id).requireOK(), "what is not given stays")
	newCLI(t).runIn(adminPassword+"\n", login...).requireOK()
	require.Contains(t, c.run("operators", "delete", made).stderr, "deleted "+made)
	c.run("operators", "delete", made).requireFails(5, "there is no operator "+made)
	c.run("operators", "update", email).requireFails(2, "nothing to change")
}

func TestMailAndLookup(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	s.exec(t, `insert into hub.mails (id, product, recipient, subject, body, about) values (gen_random_uuid(), 'scheduling', 'bia@example.com', 'Your booking', E'Hello\nBia', 'bia')`)
	require.Regexp(t, `bia@example\.com  Your booking`, c.run("mail", "--to", "bia@example.com").requireOK())
	require.Contains(t, c.run("mail", "--text").requireOK(), "\nHello\nBia\n")
	require.Empty(t, c.run("mail", "--to", "ana@example.com").requireOK())

	p := s.newTenant(c).withKey()
	p.subscribe(newReceiver(t, 200, "").URL)
	p.publish("contact.created", "--data", `{"phone":"+5511987654321","email":"ana@example.com"}`)
	p.awaitSettled(1, "delivered")
	found := p.run("lookup", "11", "98765-4321").requireOK()
	require.Contains(t, found, "phone  +5511987654321")
	require.Contains(t, found, "contact.created")
	require.Len(t, p.run("lookup", "(11) 98765-4321", "-q").requireOK(), 36)
	byEmail := p.run("lookup", "Ana@Example.com").requireOK()
	require.Contains(t, byEmail, "email  ana@example.com")
	require.Contains(t, byEmail, "contact.created")
	for _, text := range []string{"09", "…09", "CPF…09", "***.***.***-09", "529.982.247-09"} {
		require.Equal(t, "cpf    ***.***.***-09", p.run("lookup", text).requireOK(), text)
	}
	require.Equal(t, "cpf    ***.***.***-09", p.run("lookup", "cpf", "09").requireOK())
	require.Contains(t, p.run("lookup", "529.982.247-09").stderr, "only the last two digits")
	// A whole CPF is never sent, however it is written.
	for _, text := range []string{"52998224725", "529982247-25", "529 982 247 25", "CPF 52998224725", "cpf: 529.982.247-25"} {
		require.Equal(t, "cpf    ***.***.***-25", p.run("lookup", text).requireOK(), text)
	}
	require.Contains(t, p.run("lookup", "52998224725").stderr, "write +55 before a phone number")
	p.run("lookup", "11987650034").requireFails(2, "are a CPF and may be a mobile number", "nothing was sent", "+55", "…34")
	for _, text := range []string{"+5511987650034", "(11) 98765-0034", "11 98765-0034", "11987654321"} {
		require.Contains(t, p.run("lookup", text).requireOK(), "phone  +55119876", text)
	}
	p.run("lookup", "Maria").requireFails(2, "is no phone number, e-mail address or end of a CPF")
	p.run("lookup", "ana@nowhere").requireFails(1, "must be an e-mail address")
	p.run("lookup", "123").requireFails(1, "phone")
}

// A password never reaches a server that is no hub.
func TestLoginChecksTheServerFirst(t *testing.T) {
	t.Parallel()
	other := newFakeHub(t)
	other.isNotHub.Store(true)
	other.mux.HandleFunc("/", respond(200, "text/html", "<h1>Welcome</h1>"))
	c := newCLI(t)
	args := []string{"login", "--url", other.URL, "--email", "ana@example.com", "--password-stdin"}
	c.runIn(adminPassword+"\n", args...).requireFails(1, "is not a hub")
	c.runIn(adminPassword+"\n", append(args, "--url", other.URL+"/missing")...).requireFails(1, "is not a hub")
	requests := other.received()
	require.Len(t, requests, 2)
	for _, r := range requests {
		require.Equal(t, http.MethodGet, r.Method)
		require.Zero(t, r.ContentLength)
	}
}

func TestCompletionOfNames(t *testing.T) {
	t.Parallel()
	p := newTenant(t)
	endpoint := p.subscribe(newReceiver(t, 200, "").URL)
	require.Contains(t, p.run("__complete", "deliveries", "list", "--tenant", "").requireOK(), p.tenant+"\t"+p.product)
	require.Contains(t, p.run("__complete", "endpoints", "ping", "").requireOK(), endpoint+"\thttp://")
	require.Contains(t, p.run("__complete", "keys", "create", "--product", "").requireOK(), p.product)
	require.NotContains(t, p.withEnv("HUB_URL", "http://127.0.0.1:1").run("__complete", "endpoints", "ping", "").requireOK(), endpoint)
}
