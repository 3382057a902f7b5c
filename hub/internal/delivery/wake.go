package delivery

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
)

// AnnounceBacklog marks that rows of a target wait in the database, and wakes this process
// if the target's lane is empty, and another one at most once a wakeInterval.
func (d *Dispatcher) AnnounceBacklog(target uuid.UUID) {
	d.mu.Lock()
	l := d.laneOf(target)
	l.backlog = true
	empty := l.waiting() == 0 && l.reserved == 0
	wake := d.WakeOthers != nil && d.Now().Sub(l.wokeOthersAt) >= wakeInterval
	if wake {
		l.wokeOthersAt = d.Now()
	}
	d.mu.Unlock()
	if wake {
		go d.WakeOthers(target)
	}
	if empty {
		d.Wake(target)
	}
}

// Wake makes the sweep claim a target's due rows soon.
func (d *Dispatcher) Wake(target uuid.UUID) {
	select {
	case d.wakeups <- target:
	default: // the sweep finds them within a second
	}
}

// setBacklog marks that rows of a target wait in the database, without waking anything.
func (d *Dispatcher) setBacklog(target uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.laneOf(target).backlog = true
}

// WakeOthers enqueues one task that makes a process claim a target's waiting rows. The
// queue is shared, so one process gets it, possibly this one.
func (r *RetryScheduler) WakeOthers(target uuid.UUID) {
	_, err := r.client.Enqueue(asynq.NewTask(wakeTask, target[:]), asynq.Queue(retryQueue),
		asynq.Unique(time.Second), asynq.MaxRetry(0), asynq.Retention(0))
	if err != nil && !errors.Is(err, asynq.ErrDuplicateTask) {
		r.warnThrottled(err)
	}
}
