package delivery

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	maxRetriesPerSecond = 512               // of one tenant, due in one second, from one process, by way of Redis
	maxShortPerSecond   = 2048              // the same, of those that the process waits for itself
	maxScheduledRetries = scheduleQueue / 4 // of one tenant, waiting to be enqueued in Redis
)

// retryQuota bounds what one tenant may put into the queue of the retries, which all
// tenants share first in, first out. What goes beyond it is left to the sweep, which
// takes from the tenants in turn.
type retryQuota struct {
	mu        sync.Mutex
	due       map[retrySecond]int // retries by tenant and second
	scheduled map[uuid.UUID]int   // retries by tenant that wait to be enqueued
	prunedAt  int64               // second
}

type retrySecond struct {
	tenant  uuid.UUID
	second  int64
	isShort bool // this process waits for it
}

func newRetryQuota() retryQuota {
	return retryQuota{due: make(map[retrySecond]int), scheduled: make(map[uuid.UUID]int)}
}

// take counts a retry of a tenant that is to be enqueued in Redis. It returns false if the
// tenant has too many already. Each counted retry needs a call of enqueued.
func (q *retryQuota) take(tenant uuid.UUID, dueAt, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.scheduled[tenant] >= maxScheduledRetries || !q.countDue(retrySecond{tenant, dueAt.Unix(), false}, maxRetriesPerSecond, now) {
		return false
	}
	q.scheduled[tenant]++
	return true
}

// takeShort counts a retry of a tenant that this process waits for itself. It returns false if too
// many of the tenant are due at the same time already.
func (q *retryQuota) takeShort(tenant uuid.UUID, dueAt, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.countDue(retrySecond{tenant, dueAt.Unix(), true}, maxShortPerSecond, now)
}

func (q *retryQuota) countDue(key retrySecond, limit int, now time.Time) bool {
	q.prune(now.Unix())
	if q.due[key] >= limit {
		return false
	}
	q.due[key]++
	return true
}

// enqueued notes that a retry of a tenant does not wait to be enqueued any more.
func (q *retryQuota) enqueued(tenant uuid.UUID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.scheduled[tenant]--; q.scheduled[tenant] <= 0 {
		delete(q.scheduled, tenant)
	}
}

// prune forgets seconds that have passed, once a second.
func (q *retryQuota) prune(now int64) {
	if now == q.prunedAt {
		return
	}
	q.prunedAt = now
	for key := range q.due {
		if key.second < now {
			delete(q.due, key)
		}
	}
}
