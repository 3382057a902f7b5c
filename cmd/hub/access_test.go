package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t)
	_, email := s.operator(t, "admin")
	args := []string{"login", "--url", s.url, "--email", email, "--password-stdin"}
	c.runIn("wrong\n", args...).fails(4, "E-mail address or password is wrong. (invalid_credentials, request ", "check the e-mail address and the password")
	c.run("login", "--url", s.url).fails(2, "--email is needed")
	c.run("login", "--url", s.url, "--email", "a@b").fails(2, "--password-stdin is needed")
	require.Contains(t, c.runIn(anaPassword+"\n", args...).err, "logged in at "+s.url+" as "+email+" (admin)")

	file := c.credentials()
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// From here on the address is remembered.
	require.Contains(t, c.run("whoami").ok(), "the saved login")
	require.Equal(t, email, c.run("whoami", "-q").ok())
	require.Contains(t, c.run("events", "list", "--until", "2020-01-01").err, "nothing to show")

	saved, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, c.run("logout").err, "logged out at "+s.url)
	c.run("products", "list", "--url", s.url).fails(4, "not logged in", "hub login")
	require.Contains(t, c.run("logout").err, "there is no saved login")

	// The hub was told: who kept a copy is out as well.
	require.NoError(t, os.WriteFile(file, saved, 0o600))
	c.run("products", "list").fails(4, "the login at "+s.url+" has ended", "hub login --url "+s.url)
}

// credentials is the file of the saved logins.
func (c *cli) credentials() string {
	return filepath.Join(c.env["XDG_CONFIG_HOME"], "hub", "credentials.json")
}

// changeLogin changes fields of the saved login at an address.
func (c *cli) changeLogin(address string, fields map[string]any) {
	c.t.Helper()
	raw, err := os.ReadFile(c.credentials())
	require.NoError(c.t, err)
	var saved struct {
		Current string                    `json:"current"`
		Logins  map[string]map[string]any `json:"logins"`
	}
	require.NoError(c.t, json.Unmarshal(raw, &saved))
	for name, value := range fields {
		saved.Logins[address][name] = value
	}
	raw, err = json.Marshal(saved)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(c.credentials(), raw, 0o600))
}

func TestLoginRenewsItself(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t)
	id, email := s.operator(t, "support")
	c.runIn(anaPassword, "login", "--url", s.url, "--email", email, "--password-stdin").ok()
	issued := func() (n int) { // one at the login, one at each renewal
		s.scan(t, []any{&n}, `select count(*) from hub.refresh_tokens where operator_id = $1`, id)
		return n
	}
	require.Equal(t, 1, issued())

	// Ten processes find it ended; the refresh token works once.
	c.changeLogin(s.url, map[string]any{"expires_at": time.Now().Add(-time.Minute)})
	var all sync.WaitGroup
	codes := make([]int, 10)
	for i := range codes {
		all.Go(func() {
			if c.command("products", "list").Run() != nil {
				codes[i] = 1
			}
		})
	}
	all.Wait()
	require.Equal(t, make([]int, 10), codes)
	require.Equal(t, 2, issued())

	// The hub refuses a token that should be valid: a new one is fetched, once.
	c.changeLogin(s.url, map[string]any{"access_token": "no.such.token"})
	c.run("products", "list").ok()
	require.Equal(t, 3, issued())

	// A support operator may look, not change.
	c.run("products", "create", "theirs", "--prefix", "theirs").fails(4, "(admin_only, request ", "this needs an operator with the role admin")

	// A new password ends the login for good.
	var changed map[string]any
	s.into(t, &changed, 200, "PUT", "/api/v1/operators/"+id, fmt.Sprintf(`{"email":%q,"name":"Op","role":"support","password":"another password"}`, email))
	c.run("products", "list").fails(4, "the login at "+s.url+" has ended", "hub login --url "+s.url)
}

// TestRightStaysAtItsAddress: a right for one hub is never sent to another.
func TestRightStaysAtItsAddress(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	other := newOutside(t)
	other.mux.HandleFunc("/", refuse(200, "application/json", `{"items":[],"next_cursor":null}`))
	c := newCLI(t).with("HUB_DATA_DIR", s.dataDir)
	c.runIn(anaPassword, "login", "--url", s.url, "--email", ana, "--password-stdin").ok()
	c.run("products", "list", "--url", other.URL).fails(4, "not logged in")
	require.Empty(t, other.seen())
	c.run("products", "list", "--url", other.URL, "--token", "theirs").ok()
	c.with("HUB_URL", other.URL).with("HUB_TOKEN", "theirs").run("products", "list").ok()
	for _, r := range other.seen() {
		require.Equal(t, "Bearer theirs", r.Header.Get("Authorization"))
	}
	require.Len(t, other.seen(), 2)

	// A redirect is not followed, for the key would go with it.
	away := newOutside(t)
	away.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	c.with("HUB_KEY", "crm_live_x").run("publish", "--url", away.URL+"/moved", "--type", "a.b").fails(1, "redirects are not followed")
	require.Len(t, other.seen(), 2)
}

func TestLocalHub(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t)
	file := fmt.Sprintf(`{"url":%q,"token":%q}`, s.url, s.token)
	c.write("data/local.json", file)
	require.Contains(t, c.run("whoami").ok(), filepath.Join("data", "local.json"))
	require.Equal(t, "local command line", c.run("whoami", "-q").ok())
	c.write("elsewhere/local.json", file)
	c.write("data/local.json", `{"url":"https://evil.example","token":"x"}`)
	c.run("whoami").fails(3, "its url is not on this machine")
	c.run("whoami", "--data-dir", "elsewhere").ok()
	c.with("HUB_DATA_DIR", "elsewhere").run("whoami").ok()
	c.write("data/local.json", `{`)
	c.run("whoami").fails(3, "reading data/local.json")
	c.write("data/local.json", fmt.Sprintf(`{"url":%q,"token":"of a hub before"}`, s.url))
	c.run("whoami").fails(4, "log in with: hub login")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	c := newCLI(t).with("HUB_DATA_DIR", sharedHub(t).dataDir)
	c.run("products", "create", "crm").fails(2, "--prefix is needed")
	c.run("products", "create", "crm", "more", "--prefix", "x").fails(2, `what is "more"?`)
	c.run("products", "create").fails(2, "hub products create needs NAME", "see: hub products create --help")
	c.run("products").fails(2, "needs one of: create, list")
	c.run("products", "burn").fails(2, `no command "burn"`)
	c.run("burn").fails(2, "unknown command")
	c.run("products", "list", "--burn").fails(2, "unknown flag: --burn")
	c.run("products", "list", "-o", "xml").fails(2, "--output is table or json")
	c.run("products", "list", "--limit", "0").fails(2, "--limit is at least 1")
	c.run("products", "list", "--url", "nonsense").fails(2, `the address "nonsense" (from --url or HUB_URL) is not an absolute http(s) URL`)
	c.run("deliveries", "list", "--since", "yesterday").fails(2, `--since "yesterday" is not a time`)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).with("HUB_DATA_DIR", s.dataDir)
	refused := c.run("products", "create", "CRM", "--prefix", "crm")
	refused.fails(1, "body.name", "lower-case letters", "\n  body.name: ")
	require.Regexp(t, `\(validation_failed, request [0-9a-f]{24}\)\n`, refused.err)
	c.run("tenants", "create", "X", "--product", "nowhere").fails(1, "body.product is not a known product")
	c.run("events", "show", "evt_0000000000000000").fails(5, "There is no such event. (not_found, request ")
	c.run("deliveries", "show", "--event", "evt_0000000000000000").fails(5, "there is no delivery of")
	c.run("endpoints", "show", "0198aaaa-0000-7000-8000-000000000000").fails(5, "(not_found, request ")
	c.run("products", "list", "--url", s.url, "--token", "x").fails(4, "(invalid_token, request ", "log in with: hub login")
	p := newPlace(t)
	p.run("endpoints", "create", "http://169.254.169.254/latest", "--tenant", p.tenant).fails(1,
		"(url_not_allowed, request ", "its setting HUB_EGRESS_ALLOW opens named networks")
	c.run("products", "list", "--url", "http://127.0.0.1:1", "--token", "x").fails(1,
		"calling http://127.0.0.1:1", "connection refused", "is the hub running? start it with: make run")
}

// TestBrokenAnswers: what stands between the command line and the hub may fail too.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	o := newOutside(t)
	o.mux.HandleFunc("/busy/", refuse(503, "application/problem+json", `{"detail":"Not now.","code":"unavailable"}`, "Retry-After", "7"))
	o.mux.HandleFunc("/proxy/", refuse(502, "text/html", "<h1>Bad Gateway</h1>"))
	o.mux.HandleFunc("/page/", refuse(200, "text/html", "<h1>Welcome</h1>"))
	o.mux.HandleFunc("/half/", refuse(200, "application/json", `{"items":[`))
	o.mux.HandleFunc("/rude/", refuse(500, "application/problem+json", `{"detail":"\u001b[2Jgone","code":"internal"}`, "X-Request-Id", "req-9"))
	o.mux.HandleFunc("/cut/", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	list := func(path string) result {
		return c.run("products", "list", "--url", o.URL+path, "--token", "x")
	}
	list("/busy").fails(1, "Not now. (unavailable)", "try again in 7s")
	list("/proxy").fails(1, "answered 502 Bad Gateway")
	list("/page").fails(1, "it is not the JSON that was expected")
	list("/half").fails(1, "it is not the JSON that was expected")
	list("/rude").fails(1, `\x1b[2Jgone`, "req-9")
	list("/cut").fails(1, "calling "+o.URL)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	require.Regexp(t, `^hub v9\.8\.7 \(abc123\) go1\.`, c.run("version").ok())
	var facts map[string]string
	c.run("version", "-o", "json").into(&facts)
	require.Equal(t, "v9.8.7", facts["version"])
	require.Contains(t, c.run("completion", "bash").ok(), "__start_hub")
	require.Contains(t, c.run("__complete", "deliveries", "list", "--status", "").ok(), "parked")
	require.Contains(t, c.run().ok(), "Available Commands")
}
