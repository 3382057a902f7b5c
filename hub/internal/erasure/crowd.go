package erasure

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// crowd is the persons of several erasures. Whom an event is about is found at little more
// than the cost of one person.
type crowd struct {
	members []*member
	phones  map[string][]*member // by each form of their numbers, those that others have too included
	events  map[int64][]*member  // by the ids of events about them
}

// member is a person with the erasure.
type member struct {
	*person
	seq         uuid.UUID   // of the deletion event
	requestedAt time.Time   // of two events, the one that was stored in the same transaction may go first
	isReceived  bool        // a peer sent the deletion event: what was stored with it is its effect
	held        []uuid.UUID // what a process found that was killed
	matched     []logEvent  // what is about the person
}

func newCrowd(members []*member) *crowd {
	c := &crowd{members: members, phones: make(map[string][]*member), events: make(map[int64][]*member)}
	for _, m := range members {
		for _, phones := range []map[string]bool{m.phones, m.sharedPhones} {
			for form := range phones {
				c.phones[form] = append(c.phones[form], m)
			}
		}
		for id := range m.events {
			c.events[id] = append(c.events[id], m)
		}
	}
	return c
}

// find returns the members that an event is about.
func (c *crowd) find(event logEvent, createdAt time.Time, body []byte) (found []*member) {
	candidates := c.appendCandidates(slices.Clone(c.events[event.id]), body)
	if event.correlation != "" {
		candidates = c.appendChosenIDCandidates(candidates, event.correlation)
	}
	for _, m := range candidates {
		if !slices.Contains(found, m) && m.covers(createdAt) && m.matches(event, body) {
			found = append(found, m)
		}
	}
	return found
}

// isInText reports whether an id that a publisher chose names any of the persons.
func (c *crowd) isInText(text string) bool {
	return text != "" && slices.ContainsFunc(c.appendChosenIDCandidates(nil, text), func(m *member) bool { return m.isInText(text) })
}

// appendChosenIDCandidates is [crowd.appendCandidates] for an id that a publisher chose.
func (c *crowd) appendChosenIDCandidates(candidates []*member, id string) []*member {
	for _, m := range c.members {
		if m.hasEmailAtWordEnd([]byte(id)) {
			candidates = append(candidates, m)
		}
	}
	return c.appendCandidates(candidates, []byte(id))
}

// appendCandidates appends the members of whom a text has an id, an address or a number; some
// may be there several times.
func (c *crowd) appendCandidates(candidates []*member, raw []byte) []*member {
	text := decodeEscapes(raw)
	hasPhone(text, func(form []byte) bool {
		candidates = append(candidates, c.phones[string(form)]...)
		return false
	})
	for _, m := range c.members {
		if m.hasIDOrEmail(text) {
			candidates = append(candidates, m)
		}
	}
	return candidates
}

// covers reports whether an event was stored before the deletion.
func (m *member) covers(createdAt time.Time) bool {
	return createdAt.Before(m.requestedAt) || createdAt.Equal(m.requestedAt) && !m.isReceived
}

// hasIDOrEmail reports whether a text contains an id or an e-mail address of the person,
// also one that others have too.
func (p *person) hasIDOrEmail(text []byte) bool {
	hasEmailIn := func(email []byte) bool { return hasEmail(text, email) }
	return slices.ContainsFunc(p.ids, func(id []byte) bool { return hasID(text, id) }) ||
		slices.ContainsFunc(p.emails, hasEmailIn) || slices.ContainsFunc(p.sharedEmails, hasEmailIn)
}
