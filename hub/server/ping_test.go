package server_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/config"
)

// A ping goes before a queue of 4,000 others for the same endpoint, most of which have no
// place in memory.
func TestPingGoesBeforeAQueue(t *testing.T) {
	t.Parallel()
	n := newPlace(t).start(t, func(c *config.Config) { c.EndpointConcurrency = 1 })
	a := n.account()
	release := make(chan struct{})
	slow := newHook(t, hanging(release))
	endpoint := a.endpoint(slow, "")
	a.batch(4000, "a.b")
	slow.wait(1)
	ping := a.ok(202, "POST", "/endpoints/"+endpoint+"/ping", "")["id"].(string)
	before := len(slow.arrivals())
	close(release)
	var place int
	require.Eventually(t, func() bool {
		place = slices.IndexFunc(slow.arrivals(), func(received arrival) bool { return received.id == ping })
		return place >= 0
	}, 3*soon, tick)
	require.LessOrEqual(t, place, before+1, "the one under way, and one that had begun")
}
