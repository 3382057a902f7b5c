package delivery

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const (
	retryTask          = "delivery:retry"
	wakeTask           = "delivery:wake"
	retryQueue         = "deliveries" // begins the name of the queue
	scheduleQueue      = 8192         // retries waiting to be enqueued in Redis
	enqueueWorkers     = 4
	claimLinger        = 2 * time.Millisecond
	maxRetriesPerClaim = 256
	materializeTimeout = 5 * time.Second
)

// RetryScheduler waits out short delays of retries in this process, and schedules each other
// retry as an asynq task, which any process gets. If one is lost, the sweep sends it late.
type RetryScheduler struct {
	dispatcher       *Dispatcher
	client           *asynq.Client
	server           *asynq.Server
	queue            string
	log              *slog.Logger
	schedule         chan scheduledRetry
	quota            retryQuota
	shortDelays      shortDelays
	due              chan waitingRetry
	waiters          sync.WaitGroup // what holds retries that are in no channel
	mu               sync.Mutex
	unclaimedRetries []waitingRetry // held when the scheduler ended
	lastWarning      atomic.Int64   // unix seconds of the last warning about Redis
}

// waitingRetry is a retry. target and tenant are uuid.Nil in tasks of processes that do not
// write them.
type waitingRetry struct {
	id             uuid.UUID
	attempts       int32
	target, tenant uuid.UUID
	kept           *LeasedDelivery // the delivery, if it may have no row; nil: it has one
}

type scheduledRetry struct {
	waitingRetry
	at time.Time
}

// NewRetryScheduler returns a scheduler. Its queue is that of an installation, since others
// may use the same Redis: their tasks would be claimed here in vain. The caller closes rdb.
func NewRetryScheduler(rdb redis.UniversalClient, installation string, dispatcher *Dispatcher, log *slog.Logger) *RetryScheduler {
	r := &RetryScheduler{
		queue:       retryQueue + ":" + installation,
		dispatcher:  dispatcher,
		client:      asynq.NewClientFromRedisClient(rdb),
		log:         log,
		schedule:    make(chan scheduledRetry, scheduleQueue),
		quota:       newRetryQuota(),
		shortDelays: newShortDelays(),
		due:         make(chan waitingRetry, maxRetriesPerClaim*4),
	}
	dispatcher.kept = newKeptRetries(&r.quota)
	r.server = asynq.NewServerFromRedisClient(rdb, asynq.Config{
		Concurrency: 8,
		Queues:      map[string]int{r.queue: 1},
		// asynq's defaults (5 s and 1 s) would turn a retry after 1 s into one after 6.
		DelayedTaskCheckInterval: 250 * time.Millisecond,
		TaskCheckInterval:        100 * time.Millisecond,
		Logger:                   asynqLogger{r},
		LogLevel:                 asynq.WarnLevel,
		ShutdownTimeout:          2 * time.Second,
	})
	return r
}

// Schedule schedules the next attempts of deliveries that were just stored as pending.
// It waits for nothing but the rows of deliveries whose leases cannot be kept after all:
// retries that do not fit the queue, or their tenant's share of it, are
// left to the sweep.
func (r *RetryScheduler) Schedule(attempts []AttemptResult) {
	now := time.Now()
	var unkept []LeasedDelivery
	for i := range attempts {
		a := &attempts[i]
		if a.Decision.Status != Pending {
			continue
		}
		key := waitingRetry{id: a.ID, attempts: int32(a.PriorAttempts + 1), target: a.TargetID, tenant: a.Event.TenantID}
		if a.IsKept() {
			if !r.keep(key, a, now) {
				unkept = append(unkept, *a.afterAttempt(now))
			}
			continue
		}
		if r.scheduleShort(key, a.Decision.Wait, now) {
			continue
		}
		// asynq keeps whole seconds: round up, so that a retry is never early.
		dueAt := now.Add(a.Decision.Wait + time.Second - time.Nanosecond).Truncate(time.Second)
		if !r.quota.take(a.Event.TenantID, dueAt, now) {
			continue
		}
		select {
		case r.schedule <- scheduledRetry{key, dueAt}:
		default:
			r.quota.enqueued(a.Event.TenantID)
		}
	}
	r.materialize(unkept)
}

// materialize inserts the rows of deliveries whose leases cannot be kept after all. If that
// fails, the sweep does it.
func (r *RetryScheduler) materialize(unkept []LeasedDelivery) {
	if len(unkept) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), materializeTimeout)
	defer cancel()
	if err := r.dispatcher.ReleaseLeases(ctx, unkept); err != nil {
		r.dispatcher.giveBack(unkept...)
		r.log.Warn("retries have no rows yet; the sweep inserts them in a moment", "error", err, "deliveries", len(unkept))
	}
}

// scheduleShort queues a retry whose delay is waited out here; false for other delays. What
// does not fit is left to the sweep.
func (r *RetryScheduler) scheduleShort(key waitingRetry, delay time.Duration, now time.Time) bool {
	if _, isShort := r.shortDelays[delay]; !isShort {
		return false
	}
	if r.quota.takeShort(key.tenant, now.Add(delay), now) {
		r.shortDelays.add(key, delay, now)
	}
	return true
}

// Run enqueues and claims retries until ctx ends. Then it leaves those that wait here to other
// processes. Without Redis it still claims the retries whose delay it waits out.
func (r *RetryScheduler) Run(ctx context.Context) {
	for range enqueueWorkers {
		go r.runEnqueuer(ctx)
	}
	for _, waiting := range r.shortDelays {
		r.waiters.Go(func() { r.forwardWhenDue(ctx, waiting) })
	}
	r.waiters.Go(func() { r.forwardWhenDue(ctx, r.dispatcher.kept.waiting) })
	r.waiters.Go(func() { r.claimDue(ctx) })
	if err := r.serveTasks(); err != nil {
		r.log.Error("retries do not pass through Redis; the sweep makes them", "error", err)
	}
	<-ctx.Done()
	r.waiters.Wait()
	r.releaseUnclaimed()
	r.server.Shutdown() // takes long while Redis does not respond
}

// StopClaiming claims no more tasks from Redis: they are for other processes.
func (r *RetryScheduler) StopClaiming() { r.server.Stop() }

// serveTasks claims the retries of tasks in Redis until the server is shut down.
func (r *RetryScheduler) serveTasks() error {
	mux := asynq.NewServeMux()
	mux.HandleFunc(retryTask, func(ctx context.Context, task *asynq.Task) error {
		key, err := parseRetry(task.Payload())
		if err != nil {
			return err
		}
		select {
		case r.due <- key:
		case <-ctx.Done():
		}
		return nil
	})
	mux.HandleFunc(wakeTask, func(_ context.Context, task *asynq.Task) error {
		if target, err := uuid.FromBytes(task.Payload()); err == nil {
			r.dispatcher.Wake(target)
		}
		return nil
	})
	return r.server.Start(mux)
}

// forwardWhenDue forwards the retries of one delay when they are due, until ctx ends. They become
// due in the order in which they were added.
func (r *RetryScheduler) forwardWhenDue(ctx context.Context, waiting <-chan scheduledRetry) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case retry := <-waiting:
			if wait := time.Until(retry.at); wait > 0 {
				timer.Reset(wait)
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
			}
			r.forward(ctx, retry.waitingRetry)
		}
	}
}

// forward passes a due retry to those that claim. Once ctx has ended it stays unclaimed.
func (r *RetryScheduler) forward(ctx context.Context, retry waitingRetry) {
	select {
	case r.due <- retry:
	case <-ctx.Done():
		r.addUnclaimed(retry)
	}
}

// addUnclaimed stores retries for the end of the scheduler, which releases them.
func (r *RetryScheduler) addUnclaimed(retries ...waitingRetry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unclaimedRetries = append(r.unclaimedRetries, retries...)
}

// releaseUnclaimed releases the kept deliveries whose retries nobody here will claim any more. Rows
// that were inserted for them would be leased until 30 seconds after their events.
func (r *RetryScheduler) releaseUnclaimed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.due) > 0 {
		r.unclaimedRetries = append(r.unclaimedRetries, <-r.due)
	}
	for kept := r.dispatcher.kept.waiting; len(kept) > 0; {
		r.unclaimedRetries = append(r.unclaimedRetries, (<-kept).waitingRetry)
	}
	ctx, cancel := context.WithTimeout(context.Background(), materializeTimeout)
	defer cancel()
	if err := r.dispatcher.ReleaseLeases(ctx, keptDeliveries(r.unclaimedRetries)); err != nil {
		r.log.Warn("retries could not be released to other processes; those with a lease wait until it ends", "error", err)
	}
}

func (r *RetryScheduler) runEnqueuer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-r.schedule:
			r.quota.enqueued(s.tenant)
			_, err := r.client.EnqueueContext(ctx, asynq.NewTask(retryTask, s.payload()), asynq.Queue(r.queue),
				asynq.TaskID(fmt.Sprintf("%s:%d", s.id, s.attempts)), asynq.ProcessAt(s.at), asynq.MaxRetry(0), asynq.Retention(0))
			if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) && ctx.Err() == nil {
				r.warnThrottled(err)
			}
		}
	}
}

const (
	bareRetryPayload = 20 // of processes that write neither target nor tenant
	retryPayload     = 52
)

// payload returns the task's payload: id, attempts, target, tenant.
func (k waitingRetry) payload() []byte {
	payload := binary.BigEndian.AppendUint32(append(make([]byte, 0, retryPayload), k.id[:]...), uint32(k.attempts))
	return append(append(payload, k.target[:]...), k.tenant[:]...)
}

func parseRetry(payload []byte) (waitingRetry, error) {
	if len(payload) != bareRetryPayload && len(payload) != retryPayload {
		return waitingRetry{}, fmt.Errorf("reading a retry task of %d bytes: %w", len(payload), asynq.SkipRetry)
	}
	key := waitingRetry{id: uuid.UUID(payload[:16]), attempts: int32(binary.BigEndian.Uint32(payload[16:]))}
	if len(payload) == retryPayload {
		key.target, key.tenant = uuid.UUID(payload[20:36]), uuid.UUID(payload[36:])
	}
	return key, nil
}

// warnThrottled logs an error of Redis at most once a minute.
func (r *RetryScheduler) warnThrottled(args ...any) {
	now, last := time.Now().Unix(), r.lastWarning.Load()
	if now-last >= 60 && r.lastWarning.CompareAndSwap(last, now) {
		r.log.Warn("the retry scheduler cannot use Redis; the sweep retries until it is back", "error", fmt.Sprint(args...))
	}
}

// asynqLogger logs asynq's warnings and errors, throttled.
type asynqLogger struct{ r *RetryScheduler }

func (asynqLogger) Debug(...any)        {}
func (asynqLogger) Info(...any)         {}
func (q asynqLogger) Warn(args ...any)  { q.r.warnThrottled(args...) }
func (q asynqLogger) Error(args ...any) { q.r.warnThrottled(args...) }
func (q asynqLogger) Fatal(args ...any) { q.r.warnThrottled(args...) }
