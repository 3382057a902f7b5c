package delivery

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/logid"
)

// settledLog is a log that remembers what was recorded.
type settledLog []AttemptResult

func (*settledLog) TrackLease(*CommitLease)     {}
func (*settledLog) AwaitStored(context.Context) {}
func (l *settledLog) Record(a AttemptResult)    { *l = append(*l, a) }

// What waits in a process of events that were erased fails at once, also after an attempt, and
// is not attempted; a cancelled replay takes back what was not attempted. Others stay.
func TestWithdrawnDeliveriesAreNotAttempted(t *testing.T) {
	t.Parallel()
	var settled settledLog
	d := NewDispatcher(Config{Now: time.Now, Attempts: &settled, Concurrency: 1, EndpointConcurrency: 1})
	target := uuid.New()
	var waiting []LeasedDelivery
	d.mu.Lock()
	for n := range 4 {
		event := &Event{Seq: logid.NewSeq(time.Now()), Body: []byte(`{}`)}
		waiting = append(waiting, LeasedDelivery{ID: logid.Delivery(event.Seq, 1), TargetID: target, Event: event, LeasedAt: time.Now(), CountedAttempts: n % 2})
		d.laneOf(target, uuid.Nil).push(waiting[n])
	}
	d.mu.Unlock()
	d.FailErased([]uuid.UUID{waiting[0].Event.Seq, waiting[1].Event.Seq, uuid.New()})
	d.ParkCancelled([]uuid.UUID{waiting[2].ID, waiting[3].ID})
	d.FailErased([]uuid.UUID{waiting[0].Event.Seq})
	require.Len(t, settled, 3, "each once")
	for i, decision := range []Decision{{Status: Failed, Reason: ReasonErased}, {Status: Failed, CountedAttempts: 1, Reason: ReasonErased}, {Status: Parked, Reason: ReasonReplayCancelled}} {
		require.Equal(t, waiting[i].ID, settled[i].ID)
		require.Equal(t, decision, settled[i].Decision)
		require.False(t, settled[i].Sent)
	}
	for i, isWithdrawn := range []bool{true, true, true, false} {
		require.Equal(t, isWithdrawn, d.isWithdrawn(waiting[i]))
	}
	require.False(t, d.isWithdrawn(waiting[0]), "a later lease is another matter")
	require.False(t, d.hasWithdrawn.Load())
}
