package main_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
	"integrationhub/hub/hubtest"
)

// outage is how the private PostgreSQL of a hub ends, and what lets it start again.
type outage struct {
	begin func(p *outagePublisher)
	end   func()
}

// The hub goes on without its private PostgreSQL: it restarts the server as soon as it can.
func TestPrivatePostgresIsKilled(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	requireSurvivesKilledPostgres(t, c, bare(c))
}

// requireSurvivesKilledPostgres kills the server, whose data is out of reach for a while.
func requireSurvivesKilledPostgres(t *testing.T, c *cli, env map[string]string) {
	t.Helper()
	data := filepath.Join(env["HUB_DATA_DIR"], "postgres", "cluster")
	requireSurvivesOutage(t, c, env, outage{
		begin: func(p *outagePublisher) {
			pid := p.postgresPid()
			require.NoError(t, os.Rename(data, data+".away"))
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		},
		end: func() { require.NoError(t, os.Rename(data+".away", data)) },
	})
}

// A hub can be stopped while its private PostgreSQL does not start.
func TestStopWithoutPrivatePostgres(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve(bare(c))
	p := &outagePublisher{t: t, hub: s}
	data := filepath.Join(s.dataDir, "postgres", "cluster")
	pid := p.postgresPid()
	require.NoError(t, os.Rename(data, data+".away"))
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	s.awaitOutput(t, "private PostgreSQL does not start")
	require.Zero(t, s.terminate(t))
}

// A full disk ends PostgreSQL. When there is room again, everything goes on by itself. Where the
// user may not mount a small disk, it is mounted in a namespace.
func TestDiskOfPrivatePostgresIsFull(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	disk, ok := hubtest.SmallDisk(t, 256)
	if !ok && hubtest.RunInMountNamespace(t) {
		return
	}
	if !ok {
		requireSurvivesKilledPostgres(t, c, bare(c))
		return
	}
	ballast := filepath.Join(disk, "ballast")
	requireSurvivesOutage(t, c, also(bare(c), "HUB_DATA_DIR", filepath.Join(disk, "data")), outage{
		begin: func(p *outagePublisher) {
			fillDisk(t, ballast)
			p.awaitStatus(http.StatusServiceUnavailable)
			require.Eventually(t, func() bool {
				fillDisk(t, ballast) // also what a server that starts again has freed
				p.useUpLog()
				return strings.Contains(p.hub.Output(), "private PostgreSQL does not start")
			}, 2*waitTimeout, 10*pollInterval)
		},
		end: func() { require.NoError(t, os.Remove(ballast)) },
	})
}

// fillDisk writes to a file until there is no room left on its disk.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer file.Close()
	for size := 1 << 20; size >= 4<<10; size /= 2 {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
}

// outagePublisher publishes events, and remembers which were accepted.
type outagePublisher struct {
	t        *testing.T
	hub      *hubProcess
	key      string
	accepted []string
}

// publish returns the response's status and body.
func (p *outagePublisher) publish() (int, string) {
	p.t.Helper()
	id := fmt.Sprintf("evt_%016x", len(p.accepted)+1)
	body := fmt.Sprintf(`{"event_type":"a.b","id":%q,"data":{"text":%q}}`, id, strings.Repeat("x", 2000))
	status, text := p.hub.call(p.t, "POST", "/api/v1/events", body, "X-Integration-Key", p.key)
	if status == http.StatusAccepted {
		p.accepted = append(p.accepted, id)
	}
	return status, text
}

// awaitStatus publishes until the response has a status.
func (p *outagePublisher) awaitStatus(want int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		status, text := p.publish()
		require.Contains(p.t, []int{http.StatusAccepted, http.StatusServiceUnavailable}, status, text)
		return status == want
	}, 2*waitTimeout, pollInterval, "status %d", want)
}

// postgresPid is the process id of the hub's PostgreSQL.
func (p *outagePublisher) postgresPid() int {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.hub.dataDir, "postgres", "cluster", "postmaster.pid"))
	require.NoError(p.t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(p.t, err)
	return pid
}

// useUpLog makes PostgreSQL begin files of its write-ahead log, until there is no room for one.
func (p *outagePublisher) useUpLog() {
	p.t.Helper()
	url, ok := embedded.RunningPostgresURL(filepath.Join(p.hub.dataDir, "postgres"))
	if !ok {
		return // it has ended over it already
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	for ctx.Err() == nil && !conn.IsClosed() {
		_, _ = conn.Exec(ctx, `select pg_logical_emit_message(true, 'test', 'x'), pg_switch_wal()`)
	}
}

// requireSurvivesOutage requires that a hub answers 503 while its PostgreSQL is away, says why,
// and afterwards goes on without a restart: every accepted event arrives.
func requireSurvivesOutage(t *testing.T, c *cli, env map[string]string, o outage) {
	t.Helper()
	s := c.serve(env)
	c = c.withEnv("HUB_DATA_DIR", s.dataDir)
	tenant := s.newTenant(c).withKey()
	receiver := newReceiver(t, 200, "")
	tenant.subscribe(receiver.URL)
	p := &outagePublisher{t: t, hub: s, key: tenant.env["HUB_KEY"]}
	for range 20 {
		status, text := p.publish()
		require.Equal(t, http.StatusAccepted, status, text)
	}
	o.begin(p)
	s.awaitOutput(t, "private PostgreSQL does not start")
	status, text := p.publish()
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.Contains(t, text, "database_unavailable")
	status, text = s.call(t, "GET", "/ready", "")
	require.Equal(t, http.StatusServiceUnavailable, status, text)
	require.Contains(t, text, "database_unavailable")
	status, text = s.call(t, "GET", "/health", "")
	require.Equal(t, http.StatusOK, status, text)
	away := c.run("doctor")
	require.Equal(t, 3, away.code)
	require.Regexp(t, `(?m)^database +FAILED +the hub that runs on \S+ \(process `+strconv.Itoa(s.Pid())+`\) has no PostgreSQL that takes connections$`, away.stdout)
	require.Contains(t, away.stdout, "→ look at "+filepath.Join(s.dataDir, "postgres", "postgres.log")+", and at the disk")

	o.end()
	freed := time.Now()
	p.awaitStatus(http.StatusAccepted)
	t.Logf("%d accepted, again %s after the outage", len(p.accepted), time.Since(freed).Round(time.Millisecond))
	s.awaitOutput(t, "private PostgreSQL runs again")
	require.Eventually(t, func() bool { status, _ := s.call(t, "GET", "/ready", ""); return status == http.StatusOK }, waitTimeout, pollInterval)
	require.Eventually(t, func() bool { return len(receiver.missing(p.accepted)) == 0 }, 2*waitTimeout, 10*pollInterval, "every accepted event is delivered")
	require.Regexp(t, `(?m)^database +ok`, c.run("doctor").stdout)
	requireLinePerReason(t, s.Output())
	require.Zero(t, s.terminate(t))
}

// requireLinePerReason requires that a log says why PostgreSQL does not start, and each reason
// once, not for each try. What an outage ends in the middle of may be a further reason.
func requireLinePerReason(t *testing.T, log string) {
	t.Helper()
	reasons := make(map[string]bool)
	for line := range strings.Lines(log) {
		_, reason, found := strings.Cut(line, "does not start")
		if !found {
			continue
		}
		reason = strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, reason)
		require.False(t, reasons[reason], "a line for the change, not for each try: %s", line)
		reasons[reason] = true
	}
	require.NotEmpty(t, reasons)
}

// awaitOutput waits until the process has written a text.
func (s *hubProcess) awaitOutput(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.Output(), text) }, waitTimeout, pollInterval, "%s", text)
}

// missing returns which events have not arrived.
func (p *receiver) missing(ids []string) (missing []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	arrived := map[string]bool{}
	for _, request := range p.got {
		arrived[request.Header.Get("webhook-id")] = true
	}
	for _, id := range ids {
		if !arrived[id] {
			missing = append(missing, id)
		}
	}
	return missing
}
