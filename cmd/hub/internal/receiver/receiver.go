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
	Peer      bool   // it came with a key: from a product to another's webhook
	Status    int    // what was answered
	Outcome   string // what the receiver made of it, in a word: "accepted", "invalid_signature"; "" = it did not say
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
	Secrets []string           // any may have signed; none = signatures stay unchecked
	Answer  func(Delivery) int // the status to answer; 0 = 200
	Forward *Forwarder         // passes deliveries on whose Answer is 0; may be nil
	Seen    func(Delivery)     // called for every delivery, one at a time
	Now     func() time.Time   // clock

	mu       sync.Mutex
	attempts map[string]int
	order    []string // events in attempts, oldest first

	reporting sync.Mutex
}

// ServeHTTP implements [http.Handler].
func (rc *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "deliveries are POSTed", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		status := http.StatusBadRequest
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the body cannot be read", status)
		return
	}
	d := rc.examine(r.Header, body)
	d.Status = rc.Answer(d)
	switch {
	case d.Status == 0 && rc.Forward != nil:
		d.Status, d.Outcome, d.Err = rc.Forward.pass(w, r, body)
	case d.Status == 0:
		d.Status = http.StatusOK
		w.WriteHeader(d.Status)
	default:
		w.WriteHeader(d.Status)
	}
	rc.reporting.Lock()
	defer rc.reporting.Unlock()
	rc.Seen(d)
}

// examine reads a delivery and checks its signatures.
func (rc *Receiver) examine(header http.Header, body []byte) Delivery {
	d := Delivery{At: rc.Now(), Body: body}
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
	d.SHA256 = rc.checkBody(header, body)
	d.Standard = rc.checkStandard(header, body, d.At)
	d.Attempt = rc.count(d.EventID)
	return d
}

func (rc *Receiver) checkBody(header http.Header, body []byte) Check {
	signature := header.Get(hub.HeaderSignature)
	switch {
	case len(rc.Secrets) == 0:
		return Unchecked
	case signature == "":
		return Missing
	case hub.VerifyBody(signature, body, rc.Secrets...):
		return OK
	}
	return Wrong
}

func (rc *Receiver) checkStandard(header http.Header, body []byte, now time.Time) Check {
	signatures, id, timestamp := header.Get(hub.HeaderStdSignature), header.Get(hub.HeaderStdID), header.Get(hub.HeaderStdTimestamp)
	switch {
	case len(rc.Secrets) == 0:
		return Unchecked
	case signatures == "" || id == "" || timestamp == "":
		return Missing
	case hub.VerifyStandard(signatures, id, timestamp, body, now, rc.Secrets...):
		return OK
	}
	// Was it right at its own time? Then it is an old delivery sent again.
	if seconds, err := parseUnix(timestamp); err == nil &&
		hub.VerifyStandard(signatures, id, timestamp, body, seconds, rc.Secrets...) {
		return Stale
	}
	return Wrong
}

// count tells how often an event has arrived; the oldest events are forgotten.
func (rc *Receiver) count(eventID string) int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.attempts == nil {
		rc.attempts = make(map[string]int)
	}
	if rc.attempts[eventID] == 0 {
		if len(rc.order) == rememberMax {
			delete(rc.attempts, rc.order[0])
			rc.order = rc.order[1:]
		}
		rc.order = append(rc.order, eventID)
	}
	rc.attempts[eventID]++
	return rc.attempts[eventID]
}
