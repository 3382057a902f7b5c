package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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
	_, email := s.createOperator(t, "admin")
	args := []string{"login", "--url", s.url, "--email", email, "--password-stdin"}
	c.runIn("wrong\n", args...).requireFails(4, "E-mail address or password is wrong. (invalid_credentials, request ", "check the e-mail address and the password")
	c.run("login", "--url", s.url).requireFails(2, "--email is needed")
	c.run("login", "--url", s.url, "--email", "a@b").requireFails(2, "--password-stdin is needed")
	require.Contains(t, c.runIn(adminPassword+"\n", args...).stderr, "logged in at "+s.url+" as "+email+" (admin)")

	file := c.credentials()
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	// From here on the address is remembered.
	require.Contains(t, c.run("whoami").requireOK(), "the saved login")
	require.Equal(t, email, c.run("whoami", "-q").requireOK())
	require.Contains(t, c.run("events", "list", "--until", "2020-01-01").stderr, "nothing to show")

	saved, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, c.run("logout").stderr, "logged out at "+s.url)
	c.run("products", "list", "--url", s.url).requireFails(4, "not logged in", "hub login")
	require.Contains(t, c.run("logout").stderr, "there is no saved login")

	// The session ended in the hub, too: a copy of the credentials does not work.
	require.NoError(t, os.WriteFile(file, saved, 0o600))
	c.run("products", "list").requireFails(4, "the login at "+s.url+" has ended", "hub login --url "+s.url)
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
	id, email := s.createOperator(t, "support")
	c.runIn(adminPassword, "login", "--url", s.url, "--email", email, "--password-stdin").requireOK()
	issued := func() (n int) { // one at the login, one at each renewal
		s.queryRow(t, []any{&n}, `select count(*) from hub.refresh_tokens where operator_id = $1`, id)
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
	c.run("products", "list").requireOK()
	require.Equal(t, 3, issued())

	// A support operator may look, not change.
	c.run("products", "create", "theirs", "--prefix", "theirs").requireFails(4, "(admin_only, request ", "this needs an operator with the role admin")

	// A new password ends the login for good.
	var changed map[string]any
	s.callInto(t, &changed, 200, "PUT", "/api/v1/operators/"+id, fmt.Sprintf(`{"email":%q,"name":"Op","role":"support","password":"another password"}`, email))
	c.run("products", "list").requireFails(4, "the login at "+s.url+" has ended", "hub login --url "+s.url)
}

// TestRightStaysAtItsAddress: a right for one hub is never sent to another.
func TestRightStaysAtItsAddress(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	other := newFakeHub(t)
	other.mux.HandleFunc("/", respond(200, "application/json", `{"items":[],"next_cursor":null}`))
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	c.runIn(adminPassword, "login", "--url", s.url, "--email", adminEmail, "--password-stdin").requireOK()
	c.run("products", "list", "--url", other.URL).requireFails(4, "not logged in")
	require.Empty(t, other.received())
	c.run("products", "list", "--url", other.URL, "--token", "theirs").requireOK()
	c.withEnv("HUB_URL", other.URL).withEnv("HUB_TOKEN", "theirs").run("products", "list").requireOK()
	for _, r := range other.received() {
		require.Equal(t, "Bearer theirs", r.Header.Get("Authorization"))
	}
	require.Len(t, other.received(), 2)

	// A redirect is not followed, for the key would go with it.
	away := newFakeHub(t)
	away.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	c.withEnv("HUB_KEY", "crm_live_x").run("publish", "--url", away.URL+"/moved", "--type", "a.b").requireFails(1, "redirects are not followed")
	require.Len(t, other.received(), 2)
}

// TestSpellingsOfTheLocalHub: the token of the hub on this machine serves however its address is
// written, and no other address; what is said of others names the address that it is for.
func TestSpellingsOfTheLocalHub(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	local, err := url.Parse(s.url)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", local.Hostname())
	for _, address := range []string{"http://localhost:" + local.Port(), s.url + "/api/v1", s.url + "/api/v1/", "http://LOCALHOST:" + local.Port() + "/"} {
		require.Equal(t, "local command line", c.run("whoami", "-q", "--url", address).requireOK(), address)
	}
	for _, address := range []string{"http://127.0.0.2:" + local.Port(), "https://localhost:" + local.Port(), "http://hub.invalid:" + local.Port()} {
		c.run("whoami", "--url", address).requireFails(4, "not logged in", "the credentials here are for "+s.url+", not for "+address)
	}
	other := newFakeHub(t)
	answering := c.run("whoami", "--url", other.URL)
	answering.requireFails(4, "not logged in", "the credentials here are for "+s.url, "hub login --url "+other.URL)
	require.NotContains(t, answering.stderr, "nothing listens")
	require.Empty(t, other.received())
	const dead = "http://127.0.0.1:1" // no other test takes this port
	c.run("whoami", "--url", dead).requireFails(4, "nothing listens at "+dead+" (from --url or HUB_URL)", "the credentials here are for "+s.url)
	newCLI(t).run("whoami", "--url", dead).requireFails(4, "nothing listens at "+dead, "start a hub on this machine with: make run")
}

func TestLocalHub(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t)
	file := fmt.Sprintf(`{"url":%q,"token":%q}`, s.url, s.token)
	c.writeFile("data/local.json", file)
	require.Contains(t, c.run("whoami").requireOK(), filepath.Join("data", "local.json"))
	require.Equal(t, "local command line", c.run("whoami", "-q").requireOK())
	c.writeFile("elsewhere/local.json", file)
	c.writeFile("data/local.json", `{"url":"https://evil.example","token":"x"}`)
	c.run("whoami").requireFails(3, "its url is not on this machine")
	c.run("whoami", "--data-dir", "elsewhere").requireOK()
	c.withEnv("HUB_DATA_DIR", "elsewhere").run("whoami").requireOK()
	c.writeFile("data/local.json", `{`)
	c.run("whoami").requireFails(3, "reading data/local.json")
	c.writeFile("data/local.json", fmt.Sprintf(`{"url":%q,"token":"of a hub before"}`, s.url))
	c.run("whoami").requireFails(4, "log in with: hub login")
}
