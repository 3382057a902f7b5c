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

// The first operator of the hubs under test.
const (
	adminEmail    = "ana@example.com"
	adminPassword = "correct horse battery"
)

// Waiting for the hub.
const (
	pollInterval = 10 * time.Millisecond
	waitTimeout  = time.Minute // on a busy machine
)

var masterKey = base64.StdEncoding.EncodeToString([]byte("a master key of 32 bytes, truly!"))

// hubProcess is a running `hub serve` or `hub worker`.
type hubProcess struct {
	*hubtest.Process
	url      string
	token    string // of the operator on this machine
	dataDir  string
	database string // URL; "" = its private PostgreSQL
	redis    string
}

var shared struct {
	once sync.Once
	hub  *hubProcess
	err  error
}

// sharedHub is the hub of all tests that do not break it. Each makes its
// own product and tenant: see newTenant.
func sharedHub(t *testing.T) *hubProcess {
	t.Helper()
	shared.once.Do(func() {
		database, redis := hubtest.DatabaseURL(hubtest.ForProcess(t)), hubtest.RedisURL(t)
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

// databaseURL returns the URL of a database of the test's own that this binary has migrated:
// copying it costs less than migrating every product's schema at each start.
func databaseURL(t *testing.T) string {
	t.Helper()
	return hubtest.PreparedDatabaseURL(t, "hub migrate", nil, func(ctx context.Context, url string) error {
		migrate := exec.CommandContext(ctx, binary, "migrate")
		for name, value := range serverEnv(scratch, url, hubtest.RedisURL(t)) {
			migrate.Env = append(migrate.Env, name+"="+value)
		}
		if out, err := migrate.CombinedOutput(); err != nil {
			return fmt.Errorf("migrating the template: %w\n%s", err, out)
		}
		return nil
	})
}

// serverEnv is the environment of a hub on external servers.
func serverEnv(dir, database, redis string) map[string]string {
	return map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": dir, "GORACE": raceOptions, "TMPDIR": os.TempDir(),
		"HUB_ENV": "development", "HUB_LISTEN": "127.0.0.1:0", "HUB_DATA_DIR": filepath.Join(dir, "data"),
		"HUB_DATABASE_URL": database, "HUB_REDIS_URL": redis, "HUB_MASTER_KEY": masterKey,
		"HUB_ADMIN_EMAIL": adminEmail, "HUB_ADMIN_PASSWORD": adminPassword,
	}
}

// startServer runs the binary and waits until it is ready. It ends with this
// process; its caller may stop it earlier.
func startServer(dir string, env map[string]string, args ...string) (*hubProcess, error) {
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
	s := &hubProcess{Process: process, dataDir: env["HUB_DATA_DIR"], database: env["HUB_DATABASE_URL"], redis: env["HUB_REDIS_URL"]}
	if err := s.awaitReady(); err != nil {
		process.Kill()
		return nil, fmt.Errorf("%w; it wrote:\n%s", err, process.LogTail())
	}
	return s, nil
}

var serverNumber atomic.Int64

// readyAddress matches the address that serve and worker print.
var readyAddress = regexp.MustCompile(`http://\S+/ready|metrics at http://\S+`)

// awaitReady waits until the process prints its address, and then for /ready.
func (s *hubProcess) awaitReady() error {
	deadline := time.Now().Add(commandTimeout)
	every := time.NewTicker(pollInterval) // each look reads the log
	defer every.Stop()
	for time.Now().Before(deadline) {
		select {
		case <-s.Exited():
			return fmt.Errorf("it ended: %w", errors.Join(s.Err(), errors.New("not ready")))
		case <-every.C:
		}
		if s.url = readyAddress.FindString(s.Output()); s.url == "" {
			continue
		}
		s.url = strings.TrimPrefix(s.url, "metrics at ")
		s.url = strings.TrimSuffix(s.url, "/ready")
		resp, err := hubtest.HTTPClient.Get(s.url + "/ready")
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

// local is the file by which commands on this machine authenticate.
type local struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

func (s *hubProcess) localFile() string { return filepath.Join(s.dataDir, "local.json") }

// local reads it; empty where there is none, as beside a worker.
func (s *hubProcess) local() local {
	var l local
	raw, err := os.ReadFile(s.localFile())
	if err == nil {
		_ = json.Unmarshal(raw, &l) // written in one step
	}
	return l
}

// terminate sends SIGTERM and returns the exit code.
func (s *hubProcess) terminate(t *testing.T) int {
	t.Helper()
	require.NoError(t, s.Signal(syscall.SIGTERM))
	select {
	case <-s.Exited():
	case <-time.After(waitTimeout):
		require.Fail(t, "it does not stop", s.LogTail())
	}
	return exitOf(t, s.Err())
}

// pool connects to its database.
func (s *hubProcess) pool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), s.database)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// queryRow reads one row from its database.
func (s *hubProcess) queryRow(t *testing.T, into []any, sql string, args ...any) {
	t.Helper()
	require.NoError(t, s.pool(t).QueryRow(context.Background(), sql, args...).Scan(into...), sql)
}

// exec changes its database.
func (s *hubProcess) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := s.pool(t).Exec(context.Background(), sql, args...)
	require.NoError(t, err, sql)
}

// call sends a request as the operator on this machine, and returns status and body.
func (s *hubProcess) call(t *testing.T, method, path, body string, header ...string) (int, string) {
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
	resp, err := hubtest.HTTPClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// callInto calls, requires a status and decodes the answer.
func (s *hubProcess) callInto(t *testing.T, value any, status int, method, path, body string) {
	t.Helper()
	got, text := s.call(t, method, path, body)
	require.Equal(t, status, got, text)
	require.NoError(t, json.NewDecoder(bytes.NewBufferString(text)).Decode(value), text)
}

// createOperator makes an account, and returns its id and e-mail address.
func (s *hubProcess) createOperator(t *testing.T, role string) (id, email string) {
	t.Helper()
	email = fmt.Sprintf("op%d@example.com", tenantNumber.Add(1))
	var made struct {
		ID string `json:"id"`
	}
	s.callInto(t, &made, 201, "POST", "/api/v1/operators", fmt.Sprintf(`{"email":%q,"name":"Op","role":%q,"password":%q}`, email, role, adminPassword))
	return made.ID, email
}

// ownHub starts a hub for one test that stops or breaks it, and a command line
// that finds it.
func ownHub(t *testing.T) (*hubProcess, *cli) {
	t.Helper()
	c := newCLI(t)
	s := c.serve(serverEnv(c.dir, databaseURL(t), hubtest.RedisURL(t)))
	return s, c.withEnv("HUB_DATA_DIR", s.dataDir)
}

// serve starts a hub in the directory of the command line.
func (c *cli) serve(env map[string]string) *hubProcess {
	c.t.Helper()
	return c.server(env, "serve")
}

// server starts a hub or a worker; it is killed when the test ends.
func (c *cli) server(env map[string]string, args ...string) *hubProcess {
	c.t.Helper()
	s, err := startServer(c.dir, env, args...)
	require.NoError(c.t, err)
	c.t.Cleanup(s.Kill)
	return s
}
