// Package receiver is a webhook receiver for trying deliveries out: it checks both
// signatures of what arrives, answers as configured, and reports every delivery.
package receiver

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"integrationhub/hub"
)

// Check is the outcome of checking one signature.
type Check string

// Outcomes of a [Check].
const (
	OK        Check = "ok"
	Wrong     Check = "wrong"
	Stale     Check = "stale"     // right, but its timestamp is too far from now
	Missing   Check = "missing"   // the header is not there
	Unchecked Check = "unchecked" // the receiver knows no secret
)

// Delivery is one request that arrived.
type Delivery struct {
	At        time.Time
	EventID   string // of the webhook-id header, else of the body
	EventType string // "" where the body is no envelope
	Product   string
	Attempt   int // how often this event arrived here, this time included
	Body      []byte
	SHA256    Check  // X-Webhook-Signature
	Standard  Check  // webhook-signature (Standard Webhooks)
	Peer      bool   // it has a key: sent by a product to another's webhook
	Status    int    // what was answered
	Outcome   string // that the forwarded response names: "accepted", "invalid_signature"; "" = none
	Err       error  // why forwarding failed
}

// Verified reports whether both signatures are right. The hub always sends both, so a
// missing one is as bad as a wrong one; other products' documents know only the first.
func (d Delivery) Verified() bool {
	return d.SHA256 == OK && (d.Standard == OK || d.Peer && d.Standard == Missing)
}

// Checked reports whether there was a secret to check with.
func (d Delivery) Checked() bool { return d.SHA256 != Unchecked }

// bodyMax is the largest body taken, in bytes: an envelope around 1 MiB of data.
const bodyMax = 2 << 20

// rememberMax is how many events are remembered for counting their attempts.
const rememberMax = 10_000

// Receiver is an [http.Handler] that takes deliveries. Set its fields before the
// first request.
type Receiver struct {
	Secrets    []string           // any may have signed; none = signatures stay unchecked
	Answer     func(Delivery) int // the status to answer; 0 = 200
	Forward    *Forwarder         // passes deliveries on whose Answer is 0; may be nil
	OnDelivery func(Delivery)     // called for every delivery, one at a time
	Now        func() time.Time   // clock

	mu       sync.Mutex
	attempts map[string]int
	order    []string // events in attempts, oldest first

	reporting sync.Mutex
}

// ServeHTTP implements [http.Handler].
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "deliveries are POSTed", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, bodyMax))
	if err != nil {
		status := http.StatusBadRequest
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the body cannot be read", status)
		return
	}
	d := r.examine(request.Header, body)
	d.Status = r.Answer(d)
	switch {
	case d.Status == 0 && r.Forward != nil:
		d.Status, d.Outcome, d.Err = r.Forward.pass(w, request, body)
	case d.Status == 0:
		d.Status = http.StatusOK
		w.WriteHeader(d.Status)
	default:
		w.WriteHeader(d.Status)
	}
	r.reporting.Lock()
	defer r.reporting.Unlock()
	r.OnDelivery(d)
}

// examine reads a delivery and checks its signatures.
func (r *Receiver) examine(header http.Header, body []byte) Delivery {
	d := Delivery{At: r.Now(), Body: body}
	var envelope struct {
		ID        string `json:"id"`
		Product   string `json:"product"`
		EventType string `json:"event_type"`
	}
	if json.Unmarshal(body, &envelope) == nil {
		d.EventID, d.Product, d.EventType = envelope.ID, envelope.Product, envelope.EventType
	}
	if id := header.Get(hub.HeaderStdID); id != "" {
		d.EventID = id
	}
	d.Peer = header.Get(hub.HeaderKey) != ""
	d.SHA256 = r.checkBody(header, body)
	d.Standard = r.checkStandard(header, body, d.At)
	d.Attempt = r.countAttempt(d.EventID)
	return d
}

func (r *Receiver) checkBody(header http.Header, body []byte) Check {
	signature := header.Get(hub.HeaderSignature)
	switch {
	case len(r.Secrets) == 0:
		return Unchecked
	case signature == "":
		return Missing
	case hub.VerifyBody(signature, body, r.Secrets...):
		return OK
	}
	return Wrong
}

func (r *Receiver) checkStandard(header http.Header, body []byte, now time.Time) Check {
	signatures, id, timestamp := header.Get(hub.HeaderStdSignature), header.Get(hub.HeaderStdID), header.Get(hub.HeaderStdTimestamp)
	switch {
	case len(r.Secrets) == 0:
		return Unchecked
	case signatures == "" || id == "" || timestamp == "":
		return Missing
	case hub.VerifyStandard(signatures, id, timestamp, body, now, r.Secrets...):
		return OK
	}
	// Was it right at its own time? Then it is an old delivery sent again.
	if seconds, err := parseUnix(timestamp); err == nil &&
		hub.VerifyStandard(signatures, id, timestamp, body, seconds, r.Secrets...) {
		return Stale
	}
	return Wrong
}

// countAttempt counts an arrival of an event and returns how many there were. The oldest events are forgotten.
func (r *Receiver) countAttempt(eventID string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempts == nil {
		r.attempts = make(map[string]int)
	}
	if r.attempts[eventID] == 0 {
		if len(r.order) == rememberMax {
			delete(r.attempts, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, eventID)
	}
	r.attempts[eventID]++
	return r.attempts[eventID]
}
