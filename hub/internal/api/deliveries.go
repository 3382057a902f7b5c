package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger/query"
)

// DeliveryQuery holds the query parameters that select deliveries. filter checks the
// values, because the live tail reads them without huma. It is exported because huma
// skips embedded structs that are not.
type DeliveryQuery struct {
	Direction     string `query:"direction" enum:"inbound,outbound" doc:"Only this direction"`
	Product       string `query:"product" maxLength:"40" doc:"Only events of this product"`
	TenantID      string `query:"tenant_id" format:"uuid" doc:"Only events of this tenant"`
	Environment   string `query:"environment" enum:"live,test" doc:"Only this environment"`
	IntegrationID string `query:"integration_id" format:"uuid" doc:"Only deliveries of this integration"`
	EndpointID    string `query:"endpoint_id" format:"uuid" doc:"Only deliveries to this endpoint"`
	EventType     string `query:"event_type" maxLength:"128" doc:"Only this event type, in full"`
	Status        string `query:"status" enum:"pending,delivered,parked,failed,failing" doc:"Only deliveries that stand there now; failing: pending after failed attempts, parked or failed"`
	StatusCode    int    `query:"status_code" minimum:"100" maximum:"999" doc:"Only deliveries whose last attempt got a response with this HTTP status"`
	CorrelationID string `query:"correlation_id" maxLength:"200" doc:"Only events with this correlation id"`
	EventID       string `query:"event_id" maxLength:"64" doc:"Only deliveries of this event" example:"evt_0123456789abcdef"`
	Q             string `query:"q" maxLength:"200" doc:"An event id, a delivery id or a correlation id: whichever was copied"`
	Since         string `query:"since" format:"date-time" doc:"Of events accepted at this time or later"`
	Until         string `query:"until" format:"date-time" doc:"Of events accepted before this time"`
}

// filter checks the query and turns it into the log's filter.
func (q DeliveryQuery) filter() (query.Filter, error) {
	f := query.Filter{
		Direction: q.Direction, Product: q.Product, Environment: q.Environment, EventType: q.EventType, Status: q.Status,
		StatusCode: q.StatusCode, CorrelationID: q.CorrelationID, EventID: q.EventID, Search: q.Q,
	}
	var err error
	if f.TenantID, err = queryID("tenant_id", q.TenantID); err != nil {
		return f, err
	}
	if f.IntegrationID, err = queryID("integration_id", q.IntegrationID); err != nil {
		return f, err
	}
	if f.EndpointID, err = queryID("endpoint_id", q.EndpointID); err != nil {
		return f, err
	}
	if f.Since, err = queryTime("since", q.Since); err != nil {
		return f, err
	}
	if f.Until, err = queryTime("until", q.Until); err != nil {
		return f, err
	}
	return f, f.Check("query")
}

// narrowFilter limits a filter to what the caller may read.
func (c caller) narrowFilter(f query.Filter) (query.Filter, error) {
	access, err := c.narrow(f.TenantID, hub.Environment(f.Environment))
	f.TenantID, f.Environment = access.TenantID, string(access.Environment)
	return f, err
}

func queryID(name, value string) (*uuid.UUID, error) {
	if value == "" {
		return nil, nil
	}
	id, err := uuid.Parse(value)
	if err != nil {
		return nil, hub.Invalid("query."+name, "must be a UUID")
	}
	return &id, nil
}

func queryTime(name, value string) (*time.Time, error) {
	if value == "" {
		return nil, nil
	}
	parsed, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return nil, hub.Invalid("query."+name, "must be a time such as 2026-01-02T03:04:05Z")
	}
	return &parsed, nil
}

type listDeliveriesInput struct {
	httpx.PageQuery
	DeliveryQuery
}

func (a *API) listDeliveries(ctx context.Context, in *listDeliveriesInput) (*struct{ Body httpx.Page[query.Item] }, error) {
	filter, err := in.filter()
	if err == nil {
		filter, err = requestInfoOf(ctx).narrowFilter(filter)
	}
	if err != nil {
		return nil, err
	}
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	items, err := a.deps.Ledger.List(ctx, filter, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(items, in.Limit, func(last query.Item) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[query.Item] }{page}, nil
}

func (a *API) getDelivery(ctx context.Context, in *idPath) (*struct{ Body query.Detail }, error) {
	detail, err := a.deps.Ledger.Get(ctx, in.ID, requestInfoOf(ctx).owner())
	if err != nil {
		return nil, err
	}
	return &struct{ Body query.Detail }{detail}, nil
}

// Retried is a delivery that is pending again.
type Retried struct {
	ID     uuid.UUID `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Status string    `json:"status" enum:"pending" doc:"Always pending: it waits for its next attempt"`
}

// Discarded is a delivery that failed because an administrator discarded it.
type Discarded struct {
	ID     uuid.UUID `json:"id" format:"uuid" doc:"UUID that names it in paths"`
	Status string    `json:"status" enum:"failed" doc:"Always failed"`
	Reason string    `json:"reason" enum:"discarded" doc:"Always discarded"`
}

func (a *API) discardDelivery(ctx context.Context, in *idPath) (*struct{ Body Discarded }, error) {
	tenant, err := a.deps.Discarder.Discard(ctx, in.ID)
	setAuditResource(ctx, in.ID, tenant)
	if err != nil {
		return nil, err
	}
	return &struct{ Body Discarded }{Discarded{in.ID, delivery.Failed.String(), delivery.ReasonDiscarded}}, nil
}

func (a *API) retryDelivery(ctx context.Context, in *idPath) (*struct{ Body Retried }, error) {
	target, tenant, err := a.deps.Requeuer.Requeue(ctx, in.ID, requestInfoOf(ctx).owner())
	setAuditResource(ctx, in.ID, tenant)
	if err != nil {
		return nil, err
	}
	a.deps.Wake(target)
	return &struct{ Body Retried }{Retried{in.ID, delivery.Pending.String()}}, nil
}
