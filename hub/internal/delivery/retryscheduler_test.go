package delivery

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// A stopping process leaves the tasks in Redis to others, while its attempts under way go on.
func TestStopClaiming(t *testing.T) {
	t.Parallel()
	rdb := hubtest.Redis(t).Client(t)
	d := NewDispatcher(Config{Pool: hubtest.Database(t), Now: time.Now, Concurrency: 1, EndpointConcurrency: 1})
	r := NewRetryScheduler(rdb, "test", d, slog.New(slog.DiscardHandler))
	inspector := asynq.NewInspectorFromRedisClient(rdb)
	pending := func() int {
		queue, err := inspector.GetQueueInfo(r.queue)
		require.NoError(t, err)
		return queue.Pending + queue.Active
	}
	enqueue := func() {
		retry := waitingRetry{id: uuid.New(), target: uuid.New(), tenant: uuid.New()}
		_, err := r.client.Enqueue(asynq.NewTask(retryTask, retry.payload()), asynq.Queue(r.queue))
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Run(ctx); close(ended) }()
	enqueue()
	require.Eventually(t, func() bool { return pending() == 0 }, time.Minute, 10*time.Millisecond)
	r.StopClaiming()
	enqueue()
	for end := time.After(500 * time.Millisecond); ; {
		require.Equal(t, 1, pending())
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-end:
		}
		break
	}
	cancel()
	<-ended
	require.Equal(t, 1, pending())
}
