package main_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// The first operator of the hubs the tests run.
const (
	ana         = "ana@example.com"
	anaPassword = "correct horse battery"
)

// Waiting for the outside world.
const (
	tick = 10 * time.Millisecond
	soon = 40 * time.Second // on a busy machine
)

var masterKey = base64.StdEncoding.EncodeToString([]byte("a master key of 32 bytes, truly!"))

// served is a running `hub serve` or `hub worker`.
type served struct {
	*hubtest.Process
	url      string
	token    string // of the operator on this machine
	dataDir  string
	database string // URL; "" = its private PostgreSQL
	redis    string
}

var shared struct {
	once sync.Once
	hub  *served
	err  error
}

// sharedHub is the one hub that all tests use that do not break it. Each brings its
// own product and tenant: see newPlace.
func sharedHub(t *testing.T) *served {
	t.Helper()
	shared.once.Do(func() {
		database, redis := hubtest.SharedDatabaseURL(t), hubtest.RedisURL(t)
		shared.hub, shared.err = startServer(scratch, serverEnv(scratch, database, redis), "serve")
	})
	require.NoError(t, shared.err)
	return shared.hub
}

func stopSharedHub() {
	if shared.hub != nil {
		shared.hub.Kill()
	}
}

// serverEnv is the environment of a hub on external servers.
func serverEnv(dir, database, redis string) map[string]string {
	return map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": dir, "GORACE": raceOptions,
		"HUB_ENV": "development", "HUB_LISTEN": "127.0.0.1:0", "HUB_DATA_DIR": filepath.Join(dir, "data"),
		"HUB_DATABASE_URL": database, "HUB_REDIS_URL": redis, "HUB_MASTER_KEY": masterKey,
		"HUB_ADMIN_EMAIL": ana, "HUB_ADMIN_PASSWORD": anaPassword,
	}
}

// startServer runs the binary and waits until it is ready. It ends with this
// process; who starts it may end it before.
func startServer(dir string, env map[string]string, args ...string) (*served, error) {
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	name := fmt.Sprintf("%s-%d", args[0], serverNumber.Add(1))
	process, err := hubtest.StartProcess(name, dir, cmd)
	if err != nil {
		return nil, err
	}
	s := &served{Process: process, dataDir: env["HUB_DATA_DIR"], database: env["HUB_DATABASE_URL"], redis: env["HUB_REDIS_URL"]}
	if err := s.awaitReady(); err != nil {
		process.Kill()
		return nil, fmt.Errorf("%w; it wrote:\n%s", err, process.LogTail())
	}
	return s, nil
}

var serverNumber atomic.Int64

// readyAt finds the address in what serve and worker print.
var readyAt = regexp.MustCompile(`http://\S+/ready|metrics at http://\S+`)

// awaitReady waits for the address in what it prints, and then for /ready.
func (s *served) awaitReady() error {
	deadline := time.Now().Add(patience)
	every := time.NewTicker(2 * time.Millisecond)
	defer every.Stop()
	for time.Now().Before(deadline) {
		select {
		case <-s.Exited():
			return fmt.Errorf("it ended: %w", errors.Join(s.Err(), errors.New("not ready")))
		case <-every.C:
		}
		if s.url = readyAt.FindString(s.Output()); s.url == "" {
			continue
		}
		s.url = strings.TrimPrefix(s.url, "metrics at ")
		s.url = strings.TrimSuffix(s.url, "/ready")
		resp, err := http.Get(s.url + "/ready")
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			s.token = s.local().Token
			return nil
		}
	}
	return errors.New("it is not ready")
}

// local is the file that lets the commands on this machine in.
type local struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

func (s *served) localFile() string { return filepath.Join(s.dataDir, "local.json") }

// local reads it; empty where there is none, as beside a worker.
func (s *served) local() local {
	var l local
	raw, err := os.ReadFile(s.localFile())
	if err == nil {
		_ = json.Unmarshal(raw, &l) // written in one step
	}
	return l
}

// terminate asks it to stop and gives the exit code.
func (s *served) terminate(t *testing.T) int {
	t.Helper()
	require.NoError(t, s.Signal(syscall.SIGTERM))
	select {
	case <-s.Exited():
	case <-time.After(soon):
		require.Fail(t, "it does not stop", s.LogTail())
	}
	return exitOf(t, s.Err())
}

// pool looks into its database behind its back.
func (s *served) pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), s.database)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// scan reads one row from its database.
func (s *served) scan(t *testing.T, into []any, sql string, args ...any) {
	t.Helper()
	require.NoError(t, s.pool(t).QueryRow(context.Background(), sql, args...).Scan(into...), sql)
}

// exec changes its database.
func (s *served) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.pool(t).Exec(context.Background(), sql, args...)
	require.NoError(t, err, sql)
}

// call sends a request as the operator on this machine and gives status and body.
func (s *served) call(t *testing.T, method, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+s.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// into calls, requires a status and decodes the answer.
func (s *served) into(t *testing.T, value any, status int, method, path, body string) {
	t.Helper()
	got, text := s.call(t, method, path, body)
	require.Equal(t, status, got, text)
	require.NoError(t, json.NewDecoder(bytes.NewBufferString(text)).Decode(value), text)
}

// operator makes an account and gives its id and its address.
func (s *served) operator(t *testing.T, role string) (id, email string) {
	t.Helper()
	email = fmt.Sprintf("op%d@example.com", placeNumber.Add(1))
	var made struct {
		ID string `json:"id"`
	}
	s.into(t, &made, 201, "POST", "/api/v1/operators", fmt.Sprintf(`{"email":%q,"name":"Op","role":%q,"password":%q}`, email, role, anaPassword))
	return made.ID, email
}

// ownHub starts a hub for one test that stops or breaks it, and a command line
// that finds it.
func ownHub(t *testing.T) (*served, *cli) {
	t.Helper()
	c := newCLI(t)
	s := c.serve(serverEnv(c.dir, hubtest.DatabaseURL(t), hubtest.RedisURL(t)))
	return s, c.with("HUB_DATA_DIR", s.dataDir)
}

// serve starts a hub in the directory of the command line.
func (c *cli) serve(env map[string]string) *served {
	c.t.Helper()
	return c.server(env, "serve")
}

// server starts a hub or a worker; it is killed when the test ends.
func (c *cli) server(env map[string]string, args ...string) *served {
	c.t.Helper()
	s, err := startServer(c.dir, env, args...)
	require.NoError(c.t, err)
	c.t.Cleanup(s.Kill)
	return s
}

// place is a test's own product and tenant in a hub, and a command line with the
// operator's right.
type place struct {
	*cli
	hub      *served
	product  string
	tenant   string // name
	tenantID string
}

var placeNumber atomic.Int64

// newPlace makes a place in the shared hub.
func newPlace(t *testing.T) *place {
	t.Helper()
	s := sharedHub(t)
	return s.place(newCLI(t).with("HUB_DATA_DIR", s.dataDir))
}

func (s *served) place(c *cli) *place {
	c.t.Helper()
	n := placeNumber.Add(1)
	p := &place{cli: c, hub: s, product: fmt.Sprintf("p%d", n), tenant: fmt.Sprintf("Tenant %d", n)}
	c.run("products", "create", p.product, "--prefix", p.product).ok()
	p.tenantID = c.run("tenants", "create", p.tenant, "--product", p.product, "-q").ok()
	return p
}

// withKey gives the place with a key of its tenant, without a limit, in HUB_KEY.
func (p *place) withKey() *place {
	p.t.Helper()
	key := p.run("keys", "create", "--tenant", p.tenantID, "--rate", "0", "-q").ok()
	other := *p
	other.cli = p.with("HUB_KEY", key)
	return &other
}

// subscribe makes an endpoint and gives its id.
func (p *place) subscribe(url string, flags ...string) string {
	p.t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	p.run(append([]string{"endpoints", "create", url, "--tenant", p.tenantID, "-o", "json"}, flags...)...).into(&made)
	return made.ID
}

// publish sends an event and gives its id.
func (p *place) publish(eventType string, flags ...string) string {
	p.t.Helper()
	return p.run(append([]string{"publish", "--type", eventType}, flags...)...).ok()
}

// batch publishes n events of a type.
func (p *place) batch(n int, eventType string) {
	p.t.Helper()
	p.runIn(strings.Repeat(fmt.Sprintf(`{"event_type":%q,"data":{}}`+"\n", eventType), n), "publish", "--batch", "-").ok()
}

// settled waits until so many deliveries of the tenant stand at a status, and none
// is pending.
func (p *place) settled(count int, status string) {
	p.t.Helper()
	pool := p.hub.pool(p.t)
	numbers := map[string]int{"delivered": 1, "parked": 2}
	require.Eventually(p.t, func() bool {
		var there, pending int
		err := pool.QueryRow(context.Background(), `
			select count(*) filter (where status = $2), count(*) filter (where status = 0)
			from hub.deliveries where tenant_id = $1 and not exists (select from hub.leases)`, p.tenantID, numbers[status]).Scan(&there, &pending)
		return err == nil && there == count && pending == 0
	}, soon, tick, "%d deliveries %s", count, status)
}
