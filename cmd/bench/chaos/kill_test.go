package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/records"
)

// How often the hub is killed. `make chaos` asks for more than `make test`.
var (
	chaosKills  = flag.Int("chaos.kills", 3, "kills at each failpoint")
	chaosRandom = flag.Int("chaos.random", 20, "kills at random moments")
)

// unstored is how many deliveries of one hub may have been made without being
// stored yet: the attempts in flight, and as many again in each of the writer's
// two lanes and in its queue.
const unstored = 4 * attemptsInFlight

// failpoints are the places of the hub's code where it is killed, and up to how
// many passes it is spared first. A commit or a batch of attempts serves many
// events, so those places are passed less often.
var failpoints = []struct {
	name   string
	passes int
}{
	{"before_commit", 60},
	{"after_commit", 60},
	{"after_dispatch", 60},
	{"during_post", 600},
	{"after_response", 600},
	{"before_attempt_row", 60},
	{"on_parking", 2}, // the first parking disables the endpoint
}

// Whenever the process dies, what was accepted is delivered, parked or waiting:
// kill -9 at each of the places in the code that matter and at random moments,
// starting included, while events keep coming.
func TestChaosKilledHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	h := w.newHub("a")
	w.t.Logf("first start: ready after %s", h.ready().Round(time.Millisecond))
	w.furnish(h)
	stopReviving := w.revive()
	p := w.publish(h.base())
	h.process.Kill()
	k := &kills{pending: make(map[records.DeliveryKey]int)}
	k.note(w)
	for _, place := range failpoints {
		for range *chaosKills {
			h.start(fmt.Sprintf("%s:%d", place.name, 1+rand.IntN(place.passes)))
			select {
			case <-h.process.Exited():
			case <-time.After(leaseTime):
				require.Fail(t, "never reached "+place.name, h.process.LogTail())
			}
			require.True(t, h.process.Killed(), "at %s the hub ended by itself: %s", place.name, h.process.LogTail())
			k.note(w)
		}
	}
	for range *chaosRandom {
		h.start("")
		select {
		case <-h.process.Exited():
			require.Fail(t, "the hub ended by itself", h.process.LogTail())
		case <-time.After(time.Duration(rand.Int64N(int64(1500 * time.Millisecond)))):
		}
		h.process.Kill()
		k.note(w)
	}
	restarted := time.Now()
	t.Logf("ready %s after the last kill", h.ready().Round(time.Millisecond))
	w.await(leaseTime, "events are accepted again", func() bool {
		_, again := p.acceptedAfter(restarted)
		return again
	})
	again, _ := p.acceptedAfter(restarted)
	t.Logf("accepting %s after the last kill", again.Sub(restarted).Round(time.Millisecond))
	sent := p.stop()
	stopReviving()
	t.Logf("%d kills; answers %v; everything settled %s after the last", k.count, p.answered(h.base()), w.drain(leaseTime+recoverTime).Round(time.Millisecond))
	b := w.balance(p, sent)
	k.checkDuplicates(w)
	require.LessOrEqual(t, b.Duplicated, k.count*unstored, "a kill repeats at most what was in flight")
	w.failIfLogged("panic")
}
