package delivery

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"

	"integrationhub/hub"
)

// AnnounceBacklog marks that rows of a target and priority wait in the database. It makes
// this process claim them if the target's lane is empty, and another one at most once a
// wakeInterval.
func (d *Dispatcher) AnnounceBacklog(target uuid.UUID, priority hub.Priority) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.laneOf(target, uuid.Nil)
	l.backlog |= setOf(priority)
	now := d.Now()
	if d.WakeOthers != nil && now.Sub(l.wokeOthersAt) >= wakeInterval && l.tenant.mayWakeOthers(now) {
		l.wokeOthersAt = now
		go d.WakeOthers(target)
	}
	if l.waiting() == 0 && l.reservedPlaces() == 0 {
		d.queueClaim(l)
	}
}

// Wake makes this process claim a target's due rows soon.
func (d *Dispatcher) Wake(target uuid.UUID) { d.wake(target, allPriorities) }

// wake is [Dispatcher.Wake] for rows of some priorities.
func (d *Dispatcher) wake(target uuid.UUID, priorities prioritySet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.laneOf(target, uuid.Nil)
	l.backlog |= priorities
	d.queueClaim(l)
}

// WakeOthers enqueues one task that makes a process claim a target's waiting rows. The
// queue is shared, so one process gets it, possibly this one.
func (r *RetryScheduler) WakeOthers(target uuid.UUID) {
	_, err := r.client.Enqueue(asynq.NewTask(wakeTask, target[:]), asynq.Queue(r.queue),
		asynq.Unique(time.Second), asynq.MaxRetry(0), asynq.Retention(0))
	if err != nil && !errors.Is(err, asynq.ErrDuplicateTask) {
		r.warnThrottled(err)
	}
}
