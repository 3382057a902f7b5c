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
)

// AttemptResult is the result of one attempt, ready to be stored.
type AttemptResult struct {
	LeasedDelivery
	Decision       Decision
	Sent           bool // false: decided without a request, as for a deleted endpoint
	KeepsLease     bool // its delivery is to have no row until the retry is settled; see IsKept
	StartedAt      time.Time
	QueueTime      time.Duration // ready → started
	Phases         client.Phases
	StatusCode     int    // 0 = no response
	Error          string // why there is no complete response; contains no secrets
	Signature      [32]byte
	ResponseHeader []byte // raw lines
	ResponseBody   []byte // the beginning
}

// worker holds the buffers of an attempt, reused by the next.
type worker struct {
	response    client.Response
	request     request
	destination *destination // of the last attempt at the same lane
}

// destination is the parsed URL of a receiver. Its lane keeps that of its last attempt: as
// many are kept as there are lanes.
type destination struct {
	url    string
	parsed *client.Destination
}

// laneUpdate is what the target's lane learns from an attempt.
type laneUpdate struct {
	healthy     bool          // the receiver answered as agreed, or asked to wait: closes the breaker
	notSent     bool          // no request was made: the breaker stays as it is
	skipped     bool          // not attempted: the lease was too old, or the configuration unreadable
	pacedFor    time.Duration // not attempted: another process had the turn; time until the next
	hasInterval bool          // interval is set
	interval    time.Duration
	duration    time.Duration // 0: not attempted
	destination *destination  // nil: not attempted
}

// attempt sends one delivery and records the result.
func (d *Dispatcher) attempt(w *worker, assigned assignment) laneUpdate {
	l, delivery := assigned.lane, assigned.delivery
	w.destination = assigned.destination
	ctx := context.Background()
	started := d.Now()
	if started.Sub(delivery.LeasedAt) > startWithin {
		return laneUpdate{skipped: true}
	}
	if d.isWithdrawn(delivery) {
		return laneUpdate{notSent: true}
	}
	if delivery.Event.isMissing() {
		d.Attempts.Record(AttemptResult{LeasedDelivery: delivery, Decision: Decision{Status: Failed, CountedAttempts: delivery.CountedAttempts, Reason: ReasonPayloadMissing}})
		return laneUpdate{notSent: true}
	}
	erased, err := d.isErased(ctx, delivery.Event)
	if err != nil {
		return laneUpdate{skipped: true}
	}
	if erased {
		d.Attempts.Record(AttemptResult{LeasedDelivery: delivery, Decision: Decision{Status: Failed, CountedAttempts: delivery.CountedAttempts, Reason: ReasonErased}})
		return laneUpdate{notSent: true}
	}
	target, err := d.Directory.Target(ctx, delivery.TargetID, delivery.IsIntegration)
	if err != nil {
		return laneUpdate{skipped: true}
	}
	if decision, decided := decideUnsent(target, delivery); decided {
		d.Attempts.Record(AttemptResult{LeasedDelivery: delivery, Decision: decision})
		return laneUpdate{healthy: true, hasInterval: true} // the breaker begins anew when the receiver is in use again
	}
	outcome := laneUpdate{hasInterval: true, interval: paceInterval(target)}
	if outcome.interval > 0 {
		if !delivery.paced {
			if wait, ok := d.takeLocalTurn(l, outcome.interval); !ok {
				return laneUpdate{pacedFor: wait, hasInterval: true, interval: outcome.interval}
			}
		}
		if d.Pacer != nil {
			if wait, ok := d.Pacer.TakeTurn(ctx, delivery.TargetID, outcome.interval); !ok {
				return laneUpdate{pacedFor: wait, hasInterval: true, interval: outcome.interval}
			}
		}
	}
	a := d.send(ctx, w, delivery, target, started)
	a.KeepsLease = d.tryKeepLease(&a)
	failpoint.Here("after_response")
	d.Attempts.Record(a)
	outcome.healthy, outcome.notSent, outcome.duration = a.Decision.Healthy, !a.Sent, a.Phases.Total
	outcome.destination = w.destination
	return outcome
}

// paceInterval returns the least time between two starts at a target; 0 = none. What is
// not in use is sent nothing.
func paceInterval(target *directory.Target) time.Duration {
	if target.RatePerMinute <= 0 || !target.Enabled {
		return 0
	}
	return time.Minute / time.Duration(target.RatePerMinute)
}

// request is the HTTP request of an attempt.
type request struct {
	url       string
	header    []client.Header
	body      []byte
	signature [32]byte // as X-Webhook-Signature, for the log; zero if the peer uses another
}

// send signs and posts one delivery and decides by the response.
func (d *Dispatcher) send(ctx context.Context, w *worker, delivery LeasedDelivery, to *directory.Target, started time.Time) AttemptResult {
	a := AttemptResult{LeasedDelivery: delivery, Sent: true, StartedAt: started, QueueTime: started.Sub(delivery.ReadyAt)}
	var err error
	if to.Peer == nil {
		w.buildForEndpoint(delivery, to, started)
	} else if err = w.buildForPeer(delivery, to.Peer, started); err != nil {
		a.Sent, a.Error = false, err.Error()
		a.Decision = Decision{Status: Failed, CountedAttempts: delivery.CountedAttempts, Reason: ReasonEventNotSent}
		return a
	}
	a.Signature = w.request.signature
	response := Response{}
	destination, err := w.destinationOf(to)
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
	a.Decision = Decide(response, delivery.CountedAttempts, delivery.RoundAt, d.Now())
	return a
}

// buildForEndpoint builds the request for an endpoint: the envelope, with both kinds of
// signature. A plain secret makes X-Webhook-Signature alone.
func (w *worker) buildForEndpoint(delivery LeasedDelivery, target *directory.Target, now time.Time) {
	r := &w.request
	r.url, r.body = target.URL, delivery.Event.Body
	r.signature = target.BodySigner(now).BodyHMAC(r.body)
	r.header = append(r.header[:0],
		client.Header{Name: "Content-Type", Value: "application/json"},
		client.Header{Name: hub.HeaderSignature, Value: hub.FormatBodySignature(r.signature)},
		client.Header{Name: hub.HeaderStdID, Value: delivery.Event.ID},
		client.Header{Name: hub.HeaderStdTimestamp, Value: strconv.FormatInt(now.Unix(), 10)},
	)
	if standard := standardSignature(target, delivery.Event.ID, now, r.body); standard != "" {
		r.header = append(r.header, client.Header{Name: hub.HeaderStdSignature, Value: standard})
	}
	for _, own := range target.Header {
		r.header = append(r.header, client.Header{Name: own.Name, Value: own.Value})
	}
}

// standardSignature returns the value of webhook-signature; "" if an endpoint's secrets
// are plain ones.
func standardSignature(target *directory.Target, id string, now time.Time, body []byte) string {
	current, previous := target.StandardSigners(now)
	if current == nil && previous == nil {
		return ""
	}
	if previous == nil {
		return current.SignStandard(id, now.Unix(), body)
	}
	signature := previous.SignStandard(id, now.Unix(), body)
	if current != nil {
		signature = current.SignStandard(id, now.Unix(), body) + " " + signature
	}
	return signature
}

// buildForPeer builds the request for an integration with its connector.
func (w *worker) buildForPeer(delivery LeasedDelivery, peer *integration.Peer, now time.Time) error {
	event, err := hub.ParseEnvelope(delivery.Event.Body)
	if err != nil {
		return fmt.Errorf("reading the stored envelope: %w", err)
	}
	event.TenantID, event.Environment = delivery.Event.TenantID, delivery.Event.Environment
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
			r.signature = [32]byte{} // in a format of the peer's own
		}
	}
	return nil
}

// copyBytes copies bytes that outlive the worker's buffers.
func copyBytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// destinationOf returns the parsed URL of the request to a target. One with a client
// certificate is parsed for each attempt: the certificate may be rotated.
func (w *worker) destinationOf(to *directory.Target) (*client.Destination, error) {
	url := w.request.url
	if known := w.destination; known != nil && known.url == url && to.Certificate == nil {
		return known.parsed, nil
	}
	parsed, err := client.NewDestination(url)
	if err != nil {
		return nil, err
	}
	if to.Certificate != nil {
		return parsed.WithCertificate(to.Certificate, to.ID.String()), nil
	}
	w.destination = &destination{url, parsed}
	return parsed, nil
}
