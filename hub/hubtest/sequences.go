package hubtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Sequences checks what an ordered receiver gets: events with the data {"key": …, "n": …},
// numbered from 1 for each key. Safe for concurrent use.
//
// A publisher without ids that gets no answer publishes all events of a request again, with
// their numbers. Its events say with "from" which number of their key the request began with.
type Sequences struct {
	AllowLate bool // an accepted event may arrive again after a later one: a process that was frozen in the middle of its attempt sends it

	mu        sync.Mutex
	keys      map[string]*sequence
	arrivals  int
	repeats   int
	late      int
	disorders []string
}

// sequence is what arrived with one key.
type sequence struct {
	newest     string // id of the event that arrived last, without repeats
	n          int    // its number
	isAccepted bool   // the newest was
	accepted   int    // the highest number that was accepted
	seen       map[string]bool
}

// Arrive notes the arrival of an event and returns its key and number, and whether it is the
// first arrival of that. The newest may arrive again. An earlier one is a disorder, and so is
// one whose predecessor was not accepted.
func (s *Sequences) Arrive(envelope []byte) (key string, n int, isFirst bool) {
	var event struct {
		ID   string `json:"id"`
		Data struct {
			Key  string `json:"key"`
			N    int    `json:"n"`
			From int    `json:"from"`
		} `json:"data"`
	}
	err := json.Unmarshal(envelope, &event)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = make(map[string]*sequence)
	}
	id, data := event.ID, event.Data
	of := s.keys[data.Key]
	if of == nil {
		of = &sequence{isAccepted: true, seen: make(map[string]bool)}
		s.keys[data.Key] = of
	}
	s.arrivals++
	if data.N <= of.accepted {
		s.repeats++
	}
	isPublishedAgain := data.From > 0 && data.N == data.From && data.N <= of.n
	switch {
	case err != nil:
		s.disorders = append(s.disorders, err.Error())
		return "", 0, true
	case id == of.newest:
		return data.Key, data.N, false
	case of.seen[id] && s.AllowLate:
		s.late++
		return data.Key, data.N, false
	case of.seen[id], !of.isAccepted, data.N != of.n+1 && !isPublishedAgain:
		s.disorders = append(s.disorders, fmt.Sprintf("%s: %d (%s) arrived after %d (%s), of which it is %t that it was accepted", data.Key, data.N, id, of.n, of.newest, of.isAccepted))
	}
	isFirst = !of.seen[id]
	of.newest, of.n, of.isAccepted, of.seen[id] = id, data.N, false, true
	return data.Key, data.N, isFirst
}

// Accept notes that the receiver accepted an event. Call it before the receiver answers.
func (s *Sequences) Accept(key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.keys[key]
	if of == nil { // it was no event
		return
	}
	of.accepted = max(of.accepted, n)
	of.isAccepted = of.isAccepted || of.n == n
}

// Accepted returns the highest number of each key that the receiver accepted.
func (s *Sequences) Accepted() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	accepted := make(map[string]int, len(s.keys))
	for key, of := range s.keys {
		if of.accepted > 0 {
			accepted[key] = of.accepted
		}
	}
	return accepted
}

// Disorders returns what arrived out of order, in words.
func (s *Sequences) Disorders() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.disorders)
}

// Arrivals returns how many events arrived, how many of these had numbers that were accepted
// before, and how many came after a later one.
func (s *Sequences) Arrivals() (all, repeats, late int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals, s.repeats, s.late
}
