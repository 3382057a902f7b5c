package hubtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Sequences checks what an ordered receiver gets: events with the data {"key": …, "n": …},
// numbered from 1 for each key. Safe for concurrent use.
type Sequences struct {
	mu        sync.Mutex
	newest    map[string]int // the highest number that arrived
	accepted  map[string]int // the highest number that the receiver accepted
	arrivals  int
	repeats   int
	disorders []string
}

// Arrive notes the arrival of an event and returns its key and number, and whether it is the
// first arrival of that. A repeat of the newest is allowed. An earlier one is a disorder, and
// so is one whose predecessor was not accepted.
func (s *Sequences) Arrive(envelope []byte) (key string, n int, isFirst bool) {
	var event struct {
		Data struct {
			Key string `json:"key"`
			N   int    `json:"n"`
		} `json:"data"`
	}
	err := json.Unmarshal(envelope, &event)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		s.newest, s.accepted = make(map[string]int), make(map[string]int)
	}
	key, n = event.Data.Key, event.Data.N
	s.arrivals++
	switch {
	case err != nil:
		s.disorders = append(s.disorders, err.Error())
	case n < s.newest[key] || n > s.accepted[key]+1:
		s.disorders = append(s.disorders, fmt.Sprintf("%s: %d arrived after %d had arrived and %d was accepted", key, n, s.newest[key], s.accepted[key]))
	case n <= s.accepted[key]:
		s.repeats++
	}
	isFirst = n > s.newest[key]
	s.newest[key] = max(s.newest[key], n)
	return key, n, isFirst
}

// Accept notes that the receiver accepted an event. Call it before the receiver answers.
func (s *Sequences) Accept(key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[key] = max(s.accepted[key], n)
}

// Accepted returns the highest number of each key that the receiver accepted.
func (s *Sequences) Accepted() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.accepted)
}

// Disorders returns what arrived out of order, in words.
func (s *Sequences) Disorders() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.disorders)
}

// Arrivals returns how many events arrived, and how many of these were accepted before.
func (s *Sequences) Arrivals() (all, repeats int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals, s.repeats
}
