package delivery

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery/client"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/failpoint"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/logid"
)

// AttemptResult is what is known after one attempt, ready to be stored.
type AttemptResult struct {
	LeasedDelivery
	Decision       Decision
	Sent           bool // false: decided without sending, as for a deleted endpoint
	StartedAt      time.Time
	QueueTime      time.Duration // due → started
	Phases         client.Phases
	StatusCode     int    // 0 = no answer
	Error          string // why there is no complete answer; no secrets
	Signature      [32]byte
	ResponseHeader []byte // of the answer
	ResponseBody   []byte // of the answer, its beginning
}

// worker holds what one attempt needs, reused by the next.
type worker struct {
	response client.Response
	request  request
}

// laneUpdate is what an attempt tells the target's lane.
type laneUpdate struct {
	healthy     bool
	skipped     bool          // not attempted: the lease was too old, or the configuration unreadable
	leaseTooOld bool          // it was the lease
	pacedFor    time.Duration // not attempted: paced by another process
	hasInterval bool          // interval is set
	interval    time.Duration
	duration    time.Duration // 0: not attempted
}

// attempt sends one delivery and records what came of it.
func (d *Dispatcher) attempt(w *worker, l *lane, job LeasedDelivery) laneUpdate {
	ctx := context.Background()
	started := d.Now()
	if started.Sub(job.LeasedAt) > startWithin {
		return laneUpdate{skipped: true, leaseTooOld: true}
	}
	erased, err := d.erased(ctx, job.Event)
	if err != nil {
		return laneUpdate{skipped: true}
	}
	if erased {
		d.Attempts.Record(AttemptResult{LeasedDelivery: job, Decision: Decision{Status: Failed, Spent: job.Spent, Reason: ReasonErased}})
		return laneUpdate{healthy: true}
	}
	target, err := d.Directory.Target(ctx, job.Target, job.IsIntegration)
	if err != nil {
		return laneUpdate{skipped: true}
	}
	if verdict, decided := decideUnsent(target, job); decided {
		d.Attempts.Record(AttemptResult{LeasedDelivery: job, Decision: verdict})
		return laneUpdate{healthy: true}
	}
	outcome := laneUpdate{hasInterval: true, interval: paceInterval(target)}
	if outcome.interval > 0 {
		if !job.paced {
			if wait, ok := d.takeLocalTurn(l, outcome.interval); !ok {
				return laneUpdate{pacedFor: wait, hasInterval: true, interval: outcome.interval}
			}
		}
		if d.Pacer != nil {
			if wait, ok := d.Pacer.TakeTurn(ctx, job.Target, outcome.interval); !ok {
				return laneUpdate{pacedFor: wait, hasInterval: true, interval: outcome.interval}
			}
		}
	}
	a := d.send(ctx, w, job, target, started)
	failpoint.Here("after_response")
	d.Attempts.Record(a)
	outcome.healthy, outcome.duration = a.Decision.Healthy, a.Phases.Total
	return outcome
}

// paceInterval returns the least time between two starts at a target; 0 = none.
func paceInterval(target *directory.Target) time.Duration {
	if target.RatePerMinute <= 0 {
		return 0
	}
	return time.Minute / time.Duration(target.RatePerMinute)
}

// decideUnsent decides about deliveries whose target takes none.
func decideUnsent(target *directory.Target, job LeasedDelivery) (Decision, bool) {
	spent := job.Spent
	switch {
	case target == nil:
		return Decision{Status: Failed, Spent: spent, Reason: ReasonEndpointDeleted}, true
	case target.Peer != nil && target.Peer.PredatesAccount(logid.Time(job.Event.Seq)):
		return Decision{Status: Failed, Spent: spent, Reason: ReasonOtherAccount}, true
	case target.Enabled:
		return Decision{}, false
	case target.Peer == nil:
		return Decision{Status: Parked, Spent: spent, Reason: ReasonEndpointDisabled}, true
	case target.Peer.Status == integration.StatusInactive:
		return Decision{Status: Parked, Spent: spent, Reason: ReasonIntegrationInactive}, true
	default:
		return Decision{Status: Parked, Spent: spent, Reason: ReasonPeerUnavailable}, true
	}
}

// request is what an attempt sends.
type request struct {
	url       string
	header    []client.Header
	body      []byte
	signature [32]byte // as X-Webhook-Signature, to be kept; zero where the peer has another
}

// send signs and posts one delivery and judges the answer.
func (d *Dispatcher) send(ctx context.Context, w *worker, job LeasedDelivery, to *directory.Target, started time.Time) AttemptResult {
	a := AttemptResult{LeasedDelivery: job, Sent: true, StartedAt: started, QueueTime: started.Sub(job.ReadyAt)}
	var err error
	if to.Peer == nil {
		w.buildForEndpoint(job, to, started)
	} else if err = w.buildForPeer(job, to.Peer, started); err != nil {
		a.Sent, a.Error = false, err.Error()
		a.Decision = Decision{Status: Failed, Spent: job.Spent, Reason: ReasonEventNotSent, Healthy: true}
		return a
	}
	a.Signature = w.request.signature
	response := Response{}
	destination, err := d.destination(w.request.url)
	if err == nil {
		failpoint.Here("during_post")
		err = d.Client.Post(ctx, destination, w.request.header, w.request.body, &w.response)
		a.Phases = w.response.Phases
		response = Response{Status: w.response.Status, Complete: err == nil, RetryAfter: w.response.RetryAfter}
		a.StatusCode = w.response.Status
		a.ResponseHeader, a.ResponseBody = copyBytes(w.response.Header), copyBytes(w.response.Body)
	}
	if err != nil {
		a.Error = err.Error()
	}
	a.Decision = Decide(response, job.Spent, job.RoundAt, d.Now())
	return a
}

// buildForEndpoint makes the request for a plain endpoint: the envelope, with both kinds
// of signature.
func (w *worker) buildForEndpoint(job LeasedDelivery, target *directory.Target, now time.Time) {
	r := &w.request
	r.url, r.body = target.URL, job.Event.Body
	signer, previous := target.Signers(now)
	r.signature = signer.BodyHMAC(r.body)
	standard := signer.SignStandard(job.Event.ID, now.Unix(), r.body)
	if previous != nil {
		standard += " " + previous.SignStandard(job.Event.ID, now.Unix(), r.body)
	}
	r.header = append(r.header[:0],
		client.Header{Name: "Content-Type", Value: "application/json"},
		client.Header{Name: hub.HeaderSignature, Value: hub.FormatBodySignature(r.signature)},
		client.Header{Name: hub.HeaderStdID, Value: job.Event.ID},
		client.Header{Name: hub.HeaderStdTimestamp, Value: strconv.FormatInt(now.Unix(), 10)},
		client.Header{Name: hub.HeaderStdSignature, Value: standard},
	)
}

// buildForPeer makes the request for an integration, as its connector has it.
func (w *worker) buildForPeer(job LeasedDelivery, peer *integration.Peer, now time.Time) error {
	event, err := hub.ParseEnvelope(job.Event.Body)
	if err != nil {
		return fmt.Errorf("reading the stored envelope: %w", err)
	}
	event.TenantID, event.Environment = job.Event.TenantID, job.Event.Environment
	out, err := peer.Connector.Encode(peer.Connection(now), event)
	if err != nil {
		return err
	}
	r := &w.request
	r.url, r.body, r.header = out.URL, out.Body, r.header[:0]
	for name, values := range out.Header {
		for _, value := range values {
			r.header = append(r.header, client.Header{Name: name, Value: value})
		}
	}
	r.signature = [32]byte{}
	if digits, found := strings.CutPrefix(out.Header.Get(hub.HeaderSignature), "sha256="); found && len(digits) == 2*len(r.signature) {
		if _, err := hex.Decode(r.signature[:], []byte(digits)); err != nil {
			r.signature = [32]byte{} // the peer's own way to write one
		}
	}
	return nil
}

// copyBytes copies what outlives the worker's buffers.
func copyBytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// destination parses an endpoint's URL once.
func (d *Dispatcher) destination(url string) (*client.Destination, error) {
	if known, ok := d.destinations.Load(url); ok {
		return known.(*client.Destination), nil
	}
	target, err := client.NewDestination(url)
	if err != nil {
		return nil, err
	}
	d.destinations.Store(url, target)
	return target, nil
}
