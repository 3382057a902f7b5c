package main_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// bare is the environment of a hub that is given nothing: its own PostgreSQL, and
// Redis in the process.
func bare(c *cli) map[string]string {
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": c.dir, "GORACE": raceOptions, "TMPDIR": os.TempDir(), "HUB_LISTEN": "127.0.0.1:0", "HUB_DATA_DIR": filepath.Join(c.dir, "data")}
	for _, place := range append([]string{os.Getenv("HUB_PG_BIN")}, hubtest.PostgresSearch()...) {
		if _, err := os.Stat(filepath.Join(place, "postgres")); err == nil {
			env["HUB_PG_BIN"] = place
			break
		}
	}
	return env
}

// also returns a copy of an environment with more variables.
func also(env map[string]string, pairs ...string) map[string]string {
	other := map[string]string{}
	for name, value := range env {
		other[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		other[pairs[i]] = pairs[i+1]
	}
	return other
}

// among returns a command line with an environment.
func (c *cli) among(env map[string]string) *cli {
	return &cli{t: c.t, dir: c.dir, env: also(c.env, flatten(env)...)}
}

func flatten(env map[string]string) (pairs []string) {
	for name, value := range env {
		pairs = append(pairs, name, value)
	}
	return pairs
}

var passwordLine = regexp.MustCompile(`Password +(\S+) +\(shown this once`)

// TestServeEmbedded is the life of a hub that was given nothing but a directory.
func TestServeEmbedded(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	env := also(bare(c), "HUB_DATA_DIR", filepath.Join(c.dir, "a path with spaces"))
	s := c.serve(env)
	for _, text := range []string{
		"Integration Hub v9.8.7 is ready (", "API        " + s.url + "/api/v1", "Console    " + s.url + "/ ", "Reference  " + s.url + "/docs", "E-mails    " + s.url + "/api/v1/dev/mail ",
		"Scheduling", "API        " + s.url + "/scheduling/api/v1", "Reference  " + s.url + "/scheduling/docs", "Pages      " + s.url + "/book/…",
		"Health     " + s.url + "/health", "/metrics", env["HUB_DATA_DIR"] + " (private PostgreSQL)", "First operator  admin@localhost", "hub demo",
	} {
		require.Contains(t, s.Output(), text)
	}
	password := passwordLine.FindStringSubmatch(s.Output())
	require.NotNil(t, password, s.Output())
	away := newCLI(t)
	away.runIn(password[1]+"\n", "login", "--url", s.url, "--email", "admin@localhost", "--password-stdin").requireOK()
	require.Contains(t, away.run("whoami").requireOK(), "admin@localhost")

	info, err := os.Stat(s.localFile())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, local{URL: s.url, Token: s.token, PID: s.Pid()}, s.local())
	key, err := os.Stat(filepath.Join(s.dataDir, "master.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), key.Mode().Perm())
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)
	p := s.newTenant(c).withKey()
	receiver := newReceiver(t, 200, "")
	p.subscribe(receiver.URL)
	first := p.publish("a.b")
	p.awaitShown(first, "delivered after 1 attempt")

	// Nobody else gets its directory or its port; without harm to it.
	c.among(env).run("serve").requireFails(3, "data directory in use", "process "+strconv.Itoa(s.Pid()), "choose another data directory")
	address := strings.TrimPrefix(s.url, "http://")
	c.among(env).run("serve", "--listen", address, "--data-dir", "elsewhere").requireFails(3, "listening on "+address,
		"another program has this port; choose one with --listen")
	require.NoDirExists(t, filepath.Join(c.dir, "elsewhere", "postgres"))
	c.among(bare(c)).run("doctor", "--data-dir", s.dataDir).requireOK()

	// A second hub with a directory and a port of its own is another hub.
	beside := c.serve(also(env, "HUB_DATA_DIR", filepath.Join(c.dir, "data2")))
	require.NotEqual(t, s.url, beside.url)
	require.NotContains(t, c.run("products", "list", "-q", "--data-dir", beside.dataDir).requireOK(), p.product)
	require.Contains(t, c.run("products", "list", "-q").requireOK(), p.product)
	require.Zero(t, beside.terminate(t))

	require.Zero(t, s.terminate(t))
	require.Contains(t, s.Output(), "stopping: finishing what is in flight")
	require.NoFileExists(t, s.localFile())
	c.run("whoami").requireFails(4, "not logged in")

	// Started again it is quick, and everything is there.
	best := time.Hour
	for range 3 {
		began := time.Now()
		s = c.serve(env)
		best = min(best, time.Since(began))
		require.NotContains(t, s.Output(), "First operator")
		require.Zero(t, s.terminate(t))
	}
	t.Logf("ready after %s, the best of three", best)
	if len(buildFlags) == 0 { // the race detector takes its time
		require.Less(t, best, time.Second)
	}

	// Also after kill -9, with an event just accepted.
	s = c.serve(env)
	receiver.setStatus(503)
	second := p.publish("a.b")
	s.Kill()
	require.FileExists(t, s.localFile(), "it had no time to remove it")
	c.run("whoami").requireFails(1, "is the hub running?")
	receiver.setStatus(200)
	s = c.serve(env)
	p.hub = s
	require.Contains(t, c.run("deliveries", "show", "--event", first).requireOK(), "delivered after 1 attempt")
	p.awaitShown(second, "delivered after ")
	away.run("whoami", "--url", s.url).requireFails(4, "not logged in") // another port, another address
	require.Regexp(t, `(?m)^sum +ok +accepted 2 = delivered 2 \+ parked 0 \+ pending 0 \+ failed 0$`, c.among(env).run("doctor").requireOK())
	require.Zero(t, s.terminate(t))
}

// awaitShown waits until the log shows a text for an event.
func (p *tenantCLI) awaitShown(event, text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		return strings.Contains(p.run("deliveries", "show", "--event", event).stdout, text)
	}, waitTimeout, 10*pollInterval, text)
}

// TestServeRefuses: settings that cannot work, or are unsafe, are named, all of them,
// and nothing is begun.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	env := bare(c)
	run := func(pairs ...string) result { return c.among(also(env, pairs...)).run("serve") }
	run("HUB_PG_BIN", c.dir).requireFails(3, "HUB_PG_BIN")
	run("HUB_LISTEN", "127.0.0.1:99999").requireFails(3, "listening on 127.0.0.1:99999", "must be an address of this machine")
	unusable := run("HUB_DATABASE_URL", "postgres://hub:canary@db/hub?sslmode=nonsense")
	unusable.requireFails(3, "HUB_DATABASE_URL is not a valid postgres:// URL")
	require.NotContains(t, unusable.stderr, "canary")
	run("HUB_DATABASE_URL", hubtest.EmptyDatabaseURL(t), "HUB_REDIS_URL", "redis://:canary@h:1/x").requireFails(3, "HUB_REDIS_URL is not a valid redis:// URL")
	nowhere := regexp.MustCompile(`/[^/?]+(\?|$)`).ReplaceAllString(hubtest.EmptyDatabaseURL(t), "/nowhere$1")
	run("HUB_DATABASE_URL", nowhere).requireFails(3, "the database of HUB_DATABASE_URL cannot be used", `database "nowhere" does not exist`,
		"check that PostgreSQL runs there and that HUB_DATABASE_URL has the right user, password and database")
	run("HUB_LISTEN", "nowhere").requireFails(3, "HUB_LISTEN must be host:port")
	run("HUB_KEY_RATE", "much").requireFails(3, "HUB_KEY_RATE must be like 100-M", "hub config reference")
	run("HUB_SHUTDOWN_GRACE", "soon").requireFails(3, `HUB_SHUTDOWN_GRACE: "soon" is not a duration`)
	unsafe := run("HUB_ENV", "production", "HUB_PUBLIC_URL", "http://hub.example.com", "HUB_KEY_RATE", "0", "HUB_EGRESS_ALLOW", "0.0.0.0/0")
	unsafe.requireFails(3, "error: HUB_PUBLIC_URL must be https in production",
		"\n  HUB_MASTER_KEY is required", "\n  HUB_KEY_RATE must set a limit", "\n  HUB_EGRESS_ALLOW must not open every address")
	c.among(env).run("serve", "--database-url", "postgres://hub:canary@127.0.0.1/hub").requireFails(3, "a password in a flag can be read by all users of this machine")
	c.among(env).run("serve", "--master-key", "a-key-that-no-hub-has").requireFails(2, "unknown flag: --master-key")
	c.among(env).run("serve", "now").requireFails(2, `takes no argument: what is "now"?`)
	_, err := os.Stat(filepath.Join(c.dir, "data", "postgres"))
	require.ErrorIs(t, err, fs.ErrNotExist, "nothing was begun")
	warned := c.among(also(env, "HUB_PUBLIK_URL", "http://x", "HUB_LISTEN", "127.0.0.1")).run("serve")
	require.Contains(t, warned.stderr, "unknown variable HUB_PUBLIK_URL is ignored; did you mean HUB_PUBLIC_URL?")
}

// TestServeProduction: what production closes is closed.
func TestServeProduction(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	env := also(serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t)), "HUB_ENV", "production",
		"HUB_PUBLIC_URL", "https://hub.example.com", "HUB_METRICS_TOKEN", "a token of the metrics", "HUB_MASTER_KEY", randomKey)
	s := c.serve(env)
	require.NotContains(t, s.Output(), "Reference")
	for path, status := range map[string]int{
		"/docs": 404, "/openapi.json": 404, "/metrics": 401, "/health": 200, "/ready": 200,
		"/scheduling/docs": 404, "/scheduling/openapi.json": 404, "/scheduling/health": 200,
		"/messaging/sandbox/phones": 404, "/messaging/sandbox/phone": 404, // nobody simulates a network
	} {
		resp, err := hubtest.HTTPClient.Get(s.url + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, status, resp.StatusCode, path)
	}
	status, text := s.call(t, "GET", "/metrics", "", "Authorization", "Bearer a token of the metrics")
	require.Equal(t, 200, status)
	require.Contains(t, text, "hub_queue_depth")
	var session struct{ Token string }
	s.callInto(t, &session, 201, "POST", "/messaging/auth/signup", `{"name":"Bia","email":"bia@example.com","password":"correct horse"}`)
	for _, body := range []string{`{"name":"Reception"}`, `{"name":"Reception","driver":"sandbox"}`} {
		status, text := s.call(t, "POST", "/messaging/whatsapp", body, "Authorization", "Bearer "+session.Token)
		require.Equal(t, 400, status, text)
		require.Contains(t, text, "body.driver")
	}
	status, text = s.call(t, "POST", "/messaging/sandbox/phones", `{"number":"5511987654321","name":"Ana"}`)
	require.Equal(t, 404, status, text)
	p := s.newTenant(c.withEnv("HUB_DATA_DIR", s.dataDir))
	p.run("endpoints", "create", "http://127.0.0.1:9/", "--tenant", p.tenant).requireFails(1, "(url_not_allowed, ", "in production no setting opens loopback")
}

// TestServeWithoutRedis: what the Redis client has to say is said in the hub's log,
// and not again and again.
func TestServeWithoutRedis(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve(serverEnv(c.dir, databaseURL(t), "redis://127.0.0.1:1/0"))
	p := s.newTenant(c.withEnv("HUB_DATA_DIR", s.dataDir)).withKey()
	p.publishBatch(20, "a.b")
	require.Eventually(t, func() bool { return strings.Contains(s.Output(), "the Redis client reports trouble") }, waitTimeout, pollInterval)
	require.Zero(t, s.terminate(t))
	require.NotRegexp(t, `(?m)^redis: `, s.Output())
	require.Regexp(t, `(?m)^\{.*"level":"WARN","msg":"the Redis client reports trouble".*connection refused`, s.Output())
}

// TestHubsInOneDirectory: commands on the machine find the newest of the hubs that run there, also
// when another one stops.
func TestHubsInOneDirectory(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)
	env := also(serverEnv(c.dir, s.database, s.redis), "HUB_DATA_DIR", s.dataDir)
	newer := c.serve(env)
	require.Contains(t, c.run("whoami").requireOK(), newer.url)
	require.Zero(t, newer.terminate(t))
	require.Eventually(t, func() bool { return s.local() == local{URL: s.url, Token: s.token, PID: s.Pid()} }, waitTimeout, pollInterval)
	require.Contains(t, c.run("whoami").requireOK(), s.url)

	newer = c.serve(env)
	require.Zero(t, s.terminate(t))
	require.Contains(t, c.run("whoami").requireOK(), newer.url)
	require.Zero(t, newer.terminate(t))
	require.NoFileExists(t, s.localFile())
}

// TestDamagedCluster: data of a PostgreSQL that nobody knows the version of is left as it is.
func TestDamagedCluster(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.writeFile("data/postgres/cluster/global/1262", "rows")
	c.among(bare(c)).run("serve").requireFails(3, filepath.Join(c.dir, "data", "postgres", "cluster")+" has data but no PG_VERSION", "restore a backup")
	require.NoDirExists(t, filepath.Join(c.dir, "data", "postgres", "cluster.new"))
}

// randomKey is a master key that looks made by openssl.
const randomKey = "kq8J0mXo3yqvE6mN2hV5rT1sWc9uB4zLpG7dFxQaZ0Y="

// TestWorker: what a hub that stopped has accepted, a worker beside it delivers.
func TestWorker(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	p := s.newTenant(c).withKey()
	receiver := newReceiver(t, 500, "not yet")
	p.subscribe(receiver.URL)
	p.publishBatch(20, "a.b")
	require.Eventually(t, func() bool { return receiver.count() >= 20 }, waitTimeout, pollInterval)
	require.Zero(t, s.terminate(t))
	tried := receiver.count()
	receiver.setStatus(200)

	env := serverEnv(c.dir, s.database, s.redis)
	for _, missing := range []string{"HUB_DATABASE_URL", "HUB_REDIS_URL", "HUB_MASTER_KEY"} {
		c.among(also(env, missing, "")).run("worker").requireFails(3,
			"a worker shares the database, the Redis and the master key", "set HUB_DATABASE_URL, HUB_REDIS_URL and HUB_MASTER_KEY")
	}
	c.among(also(env, "HUB_MASTER_KEY", randomKey)).run("worker").requireFails(3,
		"HUB_MASTER_KEY (or master.key in the data directory) is not the key that the secrets in this database were encrypted with")
	worker := c.server(also(env, "HUB_DATA_DIR", filepath.Join(c.dir, "worker")), "worker")
	require.Contains(t, worker.Output(), "hub worker is delivering; probes and metrics at "+worker.url)
	p.awaitSettled(20, "delivered")
	require.Equal(t, tried+20, receiver.count())
	require.NoFileExists(t, worker.localFile())
	counted := regexp.MustCompile(`(?m)^hub_deliver\S*.*product="` + p.product + `".* 20$`)
	require.Eventually(t, func() bool { // after the commit, which the log shows
		status, metrics := worker.call(t, "GET", "/metrics", "")
		return status == 200 && counted.MatchString(metrics)
	}, waitTimeout, pollInterval)
	for _, path := range []string{"/api/v1/products", "/docs", "/openapi.json"} {
		status, _ := worker.call(t, "GET", path, "")
		require.Equal(t, 404, status, path)
	}
	require.Contains(t, c.among(env).run("doctor").stdout, "accepted 20 = delivered 20 + parked 0 + pending 0 + failed 0")

	// A hub beside it accepts, both deliver.
	beside := c.serve(env)
	p.hub = beside
	p.publishBatch(20, "a.b")
	p.awaitSettled(40, "delivered")
	require.Zero(t, worker.terminate(t))
	require.Zero(t, beside.terminate(t))
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.run("migrate").requireFails(3, "HUB_DATABASE_URL is not set", "hub serve")
	c = c.withEnv("HUB_DATABASE_URL", hubtest.EmptyDatabaseURL(t))
	empty := c.run("migrate", "--check")
	require.Equal(t, 3, empty.code)
	require.Regexp(t, `^schema at version 0, this hub needs [1-9]\d*\nschema scheduling at version 0, this hub needs [1-9]\d*\nschema messaging at version 0, this hub needs [1-9]\d*\nschema clinic at version 0, this hub needs [1-9]\d*\n$`, empty.stdout)
	require.Contains(t, empty.stderr, "run: hub migrate")
	applied := strings.Split(c.run("migrate").requireOK(), "\n")
	ours, products := 0, 0 // the hub's version, and the number of the products' migrations
	for _, line := range applied {
		if match := regexp.MustCompile(`^applied (\d{5})_\w+\.(?:sql|go)$`).FindStringSubmatch(line); match != nil {
			version, err := strconv.Atoi(match[1])
			require.NoError(t, err)
			require.Greater(t, version, ours, "in order")
			require.Zero(t, products, "the hub's own come first")
			ours = version
			continue
		}
		require.Regexp(t, `^applied (scheduling|messaging|clinic)/\d{5}_\w+\.sql$`, line)
		products++
	}
	require.Positive(t, products)
	again := c.run("migrate")
	require.Empty(t, again.requireOK())
	require.Contains(t, again.stderr, "the schema is up to date")
	require.Regexp(t, fmt.Sprintf(`^schema at version %d, this hub needs %[1]d\nschema scheduling at version (\d+), this hub needs (\d+)\nschema messaging at version (\d+), this hub needs (\d+)\nschema clinic at version (\d+), this hub needs (\d+)$`, ours), c.run("migrate", "--check").requireOK())
	require.Equal(t, fmt.Sprintf("schema at version %d, this hub needs %[1]d", ours), c.withEnv("HUB_PRODUCTS", "none").run("migrate", "--check").requireOK())
	away := c.withEnv("HUB_DATABASE_URL", "postgres://hub:canary@127.0.0.1:1/hub").run("migrate")
	away.requireFails(1, "connection refused")
	require.NotContains(t, away.stderr, "canary")
	require.NotContains(t, away.stderr, "is the hub running?", "it is the database that is not")
	require.NotContains(t, away.stderr, `\n`)
}
