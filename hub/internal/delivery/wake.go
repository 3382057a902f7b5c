package delivery

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
)

// AnnounceBacklog marks that rows of a target wait in the database. It makes this process
// claim them if the target's lane is empty, and another one at most once a wakeInterval.
func (d *Dispatcher) AnnounceBacklog(target uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.laneOf(target, uuid.Nil)
	l.backlog = true
	now := d.Now()
	if d.WakeOthers != nil && now.Sub(l.wokeOthersAt) >= wakeInterval && l.tenant.mayWakeOthers(now) {
		l.wokeOthersAt = now
		go d.WakeOthers(target)
	}
	if l.waiting() == 0 && l.reserved == 0 {
		d.queueClaim(l)
	}
}

// Wake makes this process claim a target's due rows soon.
func (d *Dispatcher) Wake(target uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.laneOf(target, uuid.Nil)
	l.backlog = true
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
