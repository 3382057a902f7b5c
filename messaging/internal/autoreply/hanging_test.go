package autoreply_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A scheduling product that hangs delays the answers of its own company only.
func TestHangingCalendarDelaysNoOther(t *testing.T) {
	t.Parallel()
	slow := newReminded(t)
	// The hub runs a job once at a time; here that is the run of the test.
	require.Eventually(t, func() bool {
		stopped, err := slow.Hub.Host.Pool.Exec(t.Context(), `update hub.jobs set due_at = due_at + interval '1 year' where product = 'messaging' and job = 'appointment-calls' and leased_to is null`)
		require.NoError(t, err)
		return stopped.RowsAffected() == 1
	}, time.Minute, 10*time.Millisecond)
	room := newChatRoomOf(slow.AnotherCompany(), object{})
	other := &reminded{room, room.ConnectCalendar("Corte"), slow.until}
	slow.remind("a-1", "Corte, 9h")
	other.remind("b-1", "Corte, 9h")
	slow.calendar.Hang("confirm")
	slow.say("1")
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { _ = slow.Hub.Job("appointment-calls").Run(t.Context(), nil) })
	require.Eventually(t, func() bool { return slow.calendar.Hanging() == 1 }, time.Minute, 10*time.Millisecond)
	other.say("1")
	require.Eventually(t, func() bool { return other.calendar.State("b-1") == "confirm" }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, slow.calendar.Hanging(), "the first call still waits")
}
