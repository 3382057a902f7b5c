package reconcile

import (
	"integrationhub/cmd/bench/internal/records"
)

// CountOutOfOrder returns how many requests at an ordered endpoint came too early: before an
// earlier event of their key was delivered. Events have the ordering key of their number modulo
// keys, as the generator assigns them. Of two events the earlier is the one that was accepted
// before the other was sent; a repetition of an event that was delivered is not too early.
// Arrivals are in the order in which they were answered.
func CountOutOfOrder(sent []records.Sent, arrivals []records.Arrival, keys int) (tooEarly int) {
	byKey := make(map[uint64][]records.Sent, keys)
	for _, event := range sent {
		if event.Accepted() {
			key := event.Number % uint64(keys)
			byKey[key] = append(byKey[key], event)
		}
	}
	sentAt := make(map[uint64]int64, len(sent)) // by event id
	for _, event := range sent {
		sentAt[event.ID] = event.SentAt
	}
	delivered := make(map[uint64]bool, len(sent))
	for _, arrival := range arrivals {
		for _, other := range byKey[arrival.Number%uint64(keys)] {
			if other.ID != arrival.ID && other.AnsweredAt <= sentAt[arrival.ID] && !delivered[other.ID] {
				tooEarly++
				break
			}
		}
		if arrival.Delivered() {
			delivered[arrival.ID] = true
		}
	}
	return tooEarly
}
