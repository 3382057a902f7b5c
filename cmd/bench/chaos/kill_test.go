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

// How often the hub is killed. `make chaos` kills it more often than `make test`.
var (
	killsPerFailpoint = flag.Int("chaos.kills", 3, "kills at each failpoint")
	randomKills       = flag.Int("chaos.random", 20, "kills at random moments")
)

// maxUnstored is how many deliveries of one hub may have been made without being
// stored yet: the attempts in flight, and as many again in each of the writer's
// two lanes and in its queue.
const maxUnstored = 4 * attemptsInFlight

// failpoints are the places in the hub's code where it is killed, at a random one of the
// first passes. A commit or a batch of attempts serves many
// events, so those places are passed less often.
var failpoints = []failpointPasses{
	{"before_commit", 60},
	{"after_commit", 60},
	{"after_dispatch", 60},
	{"during_post", 600},
	{"after_response", 600},
	{"before_attempt_row", 60},
	{"on_parking", 2}, // the first parking disables the endpoint
}

// failpointPasses is a place in the hub's code, and of how many passes one is chosen.
type failpointPasses struct {
	name   string
	passes int
}

// random returns the setting that kills a hub at a random one of the passes.
func (f failpointPasses) random() string { return fmt.Sprintf("%s:%d", f.name, 1+rand.IntN(f.passes)) }

// Whenever the process dies, what was accepted is delivered, parked or waiting:
// kill -9 at each of the places in the code that matter and at random moments,
// starting included, while events keep coming.
func TestChaosKilledHub(t *testing.T) {
	t.Parallel()
	bed := newTestbed(t, receiver.Options{FailFirst: 0.05, FailStatus: 500})
	replica := bed.newReplica("a")
	bed.t.Logf("first start: ready after %s", replica.startReady().Round(time.Millisecond))
	bed.setUp(replica)
	bed.isDraining = true
	stopReviving := bed.reenableEndpoints()
	publisher := bed.startPublisher(replica.baseURL())
	replica.process.Kill()
	kills := &killRecord{pendingAtKills: make(map[records.DeliveryKey]int)}
	kills.add(bed)
	for _, place := range failpoints {
		for range *killsPerFailpoint {
			replica.start(place.random())
			replica.awaitKilled(place.name)
			kills.add(bed)
		}
	}
	for range *randomKills {
		replica.start("")
		select {
		case <-replica.process.Exited():
			require.Fail(t, "the hub ended by itself", replica.process.LogTail())
		case <-time.After(time.Duration(rand.Int64N(int64(1500 * time.Millisecond)))):
		}
		replica.process.Kill()
		kills.add(bed)
	}
	restarted := time.Now()
	t.Logf("ready %s after the last kill", replica.startReady().Round(time.Millisecond))
	bed.await(leaseTime, "events are accepted again", func() bool {
		_, again := publisher.firstAcceptedAfter(restarted)
		return again
	})
	again, _ := publisher.firstAcceptedAfter(restarted)
	t.Logf("accepting %s after the last kill", again.Sub(restarted).Round(time.Millisecond))
	sent := publisher.stop()
	stopReviving()
	t.Logf("%d kills; answers %v; everything settled %s after the last", kills.count, publisher.responseCounts(replica.baseURL()), bed.awaitSettled(leaseTime+recoveryTime).Round(time.Millisecond))
	balance := bed.requireBalance(publisher, sent)
	kills.requireExplained(bed)
	require.LessOrEqual(t, balance.Duplicated, kills.count*maxUnstored, "a kill repeats at most what was in flight")
	bed.requireNotLogged("panic")
}
