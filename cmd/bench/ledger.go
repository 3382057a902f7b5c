package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

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

	missing map[uint64]int // event id → deliveries that have not arrived
}

// Sound reports whether nothing was lost, invented, altered or wrongly signed.
// Duplicates are allowed: delivery is at least once.
func (b *Balance) Sound() bool {
	return b.Lost == 0 && b.Unknown == 0 && b.Altered == 0 && b.Forged == 0
}

// Missing gives the ids of the events whose deliveries have not all arrived,
// with how many have not.
func (b *Balance) Missing() map[uint64]int { return b.missing }

// arrivalKey names one delivery as the receiver sees it.
type arrivalKey struct {
	id       uint64
	endpoint uint32
}

// Reckon compares every POST of the generator with every request at the
// receiver. What has not arrived counts as lost until [Balance.Explain] finds it
// in a delivery log.
func Reckon(sent []Sent, arrivals []Arrival) *Balance {
	b := &Balance{missing: make(map[uint64]int)}
	accepted := make(map[uint64]Sent, len(sent))
	unanswered := make(map[uint64]Sent)
	for _, s := range sent {
		if s.Accepted() {
			accepted[s.ID] = s
			b.missing[s.ID] += int(s.Deliveries)
			b.Accepted++
			b.Expected += int(s.Deliveries)
		} else {
			unanswered[s.N] = s
		}
	}
	bodies := make(map[arrivalKey]uint32, len(arrivals))
	taken := make(map[arrivalKey]bool, len(arrivals))
	for _, a := range arrivals {
		origin, known := accepted[a.ID]
		if !known {
			if origin, known = unanswered[a.N]; known {
				b.Unanswered++
			} else {
				b.Unknown++
				continue
			}
		}
		b.inspect(a, origin, bodies)
		if a.Delivered() {
			b.take(a, taken)
		}
	}
	for id, count := range b.missing {
		if count <= 0 {
			delete(b.missing, id)
		}
		b.Lost += max(count, 0)
	}
	return b
}

// inspect checks the bytes and the signature of an arrival.
func (b *Balance) inspect(a Arrival, origin Sent, bodies map[arrivalKey]uint32) {
	if a.Signature == signatureFalse {
		b.Forged++
	}
	key := arrivalKey{a.ID, a.Endpoint}
	before, again := bodies[key]
	bodies[key] = a.Body
	if a.N != origin.N || a.Data != origin.Data || (again && before != a.Body) {
		b.Altered++
	}
}

// take counts a request the receiver answered 2xx.
func (b *Balance) take(a Arrival, taken map[arrivalKey]bool) {
	key := arrivalKey{a.ID, a.Endpoint}
	if taken[key] {
		b.Duplicated++
		return
	}
	taken[key] = true
	if _, answered := b.missing[a.ID]; answered {
		b.missing[a.ID]--
		b.Delivered++
	}
}

// Explain asks a delivery log about every event with missing deliveries; standing
// gives how many deliveries of an event are pending, parked or failed there.
// What is accounted for moves from lost to waiting. A log that calls a missing
// delivery delivered does not help: that one stays lost.
func (b *Balance) Explain(standing func(eventID string) (int, error)) error {
	for id, count := range b.missing {
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

// ledgerCommand holds a generator's output against a receiver's record by hand.
func ledgerCommand() *cobra.Command {
	var sentFile, arrivedFile string
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Compare a generator's file with a receiver's record",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			sent, err := loadRecords[Sent](sentFile)
			if err != nil {
				return err
			}
			arrivals, err := loadRecords[Arrival](arrivedFile)
			if err != nil {
				return err
			}
			balance := Reckon(sent, arrivals)
			if err := json.NewEncoder(os.Stdout).Encode(balance); err != nil {
				return fmt.Errorf("printing the balance: %w", err)
			}
			if !balance.Sound() {
				return fmt.Errorf("balance does not hold: %d lost, %d unknown, %d altered, %d forged",
					balance.Lost, balance.Unknown, balance.Altered, balance.Forged)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&sentFile, "sent", "", "file written by generate --out")
	cmd.Flags().StringVar(&arrivedFile, "arrived", "", "body of the receiver's GET /control/record")
	_ = cmd.MarkFlagRequired("sent") // fails only for a flag that does not exist
	_ = cmd.MarkFlagRequired("arrived")
	return cmd
}
