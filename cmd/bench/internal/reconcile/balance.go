package reconcile

import (
	"fmt"

	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// Balance is what the ledger finds when it holds the accepted events against
// what arrived. Everything counts deliveries (an event times an endpoint) unless
// it says otherwise.
type Balance struct {
	Accepted   int `json:"accepted"`   // events answered 2xx
	Expected   int `json:"expected"`   // deliveries those answers promised
	Delivered  int `json:"delivered"`  // distinct deliveries taken by the receiver
	Duplicated int `json:"duplicated"` // taken again after they had been taken
	Waiting    int `json:"waiting"`    // not arrived, but pending, parked or failed in the delivery log
	Lost       int `json:"lost"`       // not arrived and in no log
	Unanswered int `json:"unanswered"` // arrived though the sender got no answer: sent, so allowed
	Unknown    int `json:"unknown"`    // arrived though never sent
	Altered    int `json:"altered"`    // arrived with other data than sent, or other bytes than before
	Forged     int `json:"forged"`     // arrived with a signature that does not hold

	Missing map[uint64]int `json:"-"` // event id → deliveries that have not arrived
}

// Sound reports whether nothing was lost, invented, altered or wrongly signed.
// Duplicates are allowed: delivery is at least once.
func (b *Balance) Sound() bool {
	return b.Lost == 0 && b.Unknown == 0 && b.Altered == 0 && b.Forged == 0
}

// Compare compares every POST of the generator with every request at the
// receiver. What has not arrived counts as lost until [Balance.Explain] finds it
// in a delivery log.
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
	taken := make(map[records.DeliveryKey]bool, len(arrivals))
	for _, a := range arrivals {
		origin, known := accepted[a.ID]
		if !known {
			if origin, known = unanswered[a.Number]; known {
				b.Unanswered++
			} else {
				b.Unknown++
				continue
			}
		}
		b.checkContent(a, origin, bodies)
		if a.Delivered() {
			b.countDelivered(a, taken)
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

// checkContent checks the bytes and the signature of an arrival.
func (b *Balance) checkContent(a records.Arrival, origin records.Sent, bodies map[records.DeliveryKey]uint32) {
	if a.Signature == records.SignatureInvalid {
		b.Forged++
	}
	key := a.Key()
	before, again := bodies[key]
	bodies[key] = a.BodyCRC
	if a.Number != origin.Number || a.DataCRC != origin.DataCRC || (again && before != a.BodyCRC) {
		b.Altered++
	}
}

// countDelivered counts a request the receiver answered 2xx.
func (b *Balance) countDelivered(a records.Arrival, taken map[records.DeliveryKey]bool) {
	key := a.Key()
	if taken[key] {
		b.Duplicated++
		return
	}
	taken[key] = true
	if _, answered := b.Missing[a.ID]; answered {
		b.Missing[a.ID]--
		b.Delivered++
	}
}

// Explain asks a delivery log about every event with missing deliveries; standing
// gives how many deliveries of an event are pending, parked or failed there.
// What is accounted for moves from lost to waiting. A log that calls a missing
// delivery delivered does not help: that one stays lost.
func (b *Balance) Explain(standing func(eventID string) (int, error)) error {
	for id, count := range b.Missing {
		found, err := standing(hub.FormatEventID(id))
		if err != nil {
			return fmt.Errorf("asking the delivery log: %w", err)
		}
		found = min(found, count)
		b.Waiting += found
		b.Lost -= found
	}
	return nil
}
