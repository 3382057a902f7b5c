//go:build unix

package embedded_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
	"integrationhub/hub/hubtest"
)

func TestSecondStartKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "pg")
	cfg := config(t, dir)

	first := start(t, cfg)
	require.True(t, first.IsNewCluster())
	require.Equal(t, "on on off", query(t, first.URL(),
		"select concat_ws(' ', current_setting('fsync'), current_setting('data_checksums'), current_setting('jit'))"))
	require.Equal(t, "áé", query(t, first.URL(), "select lower('ÁÉ')"))
	require.Equal(t, first.Major(), query(t, first.URL(), "select split_part(current_setting('server_version'), '.', 1)"))
	execute(t, first.URL(), "create table kept as select 1 as x")
	require.NoError(t, first.Stop(context.Background()))
	_, open := <-first.Done()
	require.False(t, open, "a server that was stopped has not ended unasked")
	require.False(t, alive(first.Pid()))

	second := start(t, cfg)
	require.False(t, second.IsNewCluster())
	require.Equal(t, first.URL(), second.URL())
	require.Equal(t, "1", query(t, second.URL(), "select x::text from kept"))
	info, err := os.Stat(socketDir(t, second.URL()))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
}

func socketDir(t *testing.T, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	return u.Query().Get("host")
}

func TestAwkwardPaths(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"spaces":  "a hub's \"own\" data, 100 % ü",
		"long":    strings.Repeat("long/", 40) + strings.Repeat("x", 200),
		"symlink": "link/pg",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(base, "target"), 0o755))
			require.NoError(t, os.Symlink("target", filepath.Join(base, "link")))
			cfg := config(t, filepath.Join(base, part))
			cfg.Ephemeral = true
			p := start(t, cfg)
			require.Equal(t, "off", query(t, p.URL(), "show fsync"))
			require.NoError(t, p.Stop(context.Background()))
			start(t, cfg)
		})
	}
}

func TestSecondHubIsRefused(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	p := start(t, cfg)

	_, err := embedded.StartPostgres(context.Background(), cfg)
	require.ErrorIs(t, err, embedded.ErrInUse)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", os.Getpid()))
	require.ErrorContains(t, err, "HUB_DATABASE_URL")
	require.Equal(t, "1", query(t, p.URL(), "select '1'"), "the first goes on")

	require.NoError(t, p.Stop(context.Background()))
	start(t, cfg)
}

// A lock file may be empty after a full disk; PostgreSQL refuses to start on one.
func TestEmptyLockFile(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	require.NoError(t, start(t, cfg).Stop(context.Background()))
	require.NoError(t, os.WriteFile(filepath.Join(cfg.Dir, "cluster", "postmaster.pid"), nil, 0o600))
	require.Equal(t, "1", query(t, start(t, cfg).URL(), "select '1'"))
}

// The log of a running server is shortened, and the server goes on with it.
func TestLogOfARunningServerIsShortened(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	p := start(t, cfg)
	path := filepath.Join(cfg.Dir, "postgres.log")
	log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = log.WriteString(strings.Repeat(strings.Repeat("x", 1023)+"\n", 17<<10))
	require.NoError(t, err)
	require.NoError(t, log.Close())
	require.Eventually(t, func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() < 1<<20
	}, time.Minute, 10*time.Millisecond)
	older, err := os.Stat(path + ".1")
	require.NoError(t, err)
	require.Greater(t, older.Size(), int64(17<<20))
	execute(t, p.URL(), "do $$ begin raise log 'a line after that'; end $$")
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), "a line after that") && !strings.Contains(string(text), "\x00")
	}, time.Minute, 10*time.Millisecond)
}

func TestDoneReportsAKilledServer(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	p := start(t, cfg)
	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGKILL))
	require.ErrorContains(t, <-p.Done(), "killed")
	require.NoError(t, p.Stop(context.Background()))
	require.Equal(t, p.URL(), start(t, cfg).URL())
}

func TestStopDoesNotWaitLongerThanItsContext(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	p, err := embedded.StartPostgres(context.Background(), cfg)
	require.NoError(t, err)
	// The server stands still, so only what follows SIGQUIT can end it.
	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGSTOP))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(ctx) }()
	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGCONT))
	require.ErrorIs(t, <-stopped, context.Canceled)
	require.False(t, alive(p.Pid()))
	start(t, cfg)
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond) // in the middle of initdb
	defer cancel()
	_, err := embedded.StartPostgres(ctx, cfg)
	require.Error(t, err)
	require.True(t, start(t, cfg).IsNewCluster())
}

func TestFailedStartShowsTheServersLog(t *testing.T) {
	t.Parallel()
	cfg := config(t, filepath.Join(t.TempDir(), "pg"))
	cfg.Params = map[string]string{"no_such_setting": "1"}
	_, err := embedded.StartPostgres(context.Background(), cfg)
	require.ErrorContains(t, err, `unrecognized configuration parameter "no_such_setting"`)
	cfg.Params = map[string]string{"max_connections": "17"}
	require.Equal(t, "17", query(t, start(t, cfg).URL(), "show max_connections"))
}

func TestLogHoldsNoValues(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pg")
	p := start(t, config(t, dir))
	conn, err := pgx.Connect(context.Background(), p.URL())
	require.NoError(t, err)
	defer conn.Close(context.Background())
	execute(t, p.URL(), "create table secrets (s text unique)")
	_, err = conn.Exec(context.Background(), "insert into secrets values ('canary'), ('canary')")
	require.ErrorContains(t, err, "duplicate key")

	log, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "duplicate key", "the error itself is logged")
	require.NotContains(t, string(log), "canary")
}

// BenchmarkSecondStart is what a restart of a hub waits for.
func BenchmarkSecondStart(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "pg")
	for b.Loop() {
		p, err := embedded.StartPostgres(context.Background(), embedded.PostgresConfig{Dir: dir, Search: hubtest.PostgresSearch()})
		require.NoError(b, err)
		b.StopTimer()
		require.NoError(b, p.Stop(context.Background()))
		b.StartTimer()
	}
}

// Every way of being root that this machine allows; for anyone else they are the same.
func TestRunsAsRoot(t *testing.T) {
	t.Parallel()
	for _, mode := range embedded.RootModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			plain := config(t, filepath.Join(openDir(t), "data", "pg"))
			p, err := embedded.StartPostgres(context.Background(), plain.InMode(mode))
			if err != nil { // in a container, say
				require.ErrorContains(t, err, "lets root become nobody else")
				require.NotEqual(t, "setuid", mode, "this one works everywhere")
				return
			}
			require.True(t, alive(p.Pid()))
			require.NoError(t, p.Stop(context.Background()))
			restarted := start(t, plain) // also after the way has changed: the files change hands
			require.False(t, restarted.IsNewCluster())
			require.NoError(t, restarted.Stop(context.Background()))
			start(t, plain.InMode(mode))
		})
	}
}

func TestRootInSomeonesClosedHome(t *testing.T) {
	t.Parallel()
	home := filepath.Join(openDir(t), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(home, nobody, nobody))
	}
	start(t, config(t, filepath.Join(home, "hub", "pg")))
}

func TestRootBehindAClosedDirectorySaysWhich(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(openDir(t), "closed")
	require.NoError(t, os.Mkdir(closed, 0o700))
	cfg := config(t, filepath.Join(closed, "pg")).InMode("setuid")
	if os.Geteuid() != 0 {
		start(t, cfg)
		return
	}
	_, err := embedded.StartPostgres(context.Background(), cfg)
	require.ErrorContains(t, err, "chmod o+x "+closed)
	start(t, cfg.InMode("setuid+override"))
}

const nobody = 65534

// A start as root leaves the files of a data directory to the directory's owner, who can
// start again, whether it or root was first. A user who is not root is that owner: then both
// starts are its own, and the files stay its own too.
func TestRootLeavesADirectoryToItsOwner(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	isRoot, owner := os.Geteuid() == 0, os.Geteuid()
	if isRoot {
		owner = nobody
	}
	for _, first := range []string{"owner", "root"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			dir := openDir(t)
			copied, home := filepath.Join(dir, "holder"), filepath.Join(dir, "home")
			copyFile(t, program, copied)
			require.NoError(t, os.Mkdir(home, 0o700))
			require.NoError(t, os.Chown(home, owner, -1))
			asOwner := func(cmd *exec.Cmd) {
				cmd.Path, cmd.Dir, cmd.Env = copied, home, append(cmd.Env, "HOME="+home)
				if isRoot {
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				}
			}
			data, kept := filepath.Join(home, "data", "pg"), 0 // "data" is made too
			if first == "owner" {
				h := startHolder(t, data, asOwner)
				h.read(t, "row")
				kept = h.kill()
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cfg := config(t, data)
			p, err := embedded.StartPostgres(ctx, cfg)
			require.NoError(t, err)
			require.NoError(t, p.Stop(ctx))
			require.NoError(t, filepath.WalkDir(home, func(path string, entry fs.DirEntry, err error) error {
				require.NoError(t, err)
				info, err := entry.Info()
				require.NoError(t, err)
				require.EqualValues(t, owner, info.Sys().(*syscall.Stat_t).Uid, path)
				return nil
			}))
			h := startHolder(t, data, asOwner)
			require.GreaterOrEqual(t, h.found, kept)
			h.read(t, "row")
			h.kill()
		})
	}
}

// As root this runs the whole thing as an unprivileged user; else it is one already.
func TestRunsAsNormalUser(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	program, err := os.Executable()
	require.NoError(t, err)
	copied := filepath.Join(dir, "holder")
	copyFile(t, program, copied)
	home := filepath.Join(dir, "home of its own")
	require.NoError(t, os.Mkdir(home, 0o700))
	as := func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = copied, home
		cmd.Env = append(cmd.Env, "HOME="+home)
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(home, nobody, nobody))
	}
	for range 2 {
		h := startHolder(t, filepath.Join(home, "data", "pg"), as)
		h.read(t, "row")
		h.kill()
	}
}
