//go:build unix

package hubtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
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
	migrated sync.Once
	migrate  error
	prepared sync.Map     // by name, a func that gives the name of a template with more in it
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
// test ends, whoever is still connected.
func DatabaseURL(t testing.TB) string {
	t.Helper()
	startShared(t)
	shared.migrated.Do(func() { shared.migrate = makeTemplate() })
	require.NoError(t, shared.migrate)
	return cloneDatabase(t, template)
}

// PreparedDatabaseURL is [DatabaseURL] with something in it, which prepare puts into a
// template, once in a process for each name.
func PreparedDatabaseURL(t testing.TB, name string, prepare func(ctx context.Context, url string) error) string {
	t.Helper()
	startShared(t)
	shared.migrated.Do(func() { shared.migrate = makeTemplate() })
	require.NoError(t, shared.migrate)
	made, _ := shared.prepared.LoadOrStore(name, sync.OnceValues(func() (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		database, err := newDatabase(template)
		if err != nil {
			return "", err
		}
		return database, prepare(ctx, databaseURL(database))
	}))
	from, err := made.(func() (string, error))()
	require.NoError(t, err)
	return cloneDatabase(t, from)
}

// SharedDatabaseURL is [DatabaseURL] for what several tests share: the database
// lives as long as the process.
func SharedDatabaseURL(t testing.TB) string {
	t.Helper()
	startShared(t)
	shared.migrated.Do(func() { shared.migrate = makeTemplate() })
	require.NoError(t, shared.migrate)
	name, err := newDatabase(template)
	require.NoError(t, err)
	return databaseURL(name)
}

// EmptyDatabaseURL creates an empty database for the test, not migrated.
func EmptyDatabaseURL(t testing.TB) string {
	t.Helper()
	startShared(t)
	return cloneDatabase(t, "template1")
}

func startShared(t testing.TB) {
	t.Helper()
	shared.once.Do(func() { shared.err = startPostgres() })
	require.NoError(t, shared.err)
}

func startPostgres() error {
	dir, err := inMemory.make("pg")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	shared.server, err = embedded.StartPostgres(ctx, embedded.PostgresConfig{
		Dir: dir, Search: PostgresSearch(), Ephemeral: true,
		Params: map[string]string{"max_connections": "400"}, // many parallel tests, each with its pools
	})
	if err != nil {
		return fmt.Errorf("starting the tests' PostgreSQL: %w", err)
	}
	shared.admin, err = pgxpool.New(ctx, shared.server.URL())
	return err
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

// makeTemplate migrates one database; cloning it is far quicker than migrating again.
func makeTemplate() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if _, err := shared.admin.Exec(ctx, "create database "+template); err != nil {
		return fmt.Errorf("making the template database: %w", err)
	}
	if _, err := migrations.Up(ctx, databaseURL(template)); err != nil {
		return fmt.Errorf("migrating the template database: %w", err)
	}
	return nil
}

func cloneDatabase(t testing.TB, from string) string {
	t.Helper()
	name, err := newDatabase(from)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := shared.admin.Exec(context.Background(), "drop database "+name+" with (force)")
		require.NoError(t, err)
	})
	return databaseURL(name)
}

func newDatabase(from string) (name string, err error) {
	name = fmt.Sprintf("test_%d", shared.next.Add(1))
	// Copying files took 16 ms here, the default strategy (through the log) 130 ms.
	_, err = shared.admin.Exec(context.Background(), "create database "+name+" template "+from+" strategy file_copy")
	return name, err
}

func databaseURL(name string) string {
	u, err := url.Parse(shared.server.URL())
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
		require.NoError(p.t, p.server.Stop(context.Background())) // gives up the directory
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
	require.NoError(p.t, p.server.Stop(context.Background())) // gives up the directory
}
