package product

import (
	"context"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger/query"
)

// webhookLogsInput filters the log of the caller's tenant and environment.
type webhookLogsInput struct {
	httpx.PageQuery
	Direction     string    `query:"direction" enum:"inbound,outbound" doc:"Only this direction"`
	Product       string    `query:"product" maxLength:"40" doc:"Only events of this product"`
	IntegrationID uuid.UUID `query:"integration_id" format:"uuid" doc:"Only deliveries of this integration"`
	EndpointID    uuid.UUID `query:"endpoint_id" format:"uuid" doc:"Only deliveries to this endpoint"`
	EventType     string    `query:"event_type" maxLength:"128" doc:"Only this event type, in full"`
	Status        string    `query:"status" enum:"pending,delivered,parked,failed" doc:"Only deliveries that stand there now"`
	StatusCode    int       `query:"status_code" minimum:"0" maximum:"999" doc:"Only deliveries whose last attempt was answered with this HTTP status"`
	CorrelationID string    `query:"correlation_id" maxLength:"200" doc:"Only events with this correlation id"`
	EventID       string    `query:"event_id" maxLength:"64" example:"evt_0123456789abcdef" doc:"Only deliveries of this event"`
	Q             string    `query:"q" maxLength:"200" doc:"An event id, a delivery id or a correlation id: whichever was copied"`
	Since         time.Time `query:"since" doc:"Accepted at this time or later"`
	Until         time.Time `query:"until" doc:"Accepted before this time"`
}

func (p *Product) listWebhookLogs(ctx context.Context, in *webhookLogsInput) (*struct{ Body httpx.Page[query.Item] }, error) {
	caller := requestInfoFrom(ctx).caller
	filter := query.Filter{
		TenantID: &caller.TenantID, Environment: string(caller.Environment), Direction: in.Direction, Product: in.Product,
		IntegrationID: nullableID(in.IntegrationID), EndpointID: nullableID(in.EndpointID), EventType: in.EventType, Status: in.Status,
		StatusCode: in.StatusCode, CorrelationID: in.CorrelationID, EventID: in.EventID, Search: in.Q, Since: nullableTime(in.Since), Until: nullableTime(in.Until),
	}
	if err := filter.Check("query"); err != nil {
		return nil, err
	}
	before, err := cursorID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	items, err := p.deps.Ledger.List(ctx, filter, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(items, in.Limit, func(last query.Item) []byte { return last.ID[:] })
	return &struct{ Body httpx.Page[query.Item] }{page}, nil
}

// cursorID returns the id that a page of a list sorted by id follows; nil on the first
// page.
func cursorID(page httpx.PageQuery) (*uuid.UUID, error) {
	after, err := httpx.DecodeCursor(page.Cursor)
	if err != nil || after == nil {
		return nil, err
	}
	id, err := uuid.FromBytes(after)
	if err != nil {
		return nil, httpx.InvalidCursor()
	}
	return &id, nil
}

func nullableID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
