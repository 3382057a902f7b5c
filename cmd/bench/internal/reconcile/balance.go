// Package reconcile compares what was sent with what arrived: nothing accepted may be lost.
package reconcile

import (
	"fmt"

	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// Balance is the result of comparing accepted events with arrivals. The fields count
// deliveries (an event times an endpoint) unless they say otherwise.
type Balance struct {
	Accepted   int `json:"accepted"`   // events answered 2xx
	Expected   int `json:"expected"`   // deliveries that the responses promised
	Delivered  int `json:"delivered"`  // distinct deliveries answered 2xx by the receiver
	Duplicated int `json:"duplicated"` // answered 2xx again
	Waiting    int `json:"waiting"`    // not arrived, but pending, parked or failed in the delivery log
	Lost       int `json:"lost"`       // not arrived and in no log
	Unanswered int `json:"unanswered"` // arrived though the sender got no response: sent, so allowed
	Unknown    int `json:"unknown"`    // arrived though never sent
	Altered    int `json:"altered"`    // arrived with other data than sent, or other bytes than before
	Forged     int `json:"forged"`     // arrived with an invalid signature

	Missing map[uint64]int `json:"-"` // event id → deliveries that have not arrived
}

// Sound reports whether nothing was lost, invented, altered or wrongly signed.
// Duplicates are allowed: delivery is at least once.
func (b *Balance) Sound() bool {
	return b.Lost == 0 && b.Unknown == 0 && b.Altered == 0 && b.Forged == 0
}

// Compare compares every POST of the generator with every request at the receiver.
// What has not arrived counts as lost, until [Balance.Explain] finds it in a delivery log.
func Compare(sent []records.Sent, arrivals []records.Arrival) *Balance {
	b := &Balance{Missing: make(map[uint64]int)}
	accepted := make(map[uint64]records.Sent, len(sent))
	unanswered := make(map[uint64]records.Sent)
	for _, s := range sent {
		if s.Accepted() {
			accepted[s.ID] = s
			b.Missing[s.ID] += int(s.Deliveries)
			b.Accepted++
			b.Expected += int(s.Deliveries)
		} else {
			unanswered[s.Number] = s
		}
	}
	bodies := make(map[records.DeliveryKey]uint32, len(arrivals))
	delivered := make(map[records.DeliveryKey]bool, len(arrivals))
	for _, a := range arrivals {
		origin, isSent := accepted[a.ID]
		if !isSent {
			if origin, isSent = unanswered[a.Number]; isSent {
				b.Unanswered++
			} else {
				b.Unknown++
				continue
			}
		}
		b.checkContent(a, origin, bodies)
		if a.Delivered() {
			b.countDelivered(a, delivered)
		}
	}
	for id, count := range b.Missing {
		if count <= 0 {
			delete(b.Missing, id)
		}
		b.Lost += max(count, 0)
	}
	return b
}

// checkContent counts an arrival whose bytes or signature are wrong.
func (b *Balance) checkContent(a records.Arrival, origin records.Sent, bodies map[records.DeliveryKey]uint32) {
	if a.Signature == records.SignatureInvalid {
		b.Forged++
	}
	key := a.Key()
	previous, repeated := bodies[key]
	bodies[key] = a.BodyCRC
	if a.Number != origin.Number || a.DataCRC != origin.DataCRC || (repeated && previous != a.BodyCRC) {
		b.Altered++
	}
}

// countDelivered counts a request that the receiver answered 2xx.
func (b *Balance) countDelivered(a records.Arrival, delivered map[records.DeliveryKey]bool) {
	key := a.Key()
	if delivered[key] {
		b.Duplicated++
		return
	}
	delivered[key] = true
	if _, isAccepted := b.Missing[a.ID]; isAccepted {
		b.Missing[a.ID]--
		b.Delivered++
	}
}

// Explain looks up every event with missing deliveries in a delivery log. unfinished
// returns how many deliveries of an event are pending, parked or failed there; that
// many move from lost to waiting. A missing delivery that the log calls delivered
// stays lost.
func (b *Balance) Explain(unfinished func(eventID string) (int, error)) error {
	for id, count := range b.Missing {
		found, err := unfinished(hub.FormatEventID(id))
		if err != nil {
			return fmt.Errorf("asking the delivery log: %w", err)
		}
		found = min(found, count)
		b.Waiting += found
		b.Lost -= found
	}
	return nil
}
