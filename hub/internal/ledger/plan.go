package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

// plan is how a filter is read from each day's table.
type plan struct {
	conditions
	targets string // the targets the filter can mean, as an argument; "": not known
	reads   []read
}

// read is a part of a day's rows: those of a driver, a condition that an index
// serves in the order of ids. The reads of a plan have no row in common and leave
// none out.
type read struct {
	driver string // "true": every row, by the primary key
	sieve  bool   // further conditions may leave few of the driver's rows
	each   string // read by target and by these statuses: an index gives the rows of each pair in order
}

// maxTargets is how many targets of a tenant or product are read one by one. Who
// has more of them has rows everywhere in the log, and reading it in order finds a
// page soon.
const maxTargets = 100

// plan turns a filter into reads of the rows after and before the given ones, where
// there are any. ok is false where nothing can match.
func (f Filter) plan(ctx context.Context, db querier, after, before *uuid.UUID) (p plan, ok bool, err error) {
	if p.conditions, ok, err = f.conditions(ctx, db); err != nil || !ok {
		return p, ok, err
	}
	if after != nil {
		p.addRange("d.id > ?", *after)
		p.from(*after)
	}
	if before != nil {
		p.addRange("d.id < ?", *before)
		p.upto(*before)
	}
	if p.reads = p.named(f); p.reads != nil {
		return p, true, nil
	}
	targets, err := f.targets(ctx, db)
	if err != nil || targets != nil && len(targets) == 0 {
		return p, false, err
	}
	if targets != nil {
		p.targets = p.numbered("?::uuid[]", targets)
	}
	p.reads = f.reads(&p)
	return p, true, nil
}

// named gives the reads of a filter that names an event, a delivery or a story; nil
// where it does not.
func (p *plan) named(f Filter) []read {
	switch {
	case f.EventID == "" && f.Q == "" && f.CorrelationID == "":
		return nil
	case p.first != uuid.Nil && logid.Seq(p.first) == logid.Seq(p.last):
		return []read{{driver: "true"}} // bounded to one event
	case p.events != nil:
		reads := make([]read, len(p.events))
		for i, event := range p.events {
			reads[i] = read{driver: event}
		}
		return reads
	}
	further := len(p.parts) - len(p.ranges) - 1
	return []read{{driver: p.story, sieve: further > 0}}
}

// reads chooses what drives the reading: the field whose values single out the
// fewest rows by an index.
func (f Filter) reads(p *plan) []read {
	status, one := delivery.ParseStatus(f.Status)
	statuses := []delivery.Status{delivery.Delivered, delivery.Parked, delivery.Failed, delivery.Pending}
	if one {
		statuses = []delivery.Status{status}
	}
	few := one && status != delivery.Delivered
	coded := f.StatusCode != 0 && f.StatusCode != 200 // most rows have 200
	inbound := f.Direction == "inbound"
	whose := f.Product != "" || f.TenantID != nil || f.EndpointID != nil || f.IntegrationID != nil
	switch {
	case p.targets != "" && f.EventType == "" && !coded && !inbound:
		return readEach(statuses)
	case few && (p.targets == "" || inbound || coded) && f.EventType == "":
		return []read{{driver: is(status), sieve: whose || inbound || f.StatusCode != 0}}
	case coded:
		return []read{{driver: "d.status_code = " + strconv.Itoa(f.StatusCode), sieve: one || inbound || whose || f.EventType != ""}}
	case f.EventType != "":
		return readType(p.kind, statuses, inbound || whose || f.StatusCode != 0)
	case inbound:
		return []read{{driver: "d.inbound", sieve: one || whose || f.StatusCode != 0}}
	}
	return []read{{driver: "true", sieve: whose}}
}

func is(status delivery.Status) string { return "d.status = " + strconv.Itoa(int(status)) }

// readEach reads each target's settled rows along its own index, which holds them
// by status and then by id, and what is pending by the index of that.
func readEach(statuses []delivery.Status) []read {
	var settled []string
	var reads []read
	for _, status := range statuses {
		if status == delivery.Pending {
			reads = append(reads, read{driver: is(status), sieve: true})
			continue
		}
		settled = append(settled, strconv.Itoa(int(status)))
	}
	if settled != nil {
		reads = append(reads, read{driver: "d.status <> 0", each: strings.Join(settled, ",")})
	}
	return reads
}

// readType reads the settled rows of a type, which its index holds by status and
// then by id, and what is pending.
func readType(kind string, statuses []delivery.Status, sieve bool) []read {
	reads := make([]read, len(statuses))
	for i, status := range statuses {
		reads[i] = read{driver: kind + " and " + is(status), sieve: sieve}
		if status == delivery.Pending {
			reads[i] = read{driver: is(status), sieve: true}
		}
	}
	return reads
}

// targets finds the endpoints a filter can mean, deleted ones included; nil where
// they are too many to be read one by one.
func (f Filter) targets(ctx context.Context, db querier) ([]uuid.UUID, error) {
	switch {
	case f.EndpointID != nil:
		return []uuid.UUID{*f.EndpointID}, nil
	case f.IntegrationID != nil:
		return []uuid.UUID{*f.IntegrationID}, nil
	case f.TenantID == nil && (f.Product == "" || f.Product == hubProduct):
		return nil, nil // everybody's; pings go to every endpoint
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
