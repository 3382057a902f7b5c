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
	Direction     string     `json:"direction,omitempty"` // "inbound", "outbound"
	Product       string     `json:"product,omitempty"`
	TenantID      *uuid.UUID `json:"tenant_id,omitempty"`
	IntegrationID *uuid.UUID `json:"integration_id,omitempty"`
	EndpointID    *uuid.UUID `json:"endpoint_id,omitempty"`
	EventType     string     `json:"event_type,omitempty"`
	Status        string     `json:"status,omitempty"` // pending, delivered, parked, failed
	StatusCode    int        `json:"status_code,omitempty"`
	CorrelationID string     `json:"correlation_id,omitempty"`
	EventID       string     `json:"event_id,omitempty"`
	Q             string     `json:"q,omitempty"` // an event id, a delivery id, a correlation id or an event type
	Since         *time.Time `json:"since,omitempty"`
	Until         *time.Time `json:"until,omitempty"`
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

// settled is every state but pending. The filter indexes hold settled rows, by
// status and then by id, so a page is read from each status' own stretch.
var settled = []delivery.Status{delivery.Delivered, delivery.Parked, delivery.Failed}

// plan is how a filter is read: one ordered read for each branch, merged.
type plan struct {
	conditions
	branches []string // each a condition; empty: one read in the order of the primary key
}

// maxProductBranches is up to how many products a filter without a better index is
// read product by product.
const maxProductBranches = 20

// plan turns a filter into conditions and branches. ok is false where nothing can match.
func (f Filter) plan(ctx context.Context, db querier) (p plan, ok bool, err error) {
	if p.conditions, ok, err = f.conditions(ctx, db); err != nil || !ok {
		return p, ok, err
	}
	statuses := settled
	if f.Status != "" {
		status, _ := delivery.ParseStatus(f.Status)
		statuses = []delivery.Status{status}
	}
	indexed := f.TenantID != nil || f.EndpointID != nil || f.IntegrationID != nil || f.EventType != ""
	switch {
	case f.EventID != "" || f.CorrelationID != "" || f.Q != "":
		return p, true, nil // a handful of rows
	case f.StatusCode != 0 && f.Status == delivery.Pending.String():
		p.branches = []string{"d.status = 0"}
	case f.StatusCode != 0:
		p.branches = append(p.branches, "d.status <> 0")
		if f.Status == "" {
			p.branches = append(p.branches, "d.status = 0")
		}
	case indexed || f.Product != "" && f.Direction != "":
		p.branches = byStatus("", statuses)
	case f.Product != "" || f.Direction != "" || f.Status != "" && f.Status != delivery.Pending.String():
		if p.branches, err = f.byProduct(ctx, db, statuses); err != nil {
			return p, false, err
		}
	}
	if len(p.branches) > 0 && f.Status == "" && f.StatusCode == 0 {
		p.branches = append(p.branches, "d.status = 0")
	}
	return p, true, nil
}

func byStatus(prefix string, statuses []delivery.Status) []string {
	branches := make([]string, 0, len(statuses))
	for _, status := range statuses {
		branches = append(branches, prefix+"d.status = "+strconv.Itoa(int(status)))
	}
	return branches
}

// byProduct reads a filter on direction or status alone product by product: the
// index leads with the product. The hub's own events, its pings, name it as theirs.
func (f Filter) byProduct(ctx context.Context, db querier, statuses []delivery.Status) ([]string, error) {
	products := []string{f.Product}
	if f.Product == "" {
		rows, err := db.Query(ctx, `
			select name from (select name from hub.products union select 'hub') p order by name limit $1`, maxProductBranches+1)
		if err != nil {
			return nil, fmt.Errorf("reading products: %w", err)
		}
		if products, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			return nil, fmt.Errorf("reading products: %w", err)
		}
	}
	if len(products) > maxProductBranches {
		return nil, nil
	}
	directions := []string{"not d.inbound", "d.inbound"}
	switch f.Direction {
	case "inbound":
		directions = directions[1:]
	case "outbound":
		directions = directions[:1]
	}
	var branches []string
	for _, product := range products {
		for _, direction := range directions {
			// product names match ^[a-z][a-z0-9-]+$ (a constraint of the table)
			branches = append(branches, byStatus("d.product = '"+product+"' and "+direction+" and ", statuses)...)
		}
	}
	return branches, nil
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
		c.add("d.status_code = ?", f.StatusCode)
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

// ids writes the statement that finds the newest ids that match, below the cursor.
func (p plan) ids(limit int) string {
	read := func(extra string) string {
		where := p.where()
		if extra != "" {
			where += " and " + extra
		}
		return fmt.Sprintf("select d.id from hub.deliveries d where %s order by d.id desc limit %d", where, limit)
	}
	if len(p.branches) == 0 {
		return read("")
	}
	parts := make([]string, len(p.branches))
	for i, branch := range p.branches {
		parts[i] = "(" + read(branch) + ")"
	}
	return fmt.Sprintf("select id from (%s) merged order by id desc limit %d", strings.Join(parts, " union all "), limit)
}

var errNotFound = hub.Errorf(hub.ErrNotFound, "not_found", "There is no such delivery.")

func notFound(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
