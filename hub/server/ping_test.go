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
	p := newPlace(t)
	n := p.start(t, func(c *config.Config) { c.EndpointConcurrency = 1 })
	a := n.account()
	release := make(chan struct{})
	slow := newHook(t, hanging(release))
	endpoint := a.endpoint(slow, "")
	a.batch(4000, "a.b")
	slow.wait(1)
	ping := a.ok(202, "POST", "/endpoints/"+endpoint+"/ping", "")["id"].(string)
	delivery := items(a.ok(200, "GET", "/deliveries?event_id="+ping, ""))[0]["id"]
	require.Eventually(t, func() (isLeased bool) {
		a.ok(200, "GET", "/deliveries/"+delivery.(string), "") // it has a row then
		require.NoError(t, p.pool.QueryRow(t.Context(), `select due_at > now() from hub.deliveries where id = $1`, delivery).Scan(&isLeased))
		return isLeased
	}, soon, tick, "a process has it in memory")
	before := len(slow.arrivals())
	close(release)
	var place int
	require.Eventually(t, func() bool {
		place = slices.IndexFunc(slow.arrivals(), func(received arrival) bool { return received.id == ping })
		return place >= 0
	}, 3*soon, tick)
	require.LessOrEqual(t, place, before+1, "the one under way, and one that had begun")
}
