package connect

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/integration"
)

const (
	pollInterval = time.Second // how often due registrations and probes are looked for
	maxCalls     = 64          // registrations, and probes, that run at once
	maxLookWait  = time.Minute // until a look at all integrations that failed is made again
)

// dueTask is what is done for integrations when it falls due: a registration or a probe.
type dueTask struct {
	claim func(ctx context.Context, limit int32) ([]uuid.UUID, error)
	call  func(ctx context.Context, integration uuid.UUID)
	slots chan struct{} // holds one value for each call that runs
}

// dueCalls runs due registrations and probes. A peer that does not respond occupies one
// slot of its task: the others do not wait for it.
type dueCalls struct {
	tasks   []*dueTask
	running sync.WaitGroup
	ended   chan struct{} // a call has ended since the last claim
}

func (s *Service) newDueCalls() *dueCalls {
	registrations := func(ctx context.Context, limit int32) ([]uuid.UUID, error) {
		now := s.Now()
		return s.integrations().ClaimDueRegistrations(ctx, now, now.Add(firstRetry), limit)
	}
	register := func(ctx context.Context, id uuid.UUID) {
		if _, err := s.reregister(ctx, id); err != nil && ctx.Err() == nil {
			s.Log.Warn("registering with a peer again failed", "integration_id", id, "error", err)
		}
	}
	probes := func(ctx context.Context, limit int32) ([]uuid.UUID, error) {
		return s.integrations().ClaimDueProbes(ctx, s.Now(), s.nextProbe(), limit)
	}
	probe := func(ctx context.Context, id uuid.UUID) {
		if _, err := s.Probe(ctx, id, integration.Filter{}); err != nil && ctx.Err() == nil {
			s.Log.Warn("recording a probe failed", "integration_id", id, "error", err)
		}
	}
	return &dueCalls{
		tasks: []*dueTask{
			{claim: registrations, call: register, slots: make(chan struct{}, maxCalls)},
			{claim: probes, call: probe, slots: make(chan struct{}, maxCalls)},
		},
		ended: make(chan struct{}, 1),
	}
}

// start claims what is due, as far as slots are free, and calls the peers in goroutines.
// hasMore reports whether slots were lacking. Only one goroutine may call start.
func (c *dueCalls) start(ctx context.Context) (hasMore bool, err error) {
	for _, task := range c.tasks {
		free := int32(cap(task.slots) - len(task.slots))
		if free == 0 {
			hasMore = true
			continue
		}
		due, err := task.claim(ctx, free)
		if err != nil {
			return false, err
		}
		hasMore = hasMore || len(due) == int(free)
		for _, id := range due {
			task.slots <- struct{}{}
			c.running.Go(func() {
				task.call(ctx, id)
				<-task.slots
				select {
				case c.ended <- struct{}{}:
				default:
				}
			})
		}
	}
	return hasMore, nil
}

// outdatedLook is the look of a process at all integrations after its start.
type outdatedLook struct {
	isDone bool
	next   time.Time     // it is made again
	wait   time.Duration // before that
}

// look makes the look, unless it was made or has just failed. After a failure it is made again
// later and later: it reads every integration.
func (o *outdatedLook) look(ctx context.Context, s *Service) error {
	if o.isDone || s.Now().Before(o.next) {
		return nil
	}
	err := s.ScheduleOutdated(ctx)
	o.isDone = err == nil
	o.wait = min(max(2*o.wait, pollInterval), maxLookWait)
	o.next = s.Now().Add(o.wait)
	return err
}

// Run carries out registrations and probes as they fall due, until ctx ends. It begins with
// [Service.ScheduleOutdated].
func (s *Service) Run(ctx context.Context) {
	calls := s.newDueCalls()
	defer calls.running.Wait()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	isFailing, hasMore := false, false
	var outdated outdatedLook
	for {
		select {
		case <-ctx.Done():
			return
		case <-calls.ended:
			if !hasMore {
				continue
			}
		case <-tick.C:
		}
		err := outdated.look(ctx, s)
		var startErr error
		hasMore, startErr = calls.start(ctx) // what is due does not wait for the look
		err = errors.Join(err, startErr)
		if err != nil && !isFailing && ctx.Err() == nil {
			s.Log.Warn("looking after integrations failed; trying again", "error", err)
		}
		isFailing = err != nil
	}
}

// RunDue carries out the registrations and probes that are due now and waits for them.
func (s *Service) RunDue(ctx context.Context) error {
	calls := s.newDueCalls()
	for {
		hasMore, err := calls.start(ctx)
		calls.running.Wait()
		if err != nil || !hasMore {
			return err
		}
	}
}
