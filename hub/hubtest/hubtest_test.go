//go:build unix

package hubtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

func TestDatabasesAreMigratedAndSeparate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, b := hubtest.Database(t), hubtest.Database(t)

	_, err := a.Exec(ctx, "create table hub.only_here (x int)")
	require.NoError(t, err)
	var there bool
	require.NoError(t, b.QueryRow(ctx, "select to_regclass('hub.only_here') is not null").Scan(&there))
	require.False(t, there, "one test's table must not be in another's database")
	var version int
	require.NoError(t, b.QueryRow(ctx, "select max(version_id) from hub.schema_version").Scan(&version))
	require.Positive(t, version)
}

func TestFindInDatabase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := hubtest.DatabaseURL(t)
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	_, err = conn.Exec(ctx, `
		create schema other;
		create table other.things (a text, b bytea, "C" jsonb, d text[], e integer, f bytea);
		insert into other.things values ('Say Íris', convert_to('by Íris.', 'UTF8'), '{"x":["Íris"]}', '{a,Íris}', 5551234, '\x00ff'),
			('nothing', null, null, null, null, null)`)
	require.NoError(t, err)
	require.Equal(t, []string{"other.things.C", "other.things.a", "other.things.b", "other.things.d"}, hubtest.FindInDatabase(t, url, "Íris"))
	require.Equal(t, []string{"other.things.a"}, hubtest.FindInDatabase(t, url, "SAY"))
	require.Equal(t, []string{"other.things.e"}, hubtest.FindInDatabase(t, url, "5551234"))
	require.Empty(t, hubtest.FindInDatabase(t, url, "Maria"))
}

func TestDatabaseIsDroppedWithItsTest(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("user", func(t *testing.T) {
		url = hubtest.EmptyDatabaseURL(t)
		conn, err := pgx.Connect(context.Background(), url)
		require.NoError(t, err)
		var schemas int
		require.NoError(t, conn.QueryRow(context.Background(),
			"select count(*) from information_schema.schemata where schema_name = 'hub'").Scan(&schemas))
		require.Zero(t, schemas, "an empty database is not migrated")
		// The connection stays open: dropping must not wait for it.
	})
	_, err := pgx.Connect(context.Background(), url)
	require.ErrorContains(t, err, "does not exist")
}

func TestOwnPostgresKeepsCommittedRowsOverKill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := hubtest.StartPostgres(t)
	url := server.URL()

	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "create table hub.kept as select 7 as x")
	require.NoError(t, err)
	var durable string
	require.NoError(t, conn.QueryRow(ctx, "show fsync").Scan(&durable))
	require.Equal(t, "on", durable)

	server.Kill()
	_, err = pgx.Connect(ctx, url)
	require.Error(t, err, "nothing answers after Kill")
	server.Start()
	require.Equal(t, url, server.URL())

	conn, err = pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(ctx)
	var x int
	require.NoError(t, conn.QueryRow(ctx, "select x from hub.kept").Scan(&x))
	require.Equal(t, 7, x)
}

func TestRedisDatabasesAreSeparate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a := hubtest.Redis(t).Client(t)
	options, err := redis.ParseURL(hubtest.RedisURL(t))
	require.NoError(t, err)
	b := redis.NewClient(options)
	defer b.Close()

	require.NoError(t, a.Set(ctx, "k", "a", 0).Err())
	require.ErrorIs(t, b.Get(ctx, "k").Err(), redis.Nil)
	require.NoError(t, b.FlushDB(ctx).Err())
	require.Equal(t, "a", a.Get(ctx, "k").Val())
}

func TestOwnRedisStopsAndStartsEmpty(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := hubtest.StartRedis(t)
	client := server.Client(t)

	require.NoError(t, client.Set(ctx, "k", "v", 0).Err())
	server.FlushAll()
	require.ErrorIs(t, client.Get(ctx, "k").Err(), redis.Nil)

	require.NoError(t, client.Set(ctx, "k", "v", 0).Err())
	server.Stop()
	require.Error(t, client.Ping(ctx).Err())
	server.Start()
	require.ErrorIs(t, client.Get(ctx, "k").Err(), redis.Nil, "it comes back empty, at the same address")
}

func TestClockMovesOnlyByAdvance(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := hubtest.NewClock(start)
	require.Equal(t, start, clock.Now())
	require.Equal(t, start.Add(time.Minute), clock.Advance(time.Minute))
	require.Equal(t, start.Add(time.Minute), clock.Now())
	require.Equal(t, start, clock.Advance(-time.Minute))
}
