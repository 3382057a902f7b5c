//go:build linux

package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// canaries are secrets by name: none may be seen where others can look.
type canaries map[string]string

// requireAbsent requires that a text holds none of them.
func (k canaries) requireAbsent(t *testing.T, where, text string) {
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

// TestCanaries uses every kind of secret, rightly and wrongly, and searches every place they could leak to.
func TestCanaries(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	canary := func() string { return "canary" + strings.ReplaceAll(uuid.NewString(), "-", "") }
	password, databasePassword, endpointSecret := canary(), canary(), "whsec_"+base64.StdEncoding.EncodeToString([]byte(canary()))
	database, err := url.Parse(databaseURL(t))
	require.NoError(t, err)
	database.User = url.UserPassword(database.User.Username(), databasePassword)
	metricsToken := canary()
	env := also(serverEnv(c.dir, database.String(), hubtest.RedisURL(t)), "HUB_LOG_LEVEL", "debug",
		"HUB_ADMIN_PASSWORD", password, "HUB_METRICS_TOKEN", metricsToken)
	s := c.serve(env)
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)

	// The right uses.
	away := newCLI(t)
	away.runIn(password, "login", "--url", s.url, "--email", adminEmail, "--password-stdin").requireOK()
	var saved struct {
		Logins map[string]struct {
			AccessToken  string `json:"access_token"`
			RefreshToken string `json:"refresh_token"`
		} `json:"logins"`
	}
	raw, err := os.ReadFile(away.credentials())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &saved))
	p := s.newTenant(c).withKey()
	key := p.env["HUB_KEY"]
	secretFile := c.writeFile("secret", endpointSecret)
	receiver, failing := newReceiver(t, 200, "thanks"), newReceiver(t, 500, "no")
	id := p.subscribe(receiver.URL, "--secret", "@"+secretFile)
	p.subscribe(failing.URL, "--secret", "@"+secretFile)
	var rotated struct {
		Secret string `json:"secret"`
	}
	p.run("endpoints", "rotate-secret", id, "-o", "json").decode(&rotated)
	event := p.publish("a.b")
	require.Eventually(t, func() bool { return receiver.count() > 0 && failing.count() > 0 }, waitTimeout, pollInterval)

	secrets := canaries{
		"the administrator's password": password, "the password of the database": databasePassword, "a key": key,
		"an endpoint's secret": endpointSecret, "the endpoint's new secret": rotated.Secret, "the master key": masterKey,
		"the token on this machine": s.token, "the token of the metrics": metricsToken,
		"the access token": saved.Logins[s.url].AccessToken, "the refresh token": saved.Logins[s.url].RefreshToken,
	}
	for name, secret := range secrets {
		require.Greater(t, len(secret), 20, name)
	}
	secrets.requireAbsent(t, "a command line", commandLines(t))

	// The wrong ones: a secret where it does not belong, or in a broken request.
	anyone := func(method, path, body string, header ...string) {
		_, text := s.call(t, method, path, body, append(header, "Authorization", "")...)
		secrets.requireAbsent(t, method+" "+path, text)
	}
	for name, secret := range secrets {
		for _, path := range []string{"/api/v1/products", "/api/v1/tenants", "/api/v1/keys", "/api/v1/endpoints", "/api/v1/operators", "/api/v1/replays", "/api/v1/auth/login", "/api/v1/auth/refresh"} {
			_, text := s.call(t, "POST", path, fmt.Sprintf(`{"name":%q,"tenant_id":%q,"url":%q,"email":%q,"role":%q,"refresh_token":%q,"prefix":%q}`, secret, secret, secret, secret, secret, secret+"x", secret))
			secrets.requireAbsent(t, "the refusal of "+name+" by "+path, text)
			_, text = s.call(t, "POST", path, `{"name":"`+secret)
			secrets.requireAbsent(t, "the refusal of half a body with "+name, text)
		}
		_, text := s.call(t, "GET", "/api/v1/deliveries?status="+url.QueryEscape(secret)+"&cursor="+url.QueryEscape(secret), "")
		secrets.requireAbsent(t, "the refusal of a query with "+name, text)
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
		secrets.requireAbsent(t, path, text)
	}
	for _, args := range [][]string{
		{"deliveries", "show", "--event", event, "--headers"}, {"deliveries", "show", "--event", event, "-o", "json"},
		{"keys", "list"}, {"endpoints", "list", "-o", "json"}, {"whoami"}, {"audit", "--all"},
	} {
		got := p.run(args...)
		got.requireOK()
		secrets.requireAbsent(t, strings.Join(args, " "), got.stdout+got.stderr)
	}
	secrets.requireAbsent(t, "a command line", commandLines(t))
	require.Zero(t, s.terminate(t))
	secrets.requireAbsent(t, "what serve wrote", s.Output())

	// A database that does not let it in.
	waits := c.among(also(env, "HUB_DATABASE_URL", "postgres://hub:"+databasePassword+"@127.0.0.1:1/hub", "HUB_DATA_DIR", filepath.Join(c.dir, "other"))).start("serve")
	waits.await(waits.stderr, "the database does not respond yet")
	secrets.requireAbsent(t, "a command line", commandLines(t))
	require.Zero(t, waits.interrupt(), "it ended as it was asked to")
	secrets.requireAbsent(t, "what a waiting serve wrote", waits.stderr.String()+waits.stdout.String())
}

// TestCanariesOfTheEmbeddedDefault searches where only the private PostgreSQL writes:
// its processes, its log, and all of its files, the write-ahead log included. Secrets
// are in there hashed or encrypted, or not at all.
func TestCanariesOfTheEmbeddedDefault(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	canary := func() string { return "canary" + strings.ReplaceAll(uuid.NewString(), "-", "") }
	password, metricsToken, endpointSecret := canary(), canary(), "whsec_"+base64.StdEncoding.EncodeToString([]byte(canary()))
	s := c.serve(also(bare(c), "HUB_LOG_LEVEL", "debug", "HUB_ADMIN_EMAIL", adminEmail, "HUB_ADMIN_PASSWORD", password, "HUB_METRICS_TOKEN", metricsToken))
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)
	var session struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	s.callInto(t, &session, 200, "POST", "/api/v1/auth/login", fmt.Sprintf(`{"email":%q,"password":%q}`, adminEmail, password))
	p := s.newTenant(c).withKey()
	receiver, failing := newReceiver(t, 200, "thanks"), newReceiver(t, 500, "no")
	id := p.subscribe(receiver.URL, "--secret", "@"+c.writeFile("secret", endpointSecret))
	p.subscribe(failing.URL)
	var rotated struct {
		Secret string `json:"secret"`
	}
	p.run("endpoints", "rotate-secret", id, "-o", "json").decode(&rotated)
	p.publish("a.b")
	require.Eventually(t, func() bool { return receiver.count() > 0 && failing.count() > 0 }, waitTimeout, pollInterval)
	master, err := os.ReadFile(filepath.Join(s.dataDir, "master.key"))
	require.NoError(t, err)
	secrets := canaries{
		"the administrator's password": password, "a key": p.env["HUB_KEY"], "an endpoint's secret": endpointSecret,
		"the endpoint's new secret": rotated.Secret, "the master key": strings.TrimSpace(string(master)), "the token on this machine": s.token,
		"the token of the metrics": metricsToken, "the access token": session.Access, "the refresh token": session.Refresh,
	}
	for name, secret := range secrets {
		require.Greater(t, len(secret), 20, name)
		// What PostgreSQL refuses it may log: names that exist, values that cannot be.
		for _, path := range []string{"/api/v1/products", "/api/v1/operators", "/api/v1/auth/login"} {
			_, text := s.call(t, "POST", path, fmt.Sprintf(`{"name":%q,"prefix":%q,"email":"ana@example.com","role":"admin","password":%q}`, p.product, p.product, secret))
			secrets.requireAbsent(t, "the refusal of "+name+" by "+path, text)
		}
	}
	secrets.requireAbsent(t, "a command line", commandLines(t))
	lines, environs := processDetails(t, s.Pid())
	require.Contains(t, lines, "postgres", "the private PostgreSQL runs")
	secrets.requireAbsent(t, "PostgreSQL's command lines", lines)
	secrets.requireAbsent(t, "PostgreSQL's environment", environs)
	require.Zero(t, s.terminate(t))
	secrets.requireAbsent(t, "what serve wrote", s.Output())

	seen := 0
	require.NoError(t, filepath.WalkDir(s.dataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "master.key" {
			return err
		}
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		seen++
		for name, secret := range secrets {
			require.False(t, bytes.Contains(raw, []byte(secret)), "%s is in %s", name, path)
			require.False(t, bytes.Contains(raw, []byte(hex.EncodeToString([]byte(secret)))), "%s is in %s, as hex", name, path)
		}
		return nil
	}))
	require.Greater(t, seen, 500, "files of the database")
}

// processDetails returns the command lines and the environments of a process's children and
// of theirs, as far as they may be read.
func processDetails(t *testing.T, pid int) (lines, environs string) {
	t.Helper()
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, file := range children {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, child := range strings.Fields(string(raw)) {
			number, err := strconv.Atoi(child)
			require.NoError(t, err)
			line, _ := os.ReadFile("/proc/" + child + "/cmdline") // it may have ended
			environ, _ := os.ReadFile("/proc/" + child + "/environ")
			below, belowEnvirons := processDetails(t, number)
			lines += string(line) + "\n" + below
			environs += string(environ) + "\n" + belowEnvirons
		}
	}
	return lines, environs
}
