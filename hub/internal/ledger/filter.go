package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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

// conditions collects the parts of a where clause and their arguments.
type conditions struct {
	parts []string
	args  []any
}

func (c *conditions) add(part string, args ...any) {
	for _, arg := range args {
		c.args = append(c.args, arg)
		part = strings.Replace(part, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.parts = append(c.parts, part)
}

func (c *conditions) where() string {
	if len(c.parts) == 0 {
		return "true"
	}
	return strings.Join(c.parts, " and ")
}

// plan is how a filter is read: as one ordered read, or as several that are merged.
type plan struct {
	conditions
	targets  []uuid.UUID // read target by target, along the index of each
	branches []string    // conditions of the reads; empty: one read without any more
}

// maxTargets is how many targets of a tenant or product are read one by one. Who
// has more of them has rows everywhere in the log, and reading it in order finds a
// page soon.
const maxTargets = 100

// bySettledStatus splits a read: the filter indexes hold settled rows, by status
// and then by id, so a page is read from each status' own stretch; what is pending
// is little and has an index of its own.
var bySettledStatus = []string{"d.status = 1", "d.status = 2", "d.status = 3", "d.status = 0"}

// plan turns a filter into reads. ok is false where nothing can match.
func (f Filter) plan(ctx context.Context, db querier) (p plan, ok bool, err error) {
	if p.conditions, ok, err = f.conditions(ctx, db); err != nil || !ok {
		return p, ok, err
	}
	switch {
	case f.EventID != "" || f.CorrelationID != "" || f.Q != "":
		return p, true, nil // a handful of rows
	case f.EndpointID != nil || f.IntegrationID != nil || f.TenantID != nil || f.Product != "":
		if p.targets, err = f.targets(ctx, db); err != nil {
			return p, false, err
		}
	}
	switch {
	case f.StatusCode != 0: // its own index
	case f.Status != "":
		if p.targets != nil {
			p.branches = []string{"true"} // the status is among the conditions
		}
	case p.targets != nil || f.EventType != "":
		p.branches = bySettledStatus
	}
	if f.StatusCode != 0 {
		p.targets = nil
	}
	return p, true, nil
}

// targets finds the endpoints a filter can mean, deleted ones included; nil where
// they are too many to be read one by one.
func (f Filter) targets(ctx context.Context, db querier) ([]uuid.UUID, error) {
	switch {
	case f.EndpointID != nil:
		return []uuid.UUID{*f.EndpointID}, nil
	case f.IntegrationID != nil:
		return []uuid.UUID{*f.IntegrationID}, nil
	case f.TenantID == nil && f.Product == hubProduct:
		return nil, nil // pings go to everybody's endpoints
	}
	rows, err := db.Query(ctx, `
		select e.id from hub.endpoints e join hub.tenants t on t.id = e.tenant_id
		where ($1::uuid is null or e.tenant_id = $1) and ($1::uuid is not null or t.product = $2)
		limit $3`, f.TenantID, f.Product, maxTargets+1)
	if err != nil {
		return nil, fmt.Errorf("reading endpoints: %w", err)
	}
	targets, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("reading endpoints: %w", err)
	}
	if len(targets) > maxTargets {
		return nil, nil
	}
	if targets == nil {
		targets = []uuid.UUID{} // read, and there are none
	}
	return targets, nil
}

// hubProduct is the product of the hub's own events, such as hub.ping.
const hubProduct = "hub"

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
			lasts := make([]uuid.UUID, len(seqs))
			for i, seq := range seqs {
				lasts[i] = logid.Last(seq)
			}
			if len(seqs) == 1 {
				c.add("d.id between ? and ?", seqs[0], lasts[0])
			} else { // one id, several tenants
				c.add("exists (select from unnest(?::uuid[], ?::uuid[]) s(first, last) where d.id between s.first and s.last)", seqs, lasts)
			}
		case id == f.EventID:
			return c, false, nil
		default:
			if delivery, err := uuid.Parse(id); err == nil {
				c.add("d.id = ?", delivery)
				continue
			}
			c.add("d.correlation_id = ?", id)
		}
	}
	return c, true, nil
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
		c.add("d.tenant_id = ?", *f.TenantID)
	}
	if f.EndpointID != nil {
		c.add("d.target_id = ? and not d.integration", *f.EndpointID)
	}
	if f.IntegrationID != nil {
		c.add("d.target_id = ? and d.integration", *f.IntegrationID)
	}
	if f.EventType != "" {
		c.add("d.event_type = ?", f.EventType)
	}
	if status, ok := delivery.ParseStatus(f.Status); ok {
		c.add("d.status = " + strconv.Itoa(int(status)))
	}
	if f.StatusCode != 0 {
		// Written out: only so the planner sees that the partial index serves.
		c.add("d.status_code = " + strconv.Itoa(f.StatusCode))
	}
	if f.CorrelationID != "" {
		c.add("d.correlation_id = ?", f.CorrelationID)
	}
	if f.Since != nil {
		c.add("d.id >= ?", logid.Floor(*f.Since))
	}
	if f.Until != nil {
		c.add("d.id < ?", logid.Floor(*f.Until))
	}
}

// eventSeqs finds the events of an id: one, unless tenants chose the same id.
func eventSeqs(ctx context.Context, db querier, id int64) ([]uuid.UUID, error) {
	rows, err := db.Query(ctx, `select seq from hub.events where id = $1 order by seq desc limit 50`, id)
	if err != nil {
		return nil, fmt.Errorf("looking up an event: %w", err)
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("looking up an event: %w", err)
	}
	return seqs, nil
}

// querier is what reading the log needs of a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ids writes the statement that finds the newest ids that match.
func (p *plan) ids(limit int) string {
	if p.targets == nil && len(p.branches) == 0 {
		return p.read("true", limit)
	}
	source := "%s"
	if p.targets != nil {
		p.args = append(p.args, p.targets)
		source = fmt.Sprintf("select found.id from unnest($%d::uuid[]) t(target), lateral (%%s) found", len(p.args))
	}
	parts := make([]string, len(p.branches))
	for i, branch := range p.branches {
		if p.targets != nil {
			branch = "d.target_id = t.target and " + branch
		}
		parts[i] = "(" + fmt.Sprintf(source, p.read(branch, limit)) + ")"
	}
	return fmt.Sprintf("select id from (%s) merged order by id desc limit %d", strings.Join(parts, " union all "), limit)
}

func (p *plan) read(branch string, limit int) string {
	return fmt.Sprintf("select d.id from hub.deliveries d where %s and %s order by d.id desc limit %d", p.where(), branch, limit)
}

var errNotFound = hub.Errorf(hub.ErrNotFound, "not_found", "There is no such delivery.")

func notFound(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
