package main_test

import (
	"encoding/json"
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
	s := newStandIn(t)
	c := newCLI(t)
	args := []string{"login", "--url", s.URL, "--email", "ana@example.com", "--password-stdin"}
	c.runIn("wrong\n", args...).fails(4, "E-mail or password is wrong.", "check the e-mail address and the password")
	c.run("login", "--url", s.URL).fails(2, "--email is needed")
	c.run("login", "--url", s.URL, "--email", "a@b").fails(2, "--password-stdin is needed")
	require.Contains(t, c.runIn("correct horse\n", args...).err, "logged in at "+s.URL+" as ana@example.com (admin)")

	file := filepath.Join(c.env["XDG_CONFIG_HOME"], "hub", "credentials.json")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// From here on the address is remembered.
	require.Contains(t, c.run("whoami").ok(), "the saved login")
	require.Equal(t, "ana@example.com", c.run("whoami", "-q").ok())
	require.Contains(t, c.run("products", "list").err, "nothing to show")

	require.Contains(t, c.run("logout").err, "logged out at "+s.URL)
	require.NotEmpty(t, s.last("/api/v1/auth/logout").body)
	c.run("products", "list", "--url", s.URL).fails(4, "not logged in", "hub login")
	require.Contains(t, c.run("logout").err, "there is no saved login")
}

// expire makes the saved access token look, or be, at its end.
func expire(t *testing.T, c *cli, s *standIn) {
	t.Helper()
	file := filepath.Join(c.env["XDG_CONFIG_HOME"], "hub", "credentials.json")
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var saved struct {
		Current string                    `json:"current"`
		Logins  map[string]map[string]any `json:"logins"`
	}
	require.NoError(t, json.Unmarshal(raw, &saved))
	saved.Logins[s.URL]["expires_at"] = time.Now().Add(-time.Minute)
	raw, err = json.Marshal(saved)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, raw, 0o600))
}

func TestLoginRenewsItself(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := newCLI(t)
	c.runIn("correct horse", "login", "--url", s.URL, "--email", "ana@example.com", "--password-stdin").ok()

	// Ten processes find it ended; the refresh token works once.
	expire(t, c, s)
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
	_, refreshes := s.seen()
	require.Equal(t, 1, refreshes)

	// The hub refuses a token that should be valid: a new one is fetched, once.
	s.endLogin("another", false)
	c.run("products", "list").ok()
	_, refreshes = s.seen()
	require.Equal(t, 2, refreshes)

	// The login has ended for good.
	s.endLogin("", true)
	c.run("products", "list").fails(4, "the login at "+s.URL+" has ended", "hub login --url "+s.URL)
}

// TestRightStaysAtItsAddress: a right for one hub is never sent to another.
func TestRightStaysAtItsAddress(t *testing.T) {
	t.Parallel()
	mine, other := newStandIn(t), newStandIn(t)
	c := mine.operator(t)
	c.runIn("correct horse", "login", "--email", "ana@example.com", "--password-stdin").ok()
	c.run("products", "list", "--url", other.URL).fails(4, "not logged in")
	sent, _ := other.seen()
	require.Zero(t, sent)
	c.run("products", "list", "--url", other.URL, "--token", standInToken).ok()
	c.with("HUB_URL", other.URL).with("HUB_TOKEN", standInToken).run("products", "list").ok()

	// A redirect is not followed, for the key would go with it.
	away := newStandIn(t)
	away.mux.HandleFunc("/moved/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	before, _ := other.seen()
	c.with("HUB_KEY", "crm_live_x").run("publish", "--url", away.URL+"/moved", "--type", "a.b").fails(1, "redirects are not followed")
	after, _ := other.seen()
	require.Equal(t, before, after)
}

func TestLocalHub(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	require.Contains(t, c.run("whoami").ok(), filepath.Join("data", "local.json"))
	c.write("elsewhere/local.json", `{"url":"`+s.URL+`","token":"`+standInToken+`"}`)
	c.write("data/local.json", `{"url":"https://evil.example","token":"x"}`)
	c.run("whoami").fails(3, "its url is not on this machine")
	c.run("whoami", "--data-dir", "elsewhere").ok()
	c.with("HUB_DATA_DIR", "elsewhere").run("whoami").ok()
	c.write("data/local.json", `{`)
	c.run("whoami").fails(3, "reading data/local.json")
}

func TestFailures(t *testing.T) {
	t.Parallel()
	s := newStandIn(t)
	c := s.operator(t)
	c.run("products", "create", "CRM", "--prefix", "crm").fails(1,
		"error: body.name must be lowercase (validation_failed, request req-1)\n  body.name: must be lowercase\n")
	c.run("products", "create", "crm").fails(2, "--prefix is needed")
	c.run("products", "create", "crm", "more", "--prefix", "x").fails(2, `what is "more"?`)
	c.run("products", "create").fails(2, "hub products create needs NAME", "see: hub products create --help")
	c.run("products").fails(2, "needs one of: create, list")
	c.run("products", "burn").fails(2, `no command "burn"`)
	c.run("burn").fails(2, "unknown command")
	c.run("products", "list", "--burn").fails(2, "unknown flag: --burn")
	c.run("products", "list", "-o", "xml").fails(2, "--output is table or json")
	c.run("products", "list", "--url", "nonsense").fails(2, `the address "nonsense" (from --url or HUB_URL) is not an absolute http(s) URL`)
	c.run("deliveries", "list", "--since", "yesterday").fails(2, `--since "yesterday" is not a time`)
	c.run("events", "show", "evt_0000000000000000").fails(5, "There is nothing here.")
	c.run("deliveries", "show", "--event", "evt_0000000000000000").fails(5, "there is no delivery of")
	c.run("products", "list", "--url", "http://127.0.0.1:1", "--token", "x").fails(1,
		"calling http://127.0.0.1:1", "connection refused", "is the hub running? start it with: make run")

	odd := newStandIn(t)
	status := func(path string, code int, header, value, body string) {
		odd.mux.HandleFunc("GET "+path+"/api/v1/products", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		})
	}
	status("/busy", 503, "Retry-After", "7", `{"detail":"Not now.","code":"unavailable"}`)
	status("/proxy", 502, "Content-Type", "text/html", "<h1>Bad Gateway</h1>")
	status("/page", 200, "Content-Type", "text/html", "<h1>Welcome</h1>")
	status("/forbidden", 403, "X-Request-Id", "req-9", `{"detail":"These credentials do not allow this.","code":"forbidden"}`)
	status("/rude", 500, "X-Request-Id", "req-9", `{"detail":"\u001b[2Jgone","code":"internal"}`)
	list := func(path string) result {
		return c.run("products", "list", "--url", odd.URL+path, "--token", "x")
	}
	list("/busy").fails(1, "Not now. (unavailable)", "try again in 7s")
	list("/proxy").fails(1, "answered 502 Bad Gateway")
	list("/page").fails(1, "it is not the JSON that was expected")
	list("/forbidden").fails(4, "(forbidden, request req-9)", "role admin")
	list("/rude").fails(1, `\x1b[2Jgone`)
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
