package erasure

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// personSet is the persons of several erasures. Whom an event is about is found at little more
// than the cost of one person.
type personSet struct {
	persons []*personErasure
	phones  map[string][]*personErasure // by each form of their numbers, those that others have too included
	events  map[int64][]*personErasure  // by the ids of events about them
}

// personErasure is a person whose data is to be erased, with the erasure.
type personErasure struct {
	*person
	seq          uuid.UUID   // of the deletion event
	requestedAt  time.Time   // of two events, the one that was stored in the same transaction may go first
	isReceived   bool        // a peer sent the deletion event: what was stored with it is its effect
	foundEarlier []uuid.UUID // seqs of what a process found that was killed
	matched      []logEvent  // what is about the person
}

func newPersonSet(persons []*personErasure) *personSet {
	s := &personSet{persons: persons, phones: make(map[string][]*personErasure), events: make(map[int64][]*personErasure)}
	for _, p := range persons {
		for _, phones := range []map[string]bool{p.phones, p.sharedPhones} {
			for form := range phones {
				s.phones[form] = append(s.phones[form], p)
			}
		}
		for id := range p.events {
			s.events[id] = append(s.events[id], p)
		}
	}
	return s
}

// personsIn returns the persons that an event is about.
func (s *personSet) personsIn(event logEvent, createdAt time.Time, body []byte) (found []*personErasure) {
	candidates := s.appendCandidates(slices.Clone(s.events[event.id]), body)
	for _, id := range event.chosenIDs() {
		if id != "" {
			candidates = s.appendChosenIDCandidates(candidates, id)
		}
	}
	for _, p := range candidates {
		if !slices.Contains(found, p) && p.covers(createdAt) && p.matches(event, body) {
			found = append(found, p)
		}
	}
	return found
}

// isInChosenID reports whether an id that a publisher chose names any of the persons.
func (s *personSet) isInChosenID(text string) bool {
	return text != "" && slices.ContainsFunc(s.appendChosenIDCandidates(nil, text), func(p *personErasure) bool { return p.isInChosenID(text) })
}

// appendChosenIDCandidates is [personSet.appendCandidates] for an id that a publisher chose.
func (s *personSet) appendChosenIDCandidates(candidates []*personErasure, id string) []*personErasure {
	for _, p := range s.persons {
		if p.hasEmailAtWordEnd([]byte(id)) {
			candidates = append(candidates, p)
		}
	}
	return s.appendCandidates(candidates, []byte(id))
}

// appendCandidates appends the persons of whom a text has an id, an address or a number; some
// may be there several times.
func (s *personSet) appendCandidates(candidates []*personErasure, raw []byte) []*personErasure {
	text := decodeEscapes(raw)
	hasPhone(text, func(form []byte) bool {
		candidates = append(candidates, s.phones[string(form)]...)
		return false
	})
	for _, p := range s.persons {
		if p.hasIDOrEmail(text) {
			candidates = append(candidates, p)
		}
	}
	return candidates
}

// covers reports whether an event was stored before the deletion.
func (p *personErasure) covers(createdAt time.Time) bool {
	return createdAt.Before(p.requestedAt) || createdAt.Equal(p.requestedAt) && !p.isReceived
}

// hasIDOrEmail reports whether a text contains an id or an e-mail address of the person,
// also one that others have too.
func (p *person) hasIDOrEmail(text []byte) bool {
	hasEmailIn := func(email []byte) bool { return hasEmail(text, email) }
	return slices.ContainsFunc(p.ids, func(id []byte) bool { return hasID(text, id) }) ||
		slices.ContainsFunc(p.emails, hasEmailIn) || slices.ContainsFunc(p.sharedEmails, hasEmailIn)
}
