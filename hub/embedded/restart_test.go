//go:build unix

package embedded_test

import (
	"context"
	"log/slog"
	"os"
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

// A server that is killed, crashes or is shut down by another program runs again at the same
// URL, with everything that was committed. Its directory stays locked meanwhile.
func TestServerIsRestarted(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{
		"killed": syscall.SIGKILL, "crashed": syscall.SIGQUIT, "fast shutdown": syscall.SIGINT, "smart shutdown": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, log := config(t, filepath.Join(t.TempDir(), "pg")), &hubtest.Buffer{}
			cfg.Restart, cfg.Logger = true, slog.New(slog.NewTextHandler(log, nil))
			p := start(t, cfg)
			execute(t, p.URL(), "create table kept as select 1 as x")
			connected, err := pgx.Connect(context.Background(), p.URL()) // a smart shutdown waits for its end
			require.NoError(t, err)
			defer connected.Close(context.Background())

			ended := p.Pid()
			require.NoError(t, syscall.Kill(ended, signal))
			_, err = embedded.StartPostgres(context.Background(), cfg)
			require.ErrorIs(t, err, embedded.ErrInUse)
			requireAnswersAgain(t, p, ended)
			require.Equal(t, "1", query(t, p.URL(), "select x::text from kept"))
			require.Equal(t, 1, strings.Count(log.String(), "ended unasked"), log.String())
			require.Contains(t, log.String(), "database system is ready to accept connections", "the end of the server's log")

			require.NoError(t, p.Stop(context.Background()))
			require.False(t, alive(p.Pid()))
			_, open := <-p.Done()
			require.False(t, open)
			cfg.Restart = false
			start(t, cfg)
		})
	}
}

// requireAnswersAgain waits until another server than the one that ended answers.
func requireAnswersAgain(t *testing.T, p *embedded.Postgres, ended int) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(context.Background(), p.URL())
		if err != nil {
			return false
		}
		defer conn.Close(context.Background())
		return conn.Ping(context.Background()) == nil && p.Pid() != ended
	}, time.Minute, 10*time.Millisecond)
}

// A server that cannot start is tried until it can, without a line for each try. Data that is
// out of reach is not replaced by a new cluster.
func TestRestartIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"programs", "data"} {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			cfg, log := restarting(t)
			p := start(t, cfg)
			execute(t, p.URL(), "create table kept as select 1 as x")
			path, failure := cfg.BinDir, "out of order"
			if missing == "data" {
				path, failure = filepath.Join(cfg.Dir, "cluster"), "could not access directory"
			}
			require.NoError(t, os.Rename(path, path+".away"))
			if missing == "programs" {
				require.NoError(t, os.Mkdir(path, 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(path, "postgres"), []byte("#!/bin/sh\necho out of order\nexit 1\n"), 0o755))
			}
			ended := p.Pid()
			require.NoError(t, syscall.Kill(ended, syscall.SIGKILL))
			require.Eventually(t, func() bool {
				text, err := os.ReadFile(filepath.Join(cfg.Dir, "postgres.log"))
				return err == nil && strings.Count(string(text), failure) >= 3
			}, time.Minute, 10*time.Millisecond, "three tries")
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.Rename(path+".away", path))
			requireAnswersAgain(t, p, ended)
			require.Equal(t, "1", query(t, p.URL(), "select x::text from kept"))
			require.Equal(t, 1, strings.Count(log.String(), "does not start"), log.String())
			require.Equal(t, 1, strings.Count(log.String(), "runs again"), log.String())
		})
	}
}

// restarting is the configuration of a server that is restarted, with programs of its own that
// can be taken away.
func restarting(t *testing.T) (embedded.PostgresConfig, *hubtest.Buffer) {
	t.Helper()
	cfg, log := config(t, filepath.Join(t.TempDir(), "pg")), &hubtest.Buffer{}
	own := filepath.Join(openDir(t), "bin")
	require.NoError(t, os.Mkdir(own, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.Symlink(filepath.Join(cfg.BinDir, name), filepath.Join(own, name)))
	}
	cfg.BinDir, cfg.Restart, cfg.Logger = own, true, slog.New(slog.NewTextHandler(log, nil))
	return cfg, log
}

// Stop does not wait for a restart that does not succeed, and releases the directory.
func TestStopDuringRestart(t *testing.T) {
	t.Parallel()
	cfg, log := restarting(t)
	p := start(t, cfg)
	require.NoError(t, os.Rename(cfg.BinDir, cfg.BinDir+".away"))
	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGKILL))
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "does not start") }, time.Minute, 10*time.Millisecond)
	began := time.Now()
	require.NoError(t, p.Stop(context.Background()))
	require.Less(t, time.Since(began), time.Second)
	require.NoDirExists(t, socketDir(t, p.URL()))
	require.NoError(t, os.Rename(cfg.BinDir+".away", cfg.BinDir))
	require.Equal(t, p.URL(), start(t, cfg).URL())
}

// A directory of the socket that was cleaned away is made again.
func TestRestartMakesTheSocketDirectoryAgain(t *testing.T) {
	t.Parallel()
	cfg, _ := restarting(t)
	p := start(t, cfg)
	require.NoError(t, os.RemoveAll(socketDir(t, p.URL())))
	ended := p.Pid()
	require.NoError(t, syscall.Kill(ended, syscall.SIGKILL))
	requireAnswersAgain(t, p, ended)
}
