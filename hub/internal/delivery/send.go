package delivery

import (
	"context"
	"strconv"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/failpoint"
)

// Attempt is what is known after one attempt, ready to be stored.
type Attempt struct {
	Job
	Verdict   Verdict
	Made      bool // false: decided without sending, as for a deleted endpoint
	StartedAt time.Time
	Queued    time.Duration // due → started
	Phases    client.Phases
	Code      int    // 0 = no answer
	Error     string // why there is no complete answer; no secrets
	Signature [32]byte
	Header    []byte // of the answer
	Body      []byte // of the answer, its beginning
}

// worker holds what one attempt needs, reused by the next.
type worker struct {
	response client.Response
	header   []client.Header
}

// result is what an attempt tells the target's lane.
type result struct {
	healthy  bool
	skipped  bool          // not attempted: the lease was too old, or the configuration unreadable
	heldBack time.Duration // not attempted: paced by another process
	known    bool          // interval is set
	interval time.Duration
	took     time.Duration // 0: not attempted
}

// attempt sends one delivery and records what came of it.
func (d *Dispatcher) attempt(w *worker, l *lane, job Job) result {
	ctx := context.Background()
	started := d.Now()
	if started.Sub(job.LeasedAt) > startWithin {
		return result{skipped: true}
	}
	endpoint, err := d.Directory.Endpoint(ctx, job.Target)
	if err != nil {
		return result{skipped: true}
	}
	if verdict, decided := withoutSending(endpoint, job.Spent); decided {
		d.Log.Record(Attempt{Job: job, Verdict: verdict})
		return result{healthy: true}
	}
	paced := result{known: true}
	if endpoint.RatePerMinute > 0 {
		paced.interval = time.Minute / time.Duration(endpoint.RatePerMinute)
		if !job.paced {
			if wait, ok := d.turn(l, paced.interval); !ok {
				return result{heldBack: wait, known: true, interval: paced.interval}
			}
		}
		if d.Pacer != nil {
			if wait, ok := d.Pacer.Permit(ctx, job.Target, paced.interval); !ok {
				return result{heldBack: wait, known: true, interval: paced.interval}
			}
		}
	}
	a := d.send(ctx, w, job, endpoint, started)
	failpoint.Here("after_response")
	d.Log.Record(a)
	paced.healthy, paced.took = a.Verdict.Healthy, a.Phases.Total
	return paced
}

// withoutSending decides about deliveries whose endpoint takes none.
func withoutSending(endpoint *directory.Endpoint, spent int) (Verdict, bool) {
	switch {
	case endpoint == nil:
		return Verdict{Status: Failed, Spent: spent, Reason: ReasonDeleted}, true
	case !endpoint.Enabled:
		return Verdict{Status: Parked, Spent: spent, Reason: ReasonDisabled}, true
	}
	return Verdict{}, false
}

// send signs and posts one delivery and judges the answer.
func (d *Dispatcher) send(ctx context.Context, w *worker, job Job, endpoint *directory.Endpoint, started time.Time) Attempt {
	a := Attempt{Job: job, Made: true, StartedAt: started, Queued: started.Sub(job.DueAt)}
	signer, previous := endpoint.Signers(started)
	a.Signature = signer.Body(job.Event.Body)
	standard := signer.Standard(job.Event.ID, started.Unix(), job.Event.Body)
	if previous != nil {
		standard += " " + previous.Standard(job.Event.ID, started.Unix(), job.Event.Body)
	}
	w.header = append(w.header[:0],
		client.Header{Name: "Content-Type", Value: "application/json"},
		client.Header{Name: hub.HeaderSignature, Value: hub.BodySignature(a.Signature)},
		client.Header{Name: hub.HeaderStdID, Value: job.Event.ID},
		client.Header{Name: hub.HeaderStdTimestamp, Value: strconv.FormatInt(started.Unix(), 10)},
		client.Header{Name: hub.HeaderStdSignature, Value: standard},
	)
	outcome := Outcome{}
	target, err := d.target(endpoint.URL)
	if err == nil {
		failpoint.Here("during_post")
		err = d.Client.Post(ctx, target, w.header, job.Event.Body, &w.response)
		a.Phases = w.response.Phases
		outcome = Outcome{Status: w.response.Status, Complete: err == nil, RetryAfter: w.response.RetryAfter}
		a.Code = w.response.Status
		a.Header, a.Body = kept(w.response.Header), kept(w.response.Body)
	}
	if err != nil {
		a.Error = err.Error()
	}
	a.Verdict = Judge(outcome, job.Spent, job.RoundAt, d.Now())
	return a
}

// kept copies what outlives the worker's buffers.
func kept(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// target parses an endpoint's URL once.
func (d *Dispatcher) target(url string) (*client.Target, error) {
	if known, ok := d.targets.Load(url); ok {
		return known.(*client.Target), nil
	}
	target, err := client.NewTarget(url)
	if err != nil {
		return nil, err
	}
	d.targets.Store(url, target)
	return target, nil
}
