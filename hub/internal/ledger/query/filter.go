package query

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/logid"
)

// Filter selects deliveries of the log; empty fields select all.
type Filter struct {
	Direction     string     `json:"direction,omitempty" enum:"inbound,outbound" doc:"Only sent (outbound) or only received (inbound) ones"`
	Product       string     `json:"product,omitempty" maxLength:"40" doc:"Only those of this product's tenants"`
	TenantID      *uuid.UUID `json:"tenant_id,omitempty" format:"uuid" doc:"Only those of this tenant"`
	Environment   string     `json:"environment,omitempty" enum:"live,test" doc:"Only those of live or of test data"`
	IntegrationID *uuid.UUID `json:"integration_id,omitempty" format:"uuid" doc:"Only those of this connection"`
	EndpointID    *uuid.UUID `json:"endpoint_id,omitempty" format:"uuid" doc:"Only those to this endpoint"`
	EventType     string     `json:"event_type,omitempty" maxLength:"128" doc:"In full"`
	Status        string     `json:"status,omitempty" enum:"pending,delivered,parked,failed,failing" doc:"failing: pending after failed attempts, parked or failed"`
	StatusCode    int        `json:"status_code,omitempty" minimum:"100" maximum:"999" doc:"HTTP status of the last attempt"`
	CorrelationID string     `json:"correlation_id,omitempty" maxLength:"200" doc:"Only those of this matter"`
	EventID       string     `json:"event_id,omitempty" pattern:"^evt_[0-9a-fA-F]{16}$" doc:"Only those of this event" example:"evt_0123456789abcdef"`
	Search        string     `json:"q,omitempty" maxLength:"200" doc:"An event id, a delivery id or a correlation id"`
	Since         *time.Time `json:"since,omitempty" doc:"Accepted at this time or later"`
	Until         *time.Time `json:"until,omitempty" doc:"Accepted before this time"`
}

// Failing is a status to filter by that covers several: pending after failed attempts,
// parked and failed.
const Failing = "failing"

// failingCondition is true of deliveries that are [Failing]. One that was delivered and is
// sent again by hand is not.
const failingCondition = "(d.status in (2, 3) or d.status = 0 and d.attempts > 0 and coalesce(d.status_code, 0) not between 200 and 299)"

// Check returns a [hub.ErrInvalid] for a value that can match nothing, and for text that
// the database cannot hold. location is the filter's place in the request, for the error.
func (f Filter) Check(location string) error {
	if f.Direction != "" && f.Direction != "inbound" && f.Direction != "outbound" {
		return hub.Invalid(location+".direction", "must be inbound or outbound")
	}
	if f.Environment != "" && f.Environment != string(hub.Live) && f.Environment != string(hub.Test) {
		return hub.Invalid(location+".environment", "must be live or test")
	}
	if _, ok := delivery.ParseStatus(f.Status); f.Status != "" && f.Status != Failing && !ok {
		return hub.Invalid(location+".status", "must be pending, delivered, parked, failed or failing")
	}
	if _, ok := hub.ParseEventID(f.EventID); f.EventID != "" && !ok {
		return hub.Invalid(location+".event_id", `must be "evt_" and 16 hexadecimal digits`)
	}
	if f.StatusCode != 0 && (f.StatusCode < 100 || f.StatusCode > 999) {
		return hub.Invalid(location+".status_code", "must be an HTTP status: 100 to 999")
	}
	for _, field := range []struct {
		name, value string
		longest     int
	}{{"product", f.Product, 40}, {"event_type", f.EventType, 128}, {"correlation_id", f.CorrelationID, 200}, {"q", f.Search, 200}} {
		if len(field.value) > field.longest {
			return hub.Invalid(location+"."+field.name, "must have at most "+strconv.Itoa(field.longest)+" characters")
		}
		if strings.ContainsRune(field.value, 0) || !utf8.ValidString(field.value) {
			return hub.Errorf(hub.ErrMalformed, "malformed", "%s.%s is not text: it has broken UTF-8 or a NUL.", location, field.name)
		}
	}
	if err := CheckTime(location+".since", f.Since); err != nil {
		return err
	}
	return CheckTime(location+".until", f.Until)
}

// CheckTime rejects times that ids cannot represent: they count from 1970.
func CheckTime(location string, t *time.Time) error {
	if t == nil {
		return nil
	}
	if year := t.UTC().Year(); year < 1970 || year > 9999 { // in another zone it may differ
		return hub.Invalid(location, "must be a time such as 2026-01-02T03:04:05Z")
	}
	return nil
}

// Conditions turns the filter into conditions on hub.deliveries d. Those of a tenant name its
// endpoints and integrations, by which there is an index. ok is false where nothing can match.
func (f Filter) Conditions(ctx context.Context, db DB) (conditions Conditions, ok bool, err error) {
	c, ok, err := f.conditions(ctx, db)
	if err != nil || !ok || f.TenantID == nil {
		return c.Conditions, ok, err
	}
	targets, err := f.targets(ctx, db, defaultLimits)
	if err != nil {
		return c.Conditions, false, err
	}
	if targets != nil {
		c.Add("d.target_id = any(?::uuid[])", targets)
	}
	return c.Conditions, targets == nil || len(targets) > 0, nil
}

// conditions is [Filter.Conditions] with what the search of the log plans by.
func (f Filter) conditions(ctx context.Context, db DB) (c filterConditions, ok bool, err error) {
	f.plainConditions(&c)
	for _, id := range []string{f.EventID, f.Search} {
		if id == "" {
			continue
		}
		bits, isEvent := hub.ParseEventID(id)
		switch {
		case isEvent:
			seqs, err := deliveredSeqs(ctx, db, int64(bits), f.TenantID)
			if err != nil || len(seqs) == 0 {
				return c, false, err
			}
			c.addEvents(seqs)
		case id == f.EventID:
			return c, false, nil
		default:
			if deliveryID, err := uuid.Parse(id); err == nil {
				if deliveryID == uuid.Nil { // no delivery has it, and it would be no bound
					return c, false, nil
				}
				c.addRange("d.id = ?", deliveryID)
				c.raiseFirst(deliveryID)
				c.lowerLast(deliveryID)
				continue
			}
			c.correlation = c.addNamed("d.correlation_id = ?", id)
		}
	}
	return c, !c.isEmptyRange(), nil
}

// plainConditions adds the fields that compare one column.
func (f Filter) plainConditions(c *filterConditions) {
	switch f.Direction {
	case "inbound":
		c.Add("d.inbound")
	case "outbound":
		c.Add("not d.inbound")
	}
	if f.Product != "" {
		c.Add("d.product = ?", f.Product)
	}
	if f.TenantID != nil {
		c.tenant = c.addNamed("d.tenant_id = ?", *f.TenantID)
	}
	switch f.Environment { // written out: so a read may leave it away
	case string(hub.Live):
		c.environment = c.addNamed("d.environment = 'live'")
	case string(hub.Test):
		c.environment = c.addNamed("d.environment = 'test'")
	}
	if f.EndpointID != nil {
		c.Add("d.target_id = ? and not d.integration", *f.EndpointID)
	}
	if f.IntegrationID != nil {
		c.Add("d.target_id = ? and d.integration", *f.IntegrationID)
	}
	if f.EventType != "" {
		c.eventType = c.addNamed("d.event_type = ?", f.EventType)
	}
	if status, ok := delivery.ParseStatus(f.Status); ok {
		c.status = c.addNamed(statusCondition(status))
	}
	if f.Status == Failing {
		c.Add(failingCondition)
	}
	if f.StatusCode != 0 {
		// Written out: only so the planner sees that the partial index serves.
		c.statusCode = c.addNamed("d.status_code = " + strconv.Itoa(f.StatusCode))
	}
	if f.CorrelationID != "" {
		c.correlation = c.addNamed("d.correlation_id = ?", f.CorrelationID)
	}
	if f.Since != nil {
		c.addRange("d.id >= ?", logid.Floor(*f.Since))
		c.raiseFirst(logid.Floor(*f.Since))
	}
	if f.Until != nil {
		c.addRange("d.id < ?", logid.Floor(*f.Until))
		c.lowerLast(logid.Floor(*f.Until))
	}
}
