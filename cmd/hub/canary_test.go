//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// canaries are secrets by name: none may be seen where others can look.
type canaries map[string]string

// absent requires that a text holds none of them.
func (k canaries) absent(t *testing.T, where, text string) {
	t.Helper()
	for name, secret := range k {
		require.NotContains(t, text, secret, "%s is seen in %s", name, where)
	}
}

// commandLines is what `ps` shows of every process.
func commandLines(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err == nil { // it may have ended meanwhile
			all.WriteString(strings.ReplaceAll(string(raw), "\x00", " ") + "\n")
		}
	}
	return all.String()
}

// TestCanaries uses every kind of secret, rightly and wrongly, and looks everywhere.
func TestCanaries(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	canary := func() string { return "canary" + strings.ReplaceAll(uuid.NewString(), "-", "") }
	password, databasePassword, endpointSecret := canary(), canary(), "whsec_"+canary()
	database, err := url.Parse(hubtest.DatabaseURL(t))
	require.NoError(t, err)
	database.User = url.UserPassword(database.User.Username(), databasePassword)
	metricsToken := canary()
	env := also(serverEnv(c.dir, database.String(), hubtest.RedisURL(t)), "HUB_LOG_LEVEL", "debug",
		"HUB_ADMIN_PASSWORD", password, "HUB_METRICS_TOKEN", metricsToken)
	s := c.serve(env)
	c = c.with("HUB_DATA_DIR", s.dataDir)

	// The right uses.
	away := newCLI(t)
	away.runIn(password, "login", "--url", s.url, "--email", ana, "--password-stdin").ok()
	var saved struct {
		Logins map[string]struct {
			AccessToken  string `json:"access_token"`
			RefreshToken string `json:"refresh_token"`
		} `json:"logins"`
	}
	raw, err := os.ReadFile(away.credentials())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &saved))
	p := s.place(c).withKey()
	key := p.env["HUB_KEY"]
	secretFile := c.write("secret", endpointSecret)
	receiver, failing := newPeer(t, 200, "thanks"), newPeer(t, 500, "no")
	id := p.subscribe(receiver.URL, "--secret", "@"+secretFile)
	p.subscribe(failing.URL, "--secret", "@"+secretFile)
	var rotated struct {
		Secret string `json:"secret"`
	}
	p.run("endpoints", "rotate-secret", id, "-o", "json").into(&rotated)
	event := p.publish("a.b")
	require.Eventually(t, func() bool { return receiver.count() > 0 && failing.count() > 0 }, soon, tick)

	secrets := canaries{
		"the administrator's password": password, "the password of the database": databasePassword, "a key": key,
		"an endpoint's secret": endpointSecret, "the endpoint's new secret": rotated.Secret, "the master key": masterKey,
		"the token on this machine": s.token, "the token of the metrics": metricsToken,
		"the access token": saved.Logins[s.url].AccessToken, "the refresh token": saved.Logins[s.url].RefreshToken,
	}
	for name, secret := range secrets {
		require.Greater(t, len(secret), 20, name)
	}
	secrets.absent(t, "a command line", commandLines(t))

	// The wrong ones: a secret where it does not belong, or in a broken request.
	anyone := func(method, path, body string, header ...string) {
		_, text := s.call(t, method, path, body, append(header, "Authorization", "")...)
		secrets.absent(t, method+" "+path, text)
	}
	for name, secret := range secrets {
		for _, path := range []string{"/api/v1/products", "/api/v1/tenants", "/api/v1/keys", "/api/v1/endpoints", "/api/v1/operators", "/api/v1/replays", "/api/v1/auth/login", "/api/v1/auth/refresh"} {
			_, text := s.call(t, "POST", path, fmt.Sprintf(`{"name":%q,"tenant_id":%q,"url":%q,"email":%q,"role":%q,"refresh_token":%q,"prefix":%q}`, secret, secret, secret, secret, secret, secret+"x", secret))
			secrets.absent(t, "the refusal of "+name+" by "+path, text)
			_, text = s.call(t, "POST", path, `{"name":"`+secret)
			secrets.absent(t, "the refusal of half a body with "+name, text)
		}
		_, text := s.call(t, "GET", "/api/v1/deliveries?status="+url.QueryEscape(secret)+"&cursor="+url.QueryEscape(secret), "")
		secrets.absent(t, "the refusal of a query with "+name, text)
		anyone("POST", "/api/v1/auth/login", fmt.Sprintf(`{"email":"ana@example.com","password":%q}`, secret+"x"))
		anyone("GET", "/api/v1/products", "", "X-Integration-Key", secret+"x")
		anyone("POST", "/api/v1/events", `{"event_type":"a b","data":{}}`, "X-Integration-Key", secret)
		anyone("GET", "/api/v1/tenants/"+url.PathEscape(secret), "")
		anyone("GET", "/"+url.PathEscape(secret), "")
	}

	// Where operators look.
	for _, path := range []string{"/metrics", "/ready", "/health", "/api/v1/keys", "/api/v1/endpoints", "/api/v1/endpoints/" + id, "/api/v1/operators",
		"/api/v1/audit?limit=200", "/api/v1/deliveries", "/api/v1/events", "/api/v1/stats", "/openapi.json"} {
		status, text := s.call(t, "GET", path, "")
		require.Equal(t, 200, status, path)
		secrets.absent(t, path, text)
	}
	for _, args := range [][]string{
		{"deliveries", "show", "--event", event, "--headers"}, {"deliveries", "show", "--event", event, "-o", "json"},
		{"keys", "list"}, {"endpoints", "list", "-o", "json"}, {"whoami"}, {"audit", "--all"},
	} {
		got := p.run(args...)
		got.ok()
		secrets.absent(t, strings.Join(args, " "), got.out+got.err)
	}
	secrets.absent(t, "a command line", commandLines(t))
	require.Zero(t, s.terminate(t))
	secrets.absent(t, "what serve wrote", s.Output())

	// A database that does not let it in.
	waits := c.among(also(env, "HUB_DATABASE_URL", "postgres://hub:"+databasePassword+"@127.0.0.1:1/hub", "HUB_DATA_DIR", filepath.Join(c.dir, "other"))).start("serve")
	waits.await(waits.errs, "the database does not answer yet")
	secrets.absent(t, "a command line", commandLines(t))
	require.Zero(t, waits.interrupt(), "it did what it was told")
	secrets.absent(t, "what a waiting serve wrote", waits.errs.String()+waits.out.String())
}
