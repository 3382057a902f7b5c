package delivery

import (
	"time"
)

// assignment is a worker's next attempt.
type assignment struct {
	lane        *lane
	delivery    LeasedDelivery
	destination *destination // of the lane's last attempt
}

// queueLane puts a lane that may start an attempt in its place among its tenant's lanes, and
// the tenant its place among the tenants. The caller holds mu.
func (d *Dispatcher) queueLane(l *lane) {
	if l.awaitsWorker || !d.isRunnable(l) {
		return
	}
	l.awaitsWorker = true
	t := l.tenant
	t.ready.push(l)
	if !t.inTurn {
		t.inTurn = true
		d.turns.push(t)
	}
}

// next takes the next attempt: from the tenants in turn, and from each tenant's lanes in
// turn. Each turn is one attempt. Tenants that hold their share of the workers keep their
// place. ok is false if no attempt may start now. The caller holds mu.
func (d *Dispatcher) next() (next assignment, ok bool) {
	for n := d.turns.len(); n > 0 && d.inFlight < d.Concurrency; n-- {
		t := d.turns.pop()
		t.inTurn = false
		l := d.nextLane(t)
		if l != nil {
			next, ok = assignment{l, d.popAndStart(l), l.destination}, true
			d.queueLane(l)
		}
		if t.ready.len() > 0 && !t.inTurn {
			t.inTurn = true
			d.turns.push(t)
		}
		if ok {
			return next, true
		}
	}
	return assignment{}, false
}

// nextLane takes the next of a tenant's lanes that may start an attempt; nil if there is
// none, or the tenant holds its share. The caller holds mu.
func (d *Dispatcher) nextLane(t *tenantShare) *lane {
	for t.ready.len() > 0 && d.mayStart(t) {
		l := t.ready.pop()
		l.awaitsWorker = false
		if d.isRunnable(l) { // else it is queued again when its attempts end or its time comes
			return l
		}
	}
	return nil
}

// startWorkers starts every attempt that may start now. The caller holds mu.
func (d *Dispatcher) startWorkers() {
	for assigned, ok := d.next(); ok; assigned, ok = d.next() {
		select {
		case d.work <- assigned:
			d.idleWorkers--
		default:
			go d.run(assigned)
		}
	}
}

// atWorkerLimit reports whether a lane has its share of the workers: its own limit, and only
// one attempt at a time while its tenant uses three quarters of the tenant's share, so that
// many slow targets together leave some to the tenant's others. The caller holds mu.
func (d *Dispatcher) atWorkerLimit(l *lane) bool {
	if l.running >= l.maxRunning(d.EndpointConcurrency) {
		return true
	}
	return l.running > 0 && l.tenant.lanes > 1 && l.tenant.running >= d.workerShare(l.tenant)*3/4
}

// isRunnable reports whether a lane may start an attempt now, as far as it goes by the lane.
// For a paced lane that has to wait it sets the timer. The caller holds mu.
func (d *Dispatcher) isRunnable(l *lane) bool {
	if l.waiting() == 0 || d.stopping || d.atWorkerLimit(l) {
		return false
	}
	if l.interval == 0 {
		return true
	}
	wait := l.nextAt.Sub(d.Now())
	if wait <= 0 {
		return true
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, func() { d.resumeLane(l) })
	}
	return false
}

func (d *Dispatcher) resumeLane(l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.timer = nil
	d.queueLane(l)
	d.startWorkers()
}

// popAndStart removes a lane's next delivery and counts it as running. The caller holds mu.
func (d *Dispatcher) popAndStart(l *lane) LeasedDelivery {
	delivery := l.pop()
	if l.tenant.running == 0 {
		l.tenant.progressAt = d.Now()
	}
	l.running++
	l.tenant.running++
	d.inFlight++
	l.tenant.queued--
	d.queued--
	delivery.paced = l.interval > 0
	if delivery.paced {
		l.nextAt = d.Now().Add(l.interval)
	}
	if l.backlog != 0 && d.tenantPlaces(l.tenant) > 0 && l.isLow(d.EndpointConcurrency) {
		d.queueClaim(l)
	}
	return delivery
}

// run is one worker: it makes attempts while there is work, and then waits for more
// unless enough workers are idle.
func (d *Dispatcher) run(assigned assignment) {
	w := &worker{}
	for {
		result := d.attempt(w, assigned)
		var ok, shouldWait bool
		assigned, ok, shouldWait = d.finishAndTakeNext(assigned, result)
		switch {
		case ok:
		case shouldWait:
			select {
			case assigned = <-d.work:
			case <-d.stopSignal:
				return
			}
		default:
			return
		}
	}
}

// finishAndTakeNext records a finished attempt in its lane and returns the worker's next.
// If there is none, shouldWait reports whether the worker should wait for one.
func (d *Dispatcher) finishAndTakeNext(finished assignment, result laneUpdate) (next assignment, ok, shouldWait bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.finish(finished, result)
	if d.stopping {
		d.stopCond.Broadcast()
		return assignment{}, false, false
	}
	if next, ok = d.next(); ok {
		d.startWorkers() // more than one may start, as when a breaker closes
		return next, true, false
	}
	if shouldWait = d.idleWorkers < maxIdleWorkers; shouldWait {
		d.idleWorkers++
	}
	return assignment{}, false, shouldWait
}

// finish records a finished attempt in its lane, and queues the lane where it has more
// work. The caller holds mu.
func (d *Dispatcher) finish(finished assignment, result laneUpdate) {
	l := finished.lane
	l.running--
	l.tenant.running--
	d.inFlight--
	l.update(result)
	l.attemptedAt = d.Now()
	l.tenant.attemptTime = averageTime(l.tenant.attemptTime, result.duration)
	l.tenant.progressAt = l.attemptedAt
	if (result.skipped || result.notSent) && finished.delivery.paced {
		l.nextAt = l.attemptedAt // the turn was not used
	}
	switch {
	case result.skipped:
		d.expired = append(d.expired, finished.delivery)
	case result.pacedFor > 0: // another process had this interval's turn
		d.postpone(l, finished.delivery, result.pacedFor)
	}
	d.queueLane(l)
}

// postpone puts a delivery back that has to wait for its paced target's next turn. If its lease
// does not last until then, the sweep releases it. The caller holds mu.
func (d *Dispatcher) postpone(l *lane, delivery LeasedDelivery, wait time.Duration) {
	now := d.Now()
	l.nextAt = now.Add(wait)              // this process's turn was not used
	if l.timer != nil && l.timer.Stop() { // it was set for later
		l.timer = time.AfterFunc(wait, func() { d.resumeLane(l) })
	}
	if l.nextAt.Sub(delivery.LeasedAt) > startWithin {
		l.backlog = allPriorities
		d.expired = append(d.expired, delivery)
		return
	}
	l.unpop(delivery)
	l.tenant.queued++
	d.queued++
}

// takeLocalTurn takes a paced target's next turn in this process, for a delivery that
// started before its lane was paced. ok is false if another delivery has the turn; wait
// is then the time until the next.
func (d *Dispatcher) takeLocalTurn(l *lane, interval time.Duration) (wait time.Duration, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	if wait = l.nextAt.Sub(now); wait > 0 {
		return wait, false
	}
	l.interval, l.nextAt = interval, now.Add(interval)
	return 0, true
}

// update feeds a target's breaker and pacing with the outcome of an attempt.
func (l *lane) update(r laneUpdate) {
	switch {
	case r.skipped:
		l.backlog = allPriorities // claimed again once released, or when its lease ends
	case r.pacedFor > 0, r.notSent:
	case r.healthy:
		l.failures = 0
	default:
		l.failures++
	}
	if r.hasInterval {
		l.interval = r.interval
	}
	if r.destination != nil {
		l.destination = r.destination
	}
	l.attemptTime = averageTime(l.attemptTime, r.duration)
}

// averageTime adds a duration to a moving average; 0 is unknown in both.
func averageTime(average, duration time.Duration) time.Duration {
	switch {
	case duration == 0:
		return average
	case average == 0:
		return duration
	default:
		return (7*average + duration) / 8
	}
}
