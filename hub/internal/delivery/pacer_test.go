package delivery

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/embedded"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/directory"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// Whoever is refused a turn and comes back when it was asked to has the next one: a
// turn refused costs no second one, whatever Redis it is.
func TestRefusedTurnsCostNothing(t *testing.T) {
	t.Parallel()
	inProcess, err := embedded.StartRedis(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(inProcess.Close)
	near := redis.NewClient(inProcess.Options())
	t.Cleanup(func() { _ = near.Close() })
	for name, client := range map[string]*redis.Client{"a server": hubtest.Redis(t).Client(t), "in process": near} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pacer, target := RedisPacer{Client: client, timeout: time.Minute}, uuid.New()
			const interval = 111 * time.Millisecond // no multiple of anything
			_, ok := pacer.TakeTurn(t.Context(), target, interval)
			require.True(t, ok)
			for range 10 {
				wait, ok := pacer.TakeTurn(t.Context(), target, interval)
				if !ok { // else the machine was so busy that the next turn has come
					require.Positive(t, wait)
					require.LessOrEqual(t, wait, interval)
					<-time.After(wait)
					_, ok = pacer.TakeTurn(t.Context(), target, interval)
				}
				require.True(t, ok)
			}
		})
	}
}

// Two processes with a peer that takes 100 a minute: together they start no more than
// 90 in any minute, and no less than nearly that.
func TestTwoProcessesShareOnePace(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	now := time.Unix(1767323045, 0)
	server.SetTime(now)
	client := func() RedisPacer {
		c := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = c.Close() })
		return RedisPacer{Client: c, timeout: time.Minute}
	}
	pacers, next := []RedisPacer{client(), client()}, make([]time.Time, 2)
	target := &directory.Target{ID: uuid.New(), RatePerMinute: 90, Enabled: true}
	random := rand.New(rand.NewPCG(1, 2))
	var starts []time.Time
	counts := make([]int, len(pacers))
	for end := now.Add(10 * time.Minute); now.Before(end); {
		who := 0
		if next[1].Before(next[0]) {
			who = 1
		}
		if next[who].After(now) {
			now = next[who]
			server.SetTime(now)
		}
		wait, ok := pacers[who].TakeTurn(t.Context(), target.ID, paceInterval(target))
		if ok {
			starts = append(starts, now)
			counts[who]++
			wait = paceInterval(target)
		}
		next[who] = now.Add(wait + time.Duration(random.IntN(2000))*time.Microsecond) // timers are late
	}
	for first, last := 0, 0; last < len(starts); last++ {
		for starts[last].Sub(starts[first]) >= time.Minute {
			first++
		}
		require.LessOrEqual(t, last-first+1, 90)
	}
	require.Greater(t, len(starts), 10*88)
	require.Positive(t, counts[0])
	require.Positive(t, counts[1])
}

// Redis's clock may be put back; that stops nobody.
func TestPacerSurvivesClocks(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	pacer, target, now := RedisPacer{Client: client, timeout: time.Minute}, uuid.New(), time.Unix(1767323045, 0)
	server.SetTime(now)
	_, ok := pacer.TakeTurn(t.Context(), target, time.Second)
	require.True(t, ok)
	wait, ok := pacer.TakeTurn(t.Context(), target, time.Second)
	require.False(t, ok)
	require.Equal(t, time.Second, wait)
	server.SetTime(now.Add(-time.Hour))
	_, ok = pacer.TakeTurn(t.Context(), target, time.Second)
	require.True(t, ok)
	server.Close()
	_, ok = pacer.TakeTurn(context.Background(), target, time.Second)
	require.True(t, ok, "without Redis every process paces by itself")
}
