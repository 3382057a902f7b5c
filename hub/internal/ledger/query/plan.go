package query

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

// plan is how a filter is read from each day's table.
type plan struct {
	filterConditions
	subjects           string // the terms of a search by subject, as the last argument; "": another search
	targets            string // the targets the filter can mean, as the last argument; "": not known
	targetsImplyTenant bool   // tenant and environment are true of every row of these targets
	reads              []read
	smallDayReads      []read // the same in fewer reads, for small days; nil: reads
	triesNewest        bool   // look among the newest rows first: the reads cost more than that
	hasManyTargets     bool   // the targets are many: look at the newest row of each first
}

// read is a part of a day's rows: those of a driver, a condition that an index
// serves in the order of ids. The reads of a plan have no row in common and leave
// none out.
type read struct {
	driver      string // "true": every row, by the primary key
	isSieved    bool   // further conditions may leave few of the driver's rows
	perStatuses string // read by these statuses, and by target where they are known: an index has the rows of each pair in order
	status      string // the statuses of a sieved read, "1,2"; "": any
}

// plan turns a filter into reads of the rows after and before the given ones, where
// there are any. ok is false where nothing can match.
func (f Filter) plan(ctx context.Context, db DB, e readLimits, after, before *uuid.UUID) (p plan, ok bool, err error) {
	if p.filterConditions, ok, err = f.conditions(ctx, db); err != nil || !ok {
		return p, ok, err
	}
	if after != nil {
		p.addRange("d.id > ?", *after)
		p.raiseFirst(*after)
	}
	if before != nil {
		p.addRange("d.id < ?", *before)
		p.lowerLast(*before)
	}
	if p.isEmptyRange() { // such as an event and a time that it was not accepted at: nothing to read by
		return p, false, nil
	}
	if p.reads = p.readsByID(f); p.reads != nil {
		return p, true, nil
	}
	targets, err := f.targets(ctx, db, e)
	if err != nil || targets != nil && len(targets) == 0 {
		return p, false, err
	}
	p.hasManyTargets = len(targets) > e.fewTargets
	if targets != nil {
		p.targets = p.numbered("?::uuid[]", targets)
		if f.EndpointID == nil && f.IntegrationID == nil {
			p.targetsImplyTenant = true
		}
	}
	p.reads = f.reads(&p)
	return p, true, nil
}

// readsByID returns the reads of a filter that names an event, a delivery or a correlation id; nil
// where it does not.
func (p *plan) readsByID(f Filter) []read {
	switch {
	case f.EventID == "" && f.Search == "" && f.CorrelationID == "":
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
	if len(p.parts)-len(p.ranges) == 1 {
		return []read{{driver: p.correlation}}
	}
	return splitByPending(p.correlation, f.statuses())
}

// statuses lists those a filter can mean.
func (f Filter) statuses() []delivery.Status {
	if status, ok := delivery.ParseStatus(f.Status); ok {
		return []delivery.Status{status}
	}
	if f.Status == Failing {
		return []delivery.Status{delivery.Parked, delivery.Failed, delivery.Pending}
	}
	return []delivery.Status{delivery.Delivered, delivery.Parked, delivery.Failed, delivery.Pending}
}

// filterShape is which kinds of fields a filter has, as far as they decide how it is read.
type filterShape struct {
	hasOwner      bool // whose deliveries: product, tenant, environment, endpoint, integration
	hasType       bool // an event type
	hasRareCode   bool // a status code that few rows have; most have 200
	isInbound     bool // few rows are
	hasRareStatus bool // a status that few rows have
	hasOneField   bool // one field at all
}

func (f Filter) shape(statuses []delivery.Status) filterShape {
	s := filterShape{
		hasOwner:      f.Product != "" || f.TenantID != nil || f.Environment != "" || f.EndpointID != nil || f.IntegrationID != nil,
		hasType:       f.EventType != "",
		hasRareCode:   f.StatusCode != 0 && f.StatusCode != 200,
		isInbound:     f.Direction == "inbound",
		hasRareStatus: !slices.Contains(statuses, delivery.Delivered),
	}
	fields := 0
	for _, given := range []bool{s.hasOwner, s.hasType, s.isInbound, f.StatusCode != 0, f.Status != ""} {
		if given {
			fields++
		}
	}
	s.hasOneField = fields == 1
	return s
}

// reads chooses what drives the reading: the field whose values single out the
// fewest rows by an index.
func (f Filter) reads(p *plan) []read {
	statuses := f.statuses()
	shape := f.shape(statuses)
	if f.Product == hub.ProductHub && p.targets == "" {
		return []read{{driver: hubProductCondition}} // whatever else is asked: they are few
	}
	p.triesNewest = shape.hasOwner || shape.hasType || shape.isInbound || shape.hasRareCode
	switch {
	case p.targets != "" && !shape.hasType && !shape.hasRareCode && !shape.isInbound:
		return readPerTarget(statuses)
	case shape.hasRareStatus && !shape.hasType && (p.targets == "" || shape.isInbound || shape.hasRareCode):
		return shape.readsByStatus(statuses)
	case shape.hasRareCode:
		return shape.readsBy(p.statusCode, statuses)
	case shape.isInbound:
		return shape.readsBy("d.inbound", statuses)
	case shape.hasType && !shape.hasOwner && f.StatusCode == 0:
		return readPerTarget(statuses)
	case shape.hasType:
		p.smallDayReads = splitByPending(p.eventType, statuses)
		return readType(p.eventType, statuses)
	case shape.hasOwner:
		return splitByPending("true", statuses)
	}
	return []read{{driver: "true"}}
}

// readsBy reads by the filter's only field, in the order of its index; with others
// beside it, settled and pending rows are read apart.
func (s filterShape) readsBy(driver string, statuses []delivery.Status) []read {
	if s.hasOneField {
		return []read{{driver: driver}}
	}
	return splitByPending(driver, statuses)
}

// readsByStatus reads the rows of each status by its own index.
func (s filterShape) readsByStatus(statuses []delivery.Status) []read {
	if len(statuses) == 1 {
		return s.readsBy(statusCondition(statuses[0]), statuses)
	}
	var reads []read
	for _, status := range statuses {
		driver := statusCondition(status)
		if status == delivery.Pending { // most may wait for their first attempt
			reads = append(reads, splitByPending(driver, []delivery.Status{status})...)
			continue
		}
		reads = append(reads, s.readsBy(driver, []delivery.Status{status})...)
	}
	return reads
}

func statusCondition(status delivery.Status) string { return "d.status = " + strconv.Itoa(int(status)) }

// splitByPending reads settled rows and pending ones apart: other indexes hold them.
func splitByPending(driver string, statuses []delivery.Status) []read {
	var reads []read
	settled, pending := splitStatuses(statuses)
	if settled != "" {
		reads = append(reads, read{driver: driver + " and d.status <> 0", isSieved: true, status: settled})
	}
	if pending {
		reads = append(reads, read{driver: statusCondition(delivery.Pending), isSieved: true})
	}
	return reads
}

func splitStatuses(statuses []delivery.Status) (splitStatuses string, pending bool) {
	var list []string
	for _, status := range statuses {
		if status == delivery.Pending {
			pending = true
			continue
		}
		list = append(list, strconv.Itoa(int(status)))
	}
	return strings.Join(list, ","), pending
}

// readPerTarget reads the settled rows of each target, or of a type, along their own
// index, which holds them by status and then by id, and what is pending by the
// index of that.
func readPerTarget(statuses []delivery.Status) []read {
	settled, pending := splitStatuses(statuses)
	var reads []read
	if settled != "" {
		reads = append(reads, read{perStatuses: settled})
	}
	if pending {
		reads = append(reads, read{driver: statusCondition(delivery.Pending), isSieved: true})
	}
	return reads
}

// readType reads the rows of a type that meet further conditions, status by status.
func readType(eventType string, statuses []delivery.Status) []read {
	reads := make([]read, len(statuses))
	for i, status := range statuses {
		reads[i] = read{driver: eventType + " and " + statusCondition(status), isSieved: true, status: strconv.Itoa(int(status))}
		if status == delivery.Pending {
			reads[i] = read{driver: statusCondition(status), isSieved: true}
		}
	}
	return reads
}

// targets finds the endpoints and integrations a filter can mean, deleted ones
// included; nil where they are too many to be read one by one.
func (f Filter) targets(ctx context.Context, db DB, e readLimits) ([]uuid.UUID, error) {
	target := f.EndpointID
	if target == nil {
		target = f.IntegrationID
	}
	switch {
	case f.TenantID == nil && f.Product == hub.ProductHub:
		return nil, nil // pings go to every endpoint
	case f.TenantID == nil && target != nil:
		return []uuid.UUID{*target}, nil
	case f.TenantID == nil && f.Product == "" && f.Environment == "":
		return nil, nil // those of all tenants
	}
	targets, err := readIDs(ctx, db, "reading endpoints and integrations", `
		select e.id from hub.endpoints e left join hub.tenants t on t.id = e.tenant_id
		where ($1::uuid is null or e.tenant_id = $1) and ($1::uuid is not null or $2 in ('', t.product))
			and ($3 in ('', e.environment) or e.tenant_ref is null) -- an alert is about both environments
			and ($5::uuid is null or e.id = $5)
		union all -- what peers sent comes from their product
		select i.id from hub.integrations i join hub.tenants t on t.id = i.tenant_id
		where ($1::uuid is null or i.tenant_id = $1) and ($1::uuid is not null or $2 in ('', t.product, i.product)) and $3 in ('', i.environment) and ($5::uuid is null or i.id = $5)
		limit $4`, f.TenantID, f.Product, f.Environment, e.manyTargets+1, target)
	if err != nil || len(targets) > e.manyTargets {
		return nil, err
	}
	if targets == nil {
		targets = []uuid.UUID{} // read, and there are none
	}
	return targets, nil
}

// hubProductCondition is written as the condition of the index that has them.
const hubProductCondition = "d.product = '" + hub.ProductHub + "'"
