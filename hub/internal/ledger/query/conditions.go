package query

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub/internal/logid"
)

// Conditions are the parts of a where clause and their arguments.
type Conditions struct {
	parts []string
	args  []any
}

// Add appends a part; each question mark in it stands for one of the arguments.
func (c *Conditions) Add(part string, args ...any) {
	c.parts = append(c.parts, c.numbered(part, args...))
}

// Numbered appends the arguments of a text that is used beside the where clause, and
// returns the text with their numbers for the question marks.
func (c *Conditions) Numbered(text string, args ...any) string { return c.numbered(text, args...) }

// numbered appends arguments and returns the part with their numbers for the question marks.
func (c *Conditions) numbered(part string, args ...any) string {
	for _, arg := range args {
		c.args = append(c.args, arg)
		part = strings.Replace(part, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	return part
}

// addNamed appends a part and returns it with its arguments numbered.
func (c *Conditions) addNamed(part string, args ...any) string {
	c.Add(part, args...)
	return c.parts[len(c.parts)-1]
}

// Where returns all parts joined by "and", "true" where there are none.
func (c *Conditions) Where() string { return conjunction(c.parts) }

// Args returns the arguments in the order of their numbers.
func (c *Conditions) Args() []any { return c.args }

// without returns the where clause without some parts.
func (c *Conditions) without(omitted ...string) string {
	return conjunction(slices.DeleteFunc(slices.Clone(c.parts), func(part string) bool { return slices.Contains(omitted, part) }))
}

// conjunction joins conditions by "and".
func conjunction(parts []string) string {
	if len(parts) == 0 {
		return "true"
	}
	return strings.Join(parts, " and ")
}

// filterConditions are the conditions of a [Filter], and which of them the search of
// the log can read an index by.
type filterConditions struct {
	Conditions
	ranges []string // those of the parts that bound the id

	first, last uuid.UUID // bounds of the ids, inclusive; Nil: none

	// The parts that name the event type, the correlation id, the HTTP status, the
	// delivery's status, the tenant and the environment; "": not asked for.
	eventType, correlation, statusCode, status, tenant, environment string

	events []string // the ranges of ids of an event's deliveries, where several tenants chose the same id
}

// addRange appends a part that bounds the id.
func (c *filterConditions) addRange(part string, args ...any) {
	part = c.addNamed(part, args...)
	c.ranges = append(c.ranges, part)
}

// raiseFirst notes that no matching id is below id.
func (c *filterConditions) raiseFirst(id uuid.UUID) {
	if bytes.Compare(id[:], c.first[:]) > 0 {
		c.first = id
	}
}

// lowerLast notes that no matching id is above id.
func (c *filterConditions) lowerLast(id uuid.UUID) {
	if c.last == uuid.Nil || bytes.Compare(id[:], c.last[:]) < 0 {
		c.last = id
	}
}

// isEmptyRange reports whether the bounds leave no id.
func (c *filterConditions) isEmptyRange() bool {
	return c.last != uuid.Nil && bytes.Compare(c.first[:], c.last[:]) > 0
}

// addEvents bounds the ids to the deliveries of events.
func (c *filterConditions) addEvents(seqs []uuid.UUID) {
	if len(seqs) == 1 {
		c.addRange("d.id between ? and ?", seqs[0], logid.Last(seqs[0]))
		c.raiseFirst(seqs[0])
		c.lowerLast(logid.Last(seqs[0]))
		return
	}
	events := make([]string, len(seqs))
	for i, seq := range seqs { // several tenants chose the same id
		events[i] = c.numbered("d.id between ? and ?", seq, logid.Last(seq))
	}
	c.parts = append(c.parts, "("+strings.Join(events, " or ")+")")
	if c.events == nil { // else these were asked for twice: each is read once
		c.events = events
	}
}
