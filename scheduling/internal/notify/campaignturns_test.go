package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/schedulingtest"
)

// A product that does not respond holds up no campaign but its own: three texts are lost on it,
// the others wait for the next turn. E-mails go out.
func TestCampaignOfSilentProduct(t *testing.T) {
	t.Parallel()
	m := &messenger{uses: []string{"remarketing"}}
	org := schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	for i := range 6 {
		consenting(org, fmt.Sprintf("Client%d", i), object{"phone": fmt.Sprintf("+55119000011%02d", i)})
	}
	consenting(org, "Davi", nil) // who has no phone
	org.AdvanceClock(61 * 24 * time.Hour)
	for range 6 {
		m.fails = append(m.fails, hub.Errorf(hub.ErrPeerTimeout, hub.CodePeerTimeout, "silent"))
	}
	created := org.OK(202, "POST", campaigns, object{})
	require.EqualValues(t, 7, created["recipients"])
	require.Eventually(t, func() bool {
		return org.Count("hub.jobs where job = 'campaigns' and tries = 1 and leased_to is null") == 1
	}, time.Minute, 20*time.Millisecond)
	require.Len(t, m.messages(), 3)
	org.WaitForEmails("davi@example.com", 1)
	m.mu.Lock()
	m.fails = nil
	m.mu.Unlock()
	org.Hub.Clock.Advance(time.Minute)
	require.EqualValues(t, 7, over(org, created["id"])["sent"])
	require.Len(t, m.messages(), 6)
}

// waiting is a messenger whose first call waits until released.
type waiting struct {
	*messenger
	first            sync.Once
	arrived, release chan struct{}
}

// Call implements module.Peers.
func (w *waiting) Call(ctx context.Context, id uuid.UUID, call hub.Call) (json.RawMessage, error) {
	w.first.Do(func() {
		close(w.arrived)
		<-w.release
	})
	return w.messenger.Call(ctx, id, call)
}

// turns begins a large campaign and then a small one of another organization, which has its turn
// before the rest of the first. The call for the first message ends with fails.
func turns(t *testing.T, fails ...error) (large, small *schedulingtest.Bookable, first, second any, m *waiting) {
	t.Helper()
	m = &waiting{messenger: &messenger{uses: []string{"remarketing"}, fails: fails}, arrived: make(chan struct{}), release: make(chan struct{})}
	release := sync.OnceFunc(func() { close(m.release) })
	large = schedulingtest.NewBookableOn(t, func(host *module.Host) { host.Peers = m })
	t.Cleanup(release)
	small = schedulingtest.RegisterOrganization(t, large.Hub).MakeBookable()
	for i := range 30 {
		consenting(large, fmt.Sprintf("Client%d", i), object{"phone": fmt.Sprintf("+55119000022%02d", i)})
	}
	consenting(small, "Ana", object{"phone": "+5511900003333"})
	large.AdvanceClock(61 * 24 * time.Hour)
	small.AdvanceClock(time.Second)
	first = large.OK(202, "POST", campaigns, object{})["id"]
	<-m.arrived
	second = small.OK(202, "POST", campaigns, object{})["id"]
	large.Hub.Clock.Advance(time.Second) // the rest of the first is due later
	release()
	return large, small, first, second, m
}

// A large campaign takes turns with those of other organizations.
func TestCampaignsTakeTurns(t *testing.T) {
	t.Parallel()
	large, small, first, second, m := turns(t)
	require.EqualValues(t, 30, over(large, first)["sent"])
	require.EqualValues(t, 1, over(small, second)["sent"])
	require.Len(t, m.messages(), 31)
	require.Equal(t, "5511900003333", m.messages()[25]["number"])
}

// waitingRun waits until the campaigns have nothing to do before a later time.
func waitingRun(org *schedulingtest.Bookable) {
	org.T.Helper()
	require.Eventually(org.T, func() bool {
		return org.Count("hub.jobs where job = 'campaigns' and leased_to is null and due_at > $1", org.Hub.Clock.Now()) == 1 &&
			org.Count("hub.jobs where job = 'campaigns'") == 1
	}, time.Minute, 20*time.Millisecond)
}

// A campaign takes turns also after a message that failed, which is sent later.
func TestFailedCampaignsTakeTurns(t *testing.T) {
	t.Parallel()
	large, small, first, second, m := turns(t, hub.Errorf(hub.ErrUnavailable, "unavailable", "down"))
	require.EqualValues(t, 1, over(small, second)["sent"])
	waitingRun(large)
	require.Len(t, m.messages(), 31)
	require.Equal(t, "5511900003333", m.messages()[25]["number"])
	large.Hub.Clock.Advance(5 * time.Minute)
	require.EqualValues(t, 30, over(large, first)["sent"])
	require.Len(t, m.messages(), 32)
}

// A product that limits the messages is not called again before the others had their turn and a
// while is over.
func TestCampaignOfLimitedProduct(t *testing.T) {
	t.Parallel()
	large, small, first, second, m := turns(t, hub.Errorf(hub.ErrPeer, hub.CodePeerRateLimited, "too many"))
	require.EqualValues(t, 1, over(small, second)["sent"])
	waitingRun(large)
	require.Len(t, m.messages(), 2)
	require.Equal(t, "5511900003333", m.messages()[1]["number"])
	large.Hub.Clock.Advance(5 * time.Minute)
	require.EqualValues(t, 30, over(large, first)["sent"])
	require.Len(t, m.messages(), 32)
}

// pausedUntil waits until the only turn of the campaigns is due after a pause.
func pausedUntil(org *schedulingtest.Bookable, pause time.Duration) {
	org.T.Helper()
	waitingRun(org)
	var due time.Time
	require.NoError(org.T, org.Hub.Host.Pool.QueryRow(org.T.Context(), `select due_at from hub.jobs where job = 'campaigns'`).Scan(&due))
	require.WithinDuration(org.T, org.Hub.Clock.Now().Add(pause), due, time.Second)
}

// A campaign waits as long as the product asks, from a minute to an hour, whether it has one
// turn or several.
func TestCampaignWaitsAsAsked(t *testing.T) {
	t.Parallel()
	limited := func(wait time.Duration) error {
		err := hub.Errorf(hub.ErrPeer, hub.CodePeerRateLimited, "too many")
		err.RetryAfter = wait
		return err
	}
	large, small, first, second, m := turns(t, limited(20*time.Minute))
	require.EqualValues(t, 1, over(small, second)["sent"])
	pausedUntil(large, 20*time.Minute)
	require.Len(t, m.messages(), 2)
	large.Hub.Clock.Advance(20 * time.Minute)
	require.EqualValues(t, 30, over(large, first)["sent"])

	consenting(small, "Bia", object{"phone": "+5511900003334"})
	for i, test := range []struct{ asked, kept time.Duration }{{2 * time.Second, time.Minute}, {20 * time.Minute, 20 * time.Minute}, {5 * time.Hour, time.Hour}} {
		small.AdvanceClock(61 * 24 * time.Hour)
		m.mu.Lock()
		m.fails = []error{limited(test.asked)}
		m.mu.Unlock()
		id := small.OK(202, "POST", campaigns, object{})["id"]
		pausedUntil(small, test.kept)
		small.AdvanceClock(test.kept)
		require.NotZero(t, over(small, id)["sent"], i)
	}
}
