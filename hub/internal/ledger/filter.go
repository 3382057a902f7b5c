package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

// Filter says which deliveries of the log are meant; empty fields mean all.
type Filter struct {
	Direction     string     `json:"direction,omitempty" enum:"inbound,outbound"`
	Product       string     `json:"product,omitempty" maxLength:"40"`
	TenantID      *uuid.UUID `json:"tenant_id,omitempty" format:"uuid"`
	Environment   string     `json:"environment,omitempty" enum:"live,test"`
	IntegrationID *uuid.UUID `json:"integration_id,omitempty" format:"uuid"`
	EndpointID    *uuid.UUID `json:"endpoint_id,omitempty" format:"uuid"`
	EventType     string     `json:"event_type,omitempty" maxLength:"128" doc:"In full"`
	Status        string     `json:"status,omitempty" enum:"pending,delivered,parked,failed"`
	StatusCode    int        `json:"status_code,omitempty" minimum:"0" maximum:"999" doc:"HTTP status of the last attempt"`
	CorrelationID string     `json:"correlation_id,omitempty" maxLength:"200"`
	EventID       string     `json:"event_id,omitempty" pattern:"^evt_[0-9a-f]{16}$" example:"evt_0123456789abcdef"`
	Q             string     `json:"q,omitempty" maxLength:"200" doc:"An event id, a delivery id or a correlation id"`
	Since         *time.Time `json:"since,omitempty" doc:"Accepted at this time or later"`
	Until         *time.Time `json:"until,omitempty" doc:"Accepted before this time"`
}

// Check refuses values that could match nothing, and text that the database cannot
// hold; at is where in a request the filter stands, for the errors.
func (f Filter) Check(at string) error {
	if f.Direction != "" && f.Direction != "inbound" && f.Direction != "outbound" {
		return hub.Invalid(at+".direction", "must be inbound or outbound")
	}
	if f.Environment != "" && f.Environment != string(hub.Live) && f.Environment != string(hub.Test) {
		return hub.Invalid(at+".environment", "must be live or test")
	}
	if _, ok := delivery.ParseStatus(f.Status); f.Status != "" && !ok {
		return hub.Invalid(at+".status", "must be pending, delivered, parked or failed")
	}
	if _, ok := hub.ParseEventID(f.EventID); f.EventID != "" && !ok {
		return hub.Invalid(at+".event_id", `must be "evt_" and 16 lowercase hexadecimal digits`)
	}
	if f.StatusCode < 0 || f.StatusCode > 999 {
		return hub.Invalid(at+".status_code", "must be an HTTP status")
	}
	for _, text := range []struct {
		name, value string
		longest     int
	}{{"product", f.Product, 40}, {"event_type", f.EventType, 128}, {"correlation_id", f.CorrelationID, 200}, {"q", f.Q, 200}} {
		if len(text.value) > text.longest {
			return hub.Invalid(at+"."+text.name, "must have at most "+strconv.Itoa(text.longest)+" characters")
		}
		if strings.ContainsRune(text.value, 0) || !utf8.ValidString(text.value) {
			return hub.Errorf(hub.ErrMalformed, "malformed", "%s.%s is not text: it has broken UTF-8 or a NUL.", at, text.name)
		}
	}
	if err := CheckTime(at+".since", f.Since); err != nil {
		return err
	}
	return CheckTime(at+".until", f.Until)
}

// CheckTime refuses times that ids cannot tell: they count from 1970.
func CheckTime(at string, t *time.Time) error {
	if t != nil && (t.Year() < 1970 || t.Year() > 9999) {
		return hub.Invalid(at, "must be a time such as 2026-01-02T03:04:05Z")
	}
	return nil
}

// conditions collects the parts of a where clause and their arguments.
type conditions struct {
	parts  []string
	ranges []string // those of the parts that bound the id
	args   []any

	first, last uuid.UUID // bounds of the ids, inclusive; Nil: none

	// The parts that name the event type, the correlation id, the HTTP status, the
	// status, the tenant and the environment.
	kind, story, code, standing, owner, environment string

	events []string // the ranges of ids of an event's deliveries, where tenants chose the same id
}

func (c *conditions) add(part string, args ...any) {
	c.parts = append(c.parts, c.numbered(part, args...))
}

// addRange adds a part that bounds the id.
func (c *conditions) addRange(part string, args ...any) {
	part = c.numbered(part, args...)
	c.parts, c.ranges = append(c.parts, part), append(c.ranges, part)
}

func (c *conditions) from(id uuid.UUID) {
	if bytes.Compare(id[:], c.first[:]) > 0 {
		c.first = id
	}
}

func (c *conditions) upto(id uuid.UUID) {
	if c.last == uuid.Nil || bytes.Compare(id[:], c.last[:]) < 0 {
		c.last = id
	}
}

// numbered takes arguments and puts their numbers for the question marks.
func (c *conditions) numbered(part string, args ...any) string {
	for _, arg := range args {
		c.args = append(c.args, arg)
		part = strings.Replace(part, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	return part
}

// addNamed adds a part and returns it.
func (c *conditions) addNamed(part string, args ...any) string {
	c.add(part, args...)
	return c.parts[len(c.parts)-1]
}

func (c *conditions) where() string { return all(c.parts) }

// without gives the conditions but some.
func (c *conditions) without(parts ...string) string {
	return all(slices.DeleteFunc(slices.Clone(c.parts), func(one string) bool { return slices.Contains(parts, one) }))
}

// all joins conditions.
func all(parts []string) string {
	if len(parts) == 0 {
		return "true"
	}
	return strings.Join(parts, " and ")
}

// conditions turns the fields into conditions on hub.deliveries d. ok is false
// where the filter names an event that is not there.
func (f Filter) conditions(ctx context.Context, db querier) (c conditions, ok bool, err error) {
	f.plainConditions(&c)
	for _, id := range []string{f.EventID, f.Q} {
		if id == "" {
			continue
		}
		bits, isEvent := hub.ParseEventID(id)
		switch {
		case isEvent:
			seqs, err := eventSeqs(ctx, db, int64(bits))
			if err != nil || len(seqs) == 0 {
				return c, false, err
			}
			c.addEvents(seqs)
		case id == f.EventID:
			return c, false, nil
		default:
			if delivery, err := uuid.Parse(id); err == nil {
				c.addRange("d.id = ?", delivery)
				c.from(delivery)
				c.upto(delivery)
				continue
			}
			c.story = c.addNamed("d.correlation_id = ?", id)
		}
	}
	return c, true, nil
}

// addEvents bounds the ids to the deliveries of events.
func (c *conditions) addEvents(seqs []uuid.UUID) {
	if len(seqs) == 1 {
		c.addRange("d.id between ? and ?", seqs[0], logid.Last(seqs[0]))
		c.from(seqs[0])
		c.upto(logid.Last(seqs[0]))
		return
	}
	for _, seq := range seqs { // one id, several tenants
		c.events = append(c.events, c.numbered("d.id between ? and ?", seq, logid.Last(seq)))
	}
	c.parts = append(c.parts, "("+strings.Join(c.events, " or ")+")")
}

// plainConditions adds the fields that compare one column.
func (f Filter) plainConditions(c *conditions) {
	switch f.Direction {
	case "inbound":
		c.add("d.inbound")
	case "outbound":
		c.add("not d.inbound")
	}
	if f.Product != "" {
		c.add("d.product = ?", f.Product)
	}
	if f.TenantID != nil {
		c.owner = c.addNamed("d.tenant_id = ?", *f.TenantID)
	}
	switch f.Environment { // written out: so a read may leave it away
	case string(hub.Live):
		c.environment = c.addNamed("d.environment = 'live'")
	case string(hub.Test):
		c.environment = c.addNamed("d.environment = 'test'")
	}
	if f.EndpointID != nil {
		c.add("d.target_id = ? and not d.integration", *f.EndpointID)
	}
	if f.IntegrationID != nil {
		c.add("d.target_id = ? and d.integration", *f.IntegrationID)
	}
	if f.EventType != "" {
		c.kind = c.addNamed("d.event_type = ?", f.EventType)
	}
	if status, ok := delivery.ParseStatus(f.Status); ok {
		c.standing = c.addNamed(is(status))
	}
	if f.StatusCode != 0 {
		// Written out: only so the planner sees that the partial index serves.
		c.code = c.addNamed("d.status_code = " + strconv.Itoa(f.StatusCode))
	}
	if f.CorrelationID != "" {
		c.story = c.addNamed("d.correlation_id = ?", f.CorrelationID)
	}
	if f.Since != nil {
		c.addRange("d.id >= ?", logid.Floor(*f.Since))
		c.from(logid.Floor(*f.Since))
	}
	if f.Until != nil {
		c.addRange("d.id < ?", logid.Floor(*f.Until))
		c.upto(logid.Floor(*f.Until))
	}
}

// eventSeqs finds the events of an id: one, unless tenants chose the same id. One
// that the hub chose is found by its moment, others by the keys and ids that are kept.
func eventSeqs(ctx context.Context, db querier, id int64) ([]uuid.UUID, error) {
	from, upto := logid.EventSpan(uint64(id))
	return readIDs(ctx, db, "looking up an event", `
		select seq from hub.events where seq >= $2 and seq < $3 and id = $1
		union
		select seq from hub.idempotency where event_id = $1
		union
		select seq from hub.received where event_id = $1
		order by seq desc limit 50`, id, from, upto)
}

// readIDs reads a statement's only column; doing says what for, should it fail.
func readIDs(ctx context.Context, db querier, doing, statement string, args ...any) ([]uuid.UUID, error) {
	rows, err := db.Query(ctx, statement, args...)
	var found []uuid.UUID
	if err == nil {
		found, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return found, nil
}

// querier is what reading the log needs of a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

var errNotFound = hub.Errorf(hub.ErrNotFound, "not_found", "There is no such delivery.")

func notFound(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
