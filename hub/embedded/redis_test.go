//go:build unix

package embedded_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
)

func startRedis(t *testing.T) *embedded.Redis {
	t.Helper()
	r, err := embedded.StartRedis(nil)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func TestRedisURLAndOptionsLeadToTheSame(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := startRedis(t)
	parsed, err := redis.ParseURL(r.URL())
	require.NoError(t, err)
	a, b := redis.NewClient(r.Options()), redis.NewClient(parsed)
	defer a.Close()
	defer b.Close()
	require.NoError(t, a.Set(ctx, "k", "v", 0).Err())
	require.Equal(t, "v", b.Get(ctx, "k").Val())

	info, err := os.Stat(filepath.Dir(r.Addr()))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestRedisKeysExpire(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redis.NewClient(startRedis(t).Options())
	defer client.Close()
	require.NoError(t, client.Set(ctx, "short", "v", 300*time.Millisecond).Err())
	require.NoError(t, client.Set(ctx, "long", "v", time.Hour).Err())
	require.Eventually(t, func() bool { return client.Exists(ctx, "short").Val() == 0 }, 10*time.Second, 20*time.Millisecond)
	require.Equal(t, int64(1), client.Exists(ctx, "long").Val())
}

func TestRedisRunsAsynq(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(startRedis(t).Options())
	defer client.Close()
	done := make(chan string, 2)
	server := asynq.NewServerFromRedisClient(client, asynq.Config{
		Concurrency: 2, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 50 * time.Millisecond, DelayedTaskCheckInterval: 50 * time.Millisecond,
	})
	require.NoError(t, server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		done <- string(task.Payload())
		return nil
	})))
	defer server.Shutdown()

	queue := asynq.NewClientFromRedisClient(client)
	began := time.Now()
	_, err := queue.Enqueue(asynq.NewTask("retry", []byte("later")), asynq.ProcessIn(2*time.Second), asynq.TaskID("d1-1"))
	require.NoError(t, err)
	_, err = queue.Enqueue(asynq.NewTask("retry", []byte("again")), asynq.TaskID("d1-1"))
	require.ErrorIs(t, err, asynq.ErrTaskIDConflict)
	_, err = queue.Enqueue(asynq.NewTask("retry", []byte("now")))
	require.NoError(t, err)

	require.Equal(t, "now", <-done)
	require.Equal(t, "later", <-done)
	require.Greater(t, time.Since(began), time.Second, "scores are whole seconds, so 2 s may be a bit more than 1")
}

func TestRedisCloseEndsEverything(t *testing.T) {
	t.Parallel()
	r, err := embedded.StartRedis(nil)
	require.NoError(t, err)
	client := redis.NewClient(r.Options())
	defer client.Close()
	require.NoError(t, client.Ping(context.Background()).Err())
	r.Close()
	r.Close()
	require.Error(t, client.Ping(context.Background()).Err())
	require.NoDirExists(t, filepath.Dir(r.Addr()))
}

func TestRedisRemovesWhatKilledHubsLeft(t *testing.T) {
	t.Parallel()
	other := startRedis(t)
	dead, err := os.MkdirTemp(filepath.Dir(filepath.Dir(other.Addr())), "hub-redis-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dead) })
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dead, "redis.sock")})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close()) // as after kill -9: the file stays, nobody listens

	startRedis(t)
	require.DirExists(t, dead, "it may be one that is just starting")
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(dead, hourAgo, hourAgo))
	startRedis(t)
	require.NoDirExists(t, dead)
	require.FileExists(t, other.Addr())
}
