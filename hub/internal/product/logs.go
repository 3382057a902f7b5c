package product

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger/query"
)

// webhookLogsInput filters the log; whose it is and its environment are the caller's.
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

func (p *Product) logRoutes() {
	register(p.api, operation(http.MethodGet, "/webhook-logs", 200, "webhook-logs.list", "Search the log of webhooks, both directions", administrators), p.webhookLogs)
}

func (p *Product) webhookLogs(ctx context.Context, in *webhookLogsInput) (*struct{ Body httpx.Page[query.Item] }, error) {
	who := aboutOf(ctx).caller
	filter := query.Filter{
		TenantID: &who.TenantID, Environment: string(who.Environment), Direction: in.Direction, Product: in.Product,
		IntegrationID: givenID(in.IntegrationID), EndpointID: givenID(in.EndpointID), EventType: in.EventType, Status: in.Status,
		StatusCode: in.StatusCode, CorrelationID: in.CorrelationID, EventID: in.EventID, Q: in.Q, Since: givenTime(in.Since), Until: givenTime(in.Until),
	}
	if err := filter.Check("query"); err != nil {
		return nil, err
	}
	before, err := idBefore(in.PageQuery)
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

// idBefore is the id that a page goes on after, where lists are sorted by id; nil on
// the first page.
func idBefore(query httpx.PageQuery) (*uuid.UUID, error) {
	after, err := httpx.DecodeCursor(query.Cursor)
	if err != nil || after == nil {
		return nil, err
	}
	id, err := uuid.FromBytes(after)
	if err != nil {
		return nil, httpx.InvalidCursor()
	}
	return &id, nil
}

func givenID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
