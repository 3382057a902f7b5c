//go:build unix

package messaging_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/hubtest/moduletest"
)

// Without Redis messages come and go. While PostgreSQL is away requests are answered 503 with
// Retry-After. When it is back everything goes on by itself, and nothing is lost or repeated.
func TestMessagesSurviveServers(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	postgres, redis := hubtest.StartPostgres(t), hubtest.StartRedis(t)
	hub := moduletest.StartHubProcessOn(t, postgres.URL(), redis.URL(), unlimited)
	f := newTraffic(t, hub, 6)
	const stored = `select count(*) from messaging.messages`
	f.start(20)
	far := hub.AwaitCount(30, stored)
	redis.FlushAll()
	far = hub.AwaitCount(far+30, stored)
	redis.Stop()
	far = hub.AwaitCount(far+60, stored)
	_, refused := f.answers()
	require.Zero(t, refused, "Redis is not needed")
	redis.Start()
	far = hub.AwaitCount(far+30, stored)
	postgres.Kill()
	require.Eventually(t, func() bool { _, refused := f.answers(); return refused > 0 }, time.Minute, 10*time.Millisecond)
	postgres.Start()
	hub.DB.Reset()
	hub.AwaitCount(far+30, stored)
	f.requireBalance(t)
}
