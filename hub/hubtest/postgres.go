//go:build unix

package hubtest

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
	"integrationhub/hub/migrations"
)

const (
	startTimeout = 2 * time.Minute // generous: initdb on a busy machine
	template     = "hub_template"
)

// shared is this process's cluster.
var shared struct {
	once     sync.Once
	server   *embedded.Postgres
	admin    *pgxpool.Pool // connected to the maintenance database
	err      error
	prepared sync.Map     // by name, a func that makes a template with more in it
	next     atomic.Int64 // number of the next test database
}

// Database creates a migrated database for the test, and returns a pool on it.
// Both end with the test. The database is not durable.
func Database(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), DatabaseURL(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// DatabaseURL creates a migrated database for the test, dropped when the
// test ends, also with open connections.
func DatabaseURL(t testing.TB) string {
	t.Helper()
	startShared(t, preparation{})
	return cloneDatabase(t, template)
}

// PreparedDatabaseURL is [DatabaseURL] with something in it, which prepare puts into a
// template, once in a process for each name. With files, the processes of a day share it as
// long as the files and this package are the same; prepare must depend on nothing else.
func PreparedDatabaseURL(t testing.TB, name string, files fs.FS, prepare func(ctx context.Context, url string) error) string {
	t.Helper()
	p := preparation{name, files, prepare}
	startShared(t, p)
	made, _ := shared.prepared.LoadOrStore(name, sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return makePrepared(ctx, shared.admin, shared.server.URL(), p)
	}))
	require.NoError(t, made.(func() error)())
	return cloneDatabase(t, p.database())
}

// EmptyDatabaseURL creates an empty database for the test, not migrated.
func EmptyDatabaseURL(t testing.TB) string {
	t.Helper()
	startShared(t, preparation{})
	return cloneDatabase(t, "template1")
}

// startShared starts the process's server where it does not run yet; p is what the first test
// wants of it.
func startShared(t testing.TB, p preparation) {
	t.Helper()
	shared.once.Do(func() { shared.err = startPostgres(p) })
	require.NoError(t, shared.err)
}

func startPostgres(p preparation) error {
	dir, err := inMemory.make("pg")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := copyCluster(ctx, dir, p); err != nil {
		return err
	}
	if shared.server, err = startServer(ctx, dir); err != nil {
		return err
	}
	if shared.admin, err = pgxpool.New(ctx, shared.server.URL()); err != nil {
		return fmt.Errorf("connecting to the tests' PostgreSQL: %w", err)
	}
	return makeTemplate(ctx, shared.admin, shared.server.URL())
}

func stopPostgres() {
	if shared.server == nil {
		return
	}
	if shared.admin != nil {
		shared.admin.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = shared.server.Stop(ctx) // its data is thrown away next
}

// makeTemplate migrates one database, unless there is one; cloning it is far quicker than
// migrating again.
func makeTemplate(ctx context.Context, admin *pgxpool.Pool, server string) error {
	if exists, err := hasDatabase(ctx, admin, template); err != nil || exists {
		return err
	}
	if _, err := admin.Exec(ctx, "create database "+template); err != nil {
		return fmt.Errorf("making the template database: %w", err)
	}
	if _, err := migrations.Up(ctx, urlOf(server, template)); err != nil {
		return fmt.Errorf("migrating the template database: %w", err)
	}
	return nil
}

// makePrepared prepares one database to be cloned, unless there is one.
func makePrepared(ctx context.Context, admin *pgxpool.Pool, server string, p preparation) error {
	if exists, err := hasDatabase(ctx, admin, p.database()); err != nil || exists {
		return err
	}
	if err := createDatabase(ctx, admin, p.database(), template); err != nil {
		return err
	}
	return p.prepare(ctx, urlOf(server, p.database()))
}

// database is the name of the prepared database.
func (p preparation) database() string {
	return "prepared_" + strings.NewReplacer(" ", "_", "-", "_").Replace(p.name)
}

func hasDatabase(ctx context.Context, admin *pgxpool.Pool, name string) (exists bool, err error) {
	err = admin.QueryRow(ctx, `select exists (select from pg_database where datname = $1)`, name).Scan(&exists)
	if err != nil {
		return false, fmt.Errorf("looking for the database %s: %w", name, err)
	}
	return exists, nil
}

func cloneDatabase(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", shared.next.Add(1))
	require.NoError(t, createDatabase(context.Background(), shared.admin, name, from))
	t.Cleanup(func() {
		_, err := shared.admin.Exec(context.Background(), "drop database "+name+" with (force)")
		require.NoError(t, err)
	})
	return urlOf(shared.server.URL(), name)
}

func createDatabase(ctx context.Context, admin *pgxpool.Pool, name, from string) error {
	// Copying files took 16 ms here, the default strategy (through the log) 130 ms.
	if _, err := admin.Exec(ctx, "create database "+name+" template "+from+" strategy file_copy"); err != nil {
		return fmt.Errorf("copying the database %s: %w", from, err)
	}
	return nil
}

// urlOf is the URL of a database on the server of another's URL.
func urlOf(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // we made it
	}
	u.Path = "/" + name
	return u.String()
}

// FlushStatistics makes PostgreSQL count what the pool's idle connections have read and
// run into so far. By itself it does so up to ten seconds later.
func FlushStatistics(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	for _, connection := range pool.AcquireAllIdle(t.Context()) {
		_, err := connection.Exec(t.Context(), `select pg_stat_force_next_flush()`)
		connection.Release()
		require.NoError(t, err)
	}
}

// PostgresServer is a durable cluster of one test's own, for faults.
type PostgresServer struct {
	t      testing.TB
	dir    string
	server *embedded.Postgres
}

// StartPostgres starts a durable cluster whose database is migrated. It is
// stopped when the test ends.
func StartPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	dir, err := onDisk.make("own-pg")
	require.NoError(t, err)
	return StartPostgresIn(t, dir)
}

// StartPostgresIn is [StartPostgres] with its files in dir, which other users must be
// able to enter.
func StartPostgresIn(t testing.TB, dir string) *PostgresServer {
	t.Helper()
	dir = filepath.Join(dir, "postgres")
	p := &PostgresServer{t: t, dir: dir}
	p.Start()
	t.Cleanup(func() {
		_ = p.server.Stop(context.Background()) // does nothing after a last Kill
		_ = os.RemoveAll(dir)
	})
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	_, err := migrations.Up(ctx, p.URL())
	require.NoError(t, err)
	return p
}

// URL stays the same over Kill and Start.
func (p *PostgresServer) URL() string { return p.server.URL() }

// Start starts the server again after Kill, and returns when it accepts connections.
func (p *PostgresServer) Start() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	server, err := embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: p.dir, Search: PostgresSearch(), Params: map[string]string{"max_connections": "200"}, // two processes, each with its pools
	})
	require.NoError(p.t, err)
	p.server = server
}

// RestartIfEnded starts the server again where it has ended by itself, as a supervisor would.
func (p *PostgresServer) RestartIfEnded() (ended bool) {
	p.t.Helper()
	select {
	case <-p.server.Done(): //nolint:errcheck // only that it ended matters
		require.NoError(p.t, p.server.Stop(context.Background())) // releases the directory
		p.Start()
		return true
	default:
		return false
	}
}

// Kill ends the server with SIGKILL, and returns when it is gone. A connection
// in the middle of a statement may live a moment longer; Start waits for it.
func (p *PostgresServer) Kill() {
	p.t.Helper()
	require.NoError(p.t, syscall.Kill(p.server.Pid(), syscall.SIGKILL))
	require.Error(p.t, <-p.server.Done())
	require.NoError(p.t, p.server.Stop(context.Background())) // releases the directory
}
