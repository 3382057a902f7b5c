package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withEnv("HUB_DATA_DIR", sharedHub(t).dataDir)
	c.run("products", "create", "crm").requireFails(2, "--prefix is needed")
	c.run("products", "create", "hub").requireFails(1, "the name hub is reserved")
	c.run("products", "create", "clinic").requireFails(1, "the name clinic is reserved")
	c.run("products", "create", "crm", "more", "--prefix", "x").requireFails(2, `what is "more"?`)
	c.run("products", "create").requireFails(2, "hub products create needs NAME", "see: hub products create --help")
	c.run("products").requireFails(2, "needs one of: create, list")
	c.run("products", "burn").requireFails(2, `no command "burn"`)
	c.run("burn").requireFails(2, `hub has no command "burn"; it has: serve, `)
	c.run("help", "burn").requireFails(2, `hub has no command "burn"; it has: serve, `)
	c.run("help", "products", "burn").requireFails(2, `hub products has no command "burn"`)
	c.run("completion", "burn").requireFails(2, `hub completion has no command "burn"; it has: bash, `)
	require.Contains(t, c.run("help", "products", "create").requireOK(), "--prefix")
	c.run("products", "list", "--burn").requireFails(2, "unknown flag: --burn")
	for _, tc := range []struct {
		hint string
		args []string
	}{
		{"did you mean deliveries?", []string{"delivries", "list"}},
		{"did you mean list?", []string{"deliveries", "lst"}},
		{"did you mean list?", []string{"products", "ls"}},
		{"did you mean delete?", []string{"endpoints", "rm"}},
		{"did you mean cancel?", []string{"replay", "cancle"}},
		{"did you mean lookup?", []string{"search"}},
		{"unknown flag: --tenat; did you mean --tenant?", []string{"deliveries", "list", "--tenat", "Acme"}},
		{"did you mean --environment?", []string{"keys", "create", "--env", "test"}},
		{"did you mean --json?", []string{"products", "list", "--jsn"}},
	} {
		c.run(tc.args...).requireFails(2, tc.hint)
	}
	c.run("products", "list", "-o", "xml").requireFails(2, "--output is table or json")
	c.run("products", "list", "--limit", "0").requireFails(2, "--limit is at least 1")
	c.run("products", "list", "--url", "nonsense").requireFails(2, `the address "nonsense" (from --url or HUB_URL) is not an absolute http(s) URL`)
	c.run("deliveries", "list", "--since", "yesterday").requireFails(2, `--since "yesterday" is not a time`)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	refused := c.run("products", "create", "CRM", "--prefix", "crm")
	refused.requireFails(1, "body.name", "lower-case letters", "\n  body.name: ")
	require.Regexp(t, `\(validation_failed, request [0-9a-f]{24}\)\n`, refused.stderr)
	c.run("tenants", "create", "X", "--product", "nowhere").requireFails(1, "body.product is not a known product")
	c.run("events", "show", "evt_0000000000000000").requireFails(5, "There is no such event. (not_found, request ")
	c.run("event-types", "list", "--product", "nope").requireFails(5, "there is no product nope", "hub products list")
	c.run("deliveries", "show", "--event", "evt_0000000000000000").requireFails(5, "there is no delivery of")
	c.run("endpoints", "show", "0198aaaa-0000-7000-8000-000000000000").requireFails(5, "(not_found, request ")
	c.run("products", "list", "--url", s.url, "--token", "x").requireFails(4, "(invalid_token, request ", "log in with: hub login")
	p := newTenant(t)
	p.run("endpoints", "create", "http://169.254.169.254/latest", "--tenant", p.tenant).requireFails(1,
		"(url_not_allowed, request ", "its setting HUB_EGRESS_ALLOW opens named networks")
	malformed := p.run("endpoints", "create", "notaurl", "--tenant", p.tenant)
	malformed.requireFails(1, "must be an absolute http or https URL", "(url_not_allowed, request ")
	require.NotContains(t, malformed.stderr, "HUB_EGRESS_ALLOW")
	c.run("products", "list", "--url", "http://127.0.0.1:1", "--token", "x").requireFails(1,
		"calling http://127.0.0.1:1", "connection refused", "is the hub running? start it with: make run")
}

// TestEmptyIDs: an id that is empty, as of a variable that is not set, names nothing. No command
// takes it for a list, or for a flag that was not given; none asks a hub.
func TestEmptyIDs(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	o := newFakeHub(t)
	const id = "0198aaaa-0000-7000-8000-000000000000"
	run := func(args ...string) result { return c.run(append(args, "--url", o.URL, "--token", "x")...) }
	for _, args := range [][]string{
		{"integrations", "show", ""}, {"deliveries", "show", ""}, {"endpoints", "show", " "}, {"events", "show", ""}, {"replay", "show", ""}, {"replay", "cancel", ""},
		{"integrations", "revoke", ""}, {"keys", "revoke", id, ""}, {"endpoints", "update", "", "--enabled"}, {"endpoints", "recover", "", "--since", "1h"}, {"tokens", "delete", ""},
		{"tenants", "show", ""}, {"tenants", "delete", ""}, {"alerts", "show", ""}, {"deliveries", "retry", ""}, {"deliveries", "discard", ""},
		{"deliveries", "list", "--integration", ""}, {"deliveries", "list", "--endpoint="}, {"deliveries", "list", "--event", ""}, {"deliveries", "list", "--tenant", ""},
		{"replay", "--endpoint", "", "--status", "failed", "--yes"}, {"stats", "--integration", " "}, {"audit", "--actor", ""}, {"publish", "--id", "", "--type", "a.b", "--data", "{}"},
	} {
		got := run(args...)
		got.requireFails(2, "the id is empty")
		require.Empty(t, got.stdout, args)
	}
	run("publish", "--idempotency-key", "", "--type", "a.b", "--data", "{}").requireFails(2, "the key is empty")
	run("products", "delete", "").requireFails(2, "the name is empty")
	require.Empty(t, o.received())
}

// What cannot be an id, and a value that a flag does not have, are usage errors in the words of the
// command line: no hub is asked.
func TestMalformedIDsAndValues(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	o := newFakeHub(t)
	run := func(args ...string) result { return c.run(append(args, "--url", o.URL, "--token", "x")...) }
	for _, args := range [][]string{
		{"deliveries", "show", "xx"}, {"deliveries", "retry", "xx"}, {"endpoints", "show", "xx"}, {"endpoints", "recover", "xx", "--since", "1h"},
		{"endpoints", "delete", "0198aaaa-0000-7000-8000-000000000000", "xx"}, {"alerts", "show", "xx"}, {"keys", "revoke", "xx"}, {"replay", "show", "xx"},
		{"integrations", "test", "xx"}, {"tokens", "delete", "xx"},
	} {
		run(args...).requireFails(2, `"xx" is no id`, "see: hub "+args[0]+" list")
	}
	run("deliveries", "list", "--endpoint", "xx").requireFails(2, `"xx" is no id`, "see: hub endpoints list")
	run("stats", "--integration", "xx").requireFails(2, `"xx" is no id`, "see: hub integrations list")
	for want, args := range map[string][]string{
		`--status is pending, delivered, parked, failed or failing, not "foo"`: {"deliveries", "list", "--status", "foo"},
		`--bucket is 1m, 30m, 3h or 12h, not "5m"`:                             {"stats", "--bucket", "5m"},
		`--role is admin or support, not "foo"`:                                {"operators", "update", "a@example.com", "--role", "foo"},
		`--environment is live or test, not "prod"`:                            {"events", "list", "--environment", "prod"},
		`hub products list takes no argument: what is "extra"?`:                {"products", "list", "extra"},
		`hub stats takes no argument: what is "extra"?`:                        {"stats", "extra"},
	} {
		run(args...).requireFails(2, want)
	}
	require.Empty(t, o.received())
}

// TestBrokenAnswers: what stands between the command line and the hub may fail too.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	o := newFakeHub(t)
	o.mux.HandleFunc("/busy/", respond(503, "application/problem+json", `{"detail":"Not now.","code":"unavailable"}`, "Retry-After", "7"))
	o.mux.HandleFunc("/proxy/", respond(502, "text/html", "<h1>Bad Gateway</h1>"))
	o.mux.HandleFunc("/page/", respond(200, "text/html", "<h1>Welcome</h1>"))
	o.mux.HandleFunc("/half/", respond(200, "application/json", `{"items":[`))
	o.mux.HandleFunc("/rude/", respond(500, "application/problem+json", `{"detail":"\u001b[2Jgone","code":"internal"}`, "X-Request-Id", "req-9"))
	o.mux.HandleFunc("/cut/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	list := func(path string) result {
		return c.run("products", "list", "--url", o.URL+path, "--token", "x")
	}
	list("/busy").requireFails(1, "Not now. (unavailable)", "try again in 7s")
	list("/proxy").requireFails(1, "responded 502 Bad Gateway")
	list("/page").requireFails(1, "it is not the JSON that was expected")
	list("/half").requireFails(1, "it is not the JSON that was expected")
	list("/rude").requireFails(1, `\x1b[2Jgone`, "req-9")
	list("/cut").requireFails(1, "calling "+o.URL)
}

// TestAnswersOfOtherServers: what a server answers that is no hub is never a success, for
// every command that talks to a hub.
func TestAnswersOfOtherServers(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	o := newFakeHub(t)
	o.isNotHub.Store(true)
	for path, handler := range map[string]http.HandlerFunc{
		"/page/":    respond(200, "text/html; charset=utf-8", "<h1>Welcome</h1>\n\x1b[2J"),
		"/json/":    respond(200, "application/json", `{"ok":true}`),
		"/list/":    respond(200, "application/json", `{"items":[],"next_cursor":null}`),
		"/empty/":   respond(200, "", ""),
		"/nothing/": respond(204, "", ""),
	} {
		o.mux.HandleFunc(path, handler)
	}
	const id = "0198aaaa-0000-7000-8000-000000000000"
	commands := [][]string{
		{"endpoints", "update", id, "--enabled"}, {"endpoints", "delete", id}, {"endpoints", "ping", id}, {"endpoints", "show", id}, {"endpoints", "list"},
		{"endpoints", "create", "http://127.0.0.1:1/", "--tenant", id}, {"products", "list"}, {"products", "create", "crm", "--prefix", "crm"},
		{"tenants", "create", "Acme", "--product", "crm"}, {"keys", "revoke", id}, {"publish", "--type", "a.b", "--key", "crm_live_x"},
		{"deliveries", "list"}, {"deliveries", "retry", id}, {"integrations", "list"}, {"stats"}, {"audit"}, {"tail"}, {"whoami"},
		{"replay", "--status", "parked", "--yes"},
	}
	paths := []string{"/page", "/json", "/list", "/empty", "/nothing"}
	check := func(path string, command []string) {
		got := c.run(append(command, "--url", o.URL+path, "--token", "x")...)
		require.Equal(t, 1, got.code, "%s %s: %s%s", path, command, got.stdout, got.stderr)
		require.Empty(t, got.stdout)
		for _, text := range []string{"what responds at " + o.URL + path + "/api/v1/", "is not a hub: 20", "check --url (HUB_URL)", "--endpoint-url"} {
			require.Contains(t, got.stderr, text, "%s %s", path, command)
		}
	}
	for i, command := range commands {
		check(paths[1+i%4], command) // where it would have been a success
		check(paths[i%len(paths)], commands[0])
	}
	require.Contains(t, c.run("products", "list", "--url", o.URL+"/page", "--token", "x").stderr,
		`is not a hub: 200 OK, text/html; charset=utf-8: <h1>Welcome</h1> \x1b[2J`)

	// Its errors are its own as well.
	for status, code := range map[int]int{401: 1, 403: 1, 404: 1, 405: 1, 502: 1} {
		o.mux.HandleFunc(fmt.Sprintf("/%d/", status), respond(status, "text/html", "<h1>Sorry</h1>"))
		got := c.run("endpoints", "show", id, "--url", fmt.Sprintf("%s/%d", o.URL, status), "--token", "x")
		require.Equal(t, code, got.code)
		require.Contains(t, got.stderr, fmt.Sprintf("/api/v1/endpoints/%s responded %d ", id, status))
		require.Equal(t, status < 500, strings.Contains(got.stderr, "check --url (HUB_URL)"), "a proxy answers for a hub that is away: %s", got.stderr)
	}

	// --url is the hub's address, --endpoint-url the endpoint's.
	before := len(o.received())
	c.run("endpoints", "update", id, "--url", o.URL+"/json", "--token", "x").requireFails(2, "nothing to change", "--endpoint-url", "--url is the address of the hub")
	require.Len(t, o.received(), before)
	help := c.run("endpoints", "update", "--help").requireOK()
	require.Regexp(t, `--url string +address of the hub itself, never of an endpoint`, help)
	require.Regexp(t, `--endpoint-url string +the address that receives \(--url is the hub's own\)`, help)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	require.Regexp(t, `^hub v9\.8\.7 \(abc123\) go1\.`, c.run("version").requireOK())
	require.Equal(t, c.run("version").requireOK(), c.run("--version").requireOK())
	var facts map[string]string
	c.run("--version", "--json").decode(&facts)
	require.Equal(t, "abc123", facts["commit"])
	c.run("version", "-o", "json").decode(&facts)
	require.Equal(t, "v9.8.7", facts["version"])
	require.Contains(t, c.run("completion", "bash").requireOK(), "__start_hub")
	require.Contains(t, c.run("__complete", "deliveries", "list", "--status", "").requireOK(), "parked")
	require.Contains(t, c.run().requireOK(), "Available Commands")
}
