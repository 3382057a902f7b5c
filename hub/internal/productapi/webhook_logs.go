package productapi

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/lookup"
	"integrationhub/hub/internal/subject"
	"integrationhub/hub/module"
	"integrationhub/hub/module/pointer"
)

// WebhookLogsQuery filters the log of the caller's tenant and environment. It is exported
// because huma skips embedded structs that are not.
type WebhookLogsQuery struct {
	httpx.PageQuery
	Phone         string    `query:"phone" maxLength:"40" example:"+5511987654321" doc:"Only events about this phone number, as people write it; without a country code it is Brazilian and needs its area code"`
	Direction     string    `query:"direction" enum:"inbound,outbound" doc:"Only this direction"`
	Product       string    `query:"product" maxLength:"40" doc:"Only events of this product"`
	IntegrationID uuid.UUID `query:"integration_id" format:"uuid" doc:"Only deliveries of this integration"`
	EndpointID    uuid.UUID `query:"endpoint_id" format:"uuid" doc:"Only deliveries to this endpoint"`
	EventType     string    `query:"event_type" maxLength:"128" doc:"Only this event type, in full"`
	Status        string    `query:"status" enum:"pending,delivered,parked,failed" doc:"Only deliveries that stand there now"`
	StatusCode    int       `query:"status_code" minimum:"0" maximum:"999" doc:"Only deliveries whose last attempt got a response with this HTTP status"`
	CorrelationID string    `query:"correlation_id" maxLength:"200" doc:"Only events with this correlation id"`
	EventID       string    `query:"event_id" maxLength:"64" example:"evt_0123456789abcdef" doc:"Only deliveries of this event"`
	Q             string    `query:"q" maxLength:"200" doc:"An event id, a delivery id or a correlation id: whichever was copied"`
	Since         time.Time `query:"since" doc:"Accepted at this time or later"`
	Until         time.Time `query:"until" doc:"Accepted before this time"`
}

type webhookLogsOutput struct{ Body httpx.Page[query.Item] }

// Inputs of products that know persons by id.
type (
	patientLogsInput struct {
		WebhookLogsQuery
		PatientID uuid.UUID `query:"patient_id" format:"uuid" doc:"Only events about this patient: their id, their phone numbers, and the newest of their appointments and tickets"`
	}
	clientLogsInput struct {
		WebhookLogsQuery
		ClientID uuid.UUID `query:"client_id" format:"uuid" doc:"Only events about this client: their id, their phone numbers, and the newest of their appointments"`
	}
)

// registerWebhookLogs serves the list of the log. Which person may be asked for depends on
// the product.
func (p *Product) registerWebhookLogs(op huma.Operation) {
	finder, ok := p.instance.(module.PersonFinder)
	switch {
	case ok && finder.PersonIDMember() == "patient_id":
		register(p.api, op, func(ctx context.Context, in *patientLogsInput) (*webhookLogsOutput, error) {
			return p.listWebhookLogs(ctx, in.WebhookLogsQuery, in.PatientID)
		})
	case ok && finder.PersonIDMember() == "client_id":
		register(p.api, op, func(ctx context.Context, in *clientLogsInput) (*webhookLogsOutput, error) {
			return p.listWebhookLogs(ctx, in.WebhookLogsQuery, in.ClientID)
		})
	default:
		register(p.api, op, func(ctx context.Context, in *WebhookLogsQuery) (*webhookLogsOutput, error) {
			return p.listWebhookLogs(ctx, *in, uuid.Nil)
		})
	}
}

func (p *Product) listWebhookLogs(ctx context.Context, in WebhookLogsQuery, personID uuid.UUID) (*webhookLogsOutput, error) {
	caller := requestInfoFrom(ctx).caller
	filter := query.Filter{
		TenantID: &caller.TenantID, Environment: string(caller.Environment), Direction: in.Direction, Product: in.Product,
		IntegrationID: pointer.NilIfZero(in.IntegrationID), EndpointID: pointer.NilIfZero(in.EndpointID), EventType: in.EventType, Status: in.Status,
		StatusCode: in.StatusCode, CorrelationID: in.CorrelationID, EventID: in.EventID, Search: in.Q, Since: pointer.NilIfZero(in.Since), Until: pointer.NilIfZero(in.Until),
	}
	if err := filter.Check("query"); err != nil {
		return nil, err
	}
	before, err := cursorID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	var items []query.Item
	if in.Phone == "" && personID == uuid.Nil {
		items, err = p.deps.Ledger.List(ctx, filter, before, in.Limit+1)
	} else {
		items, err = p.searchWebhookLogs(ctx, filter, in.Phone, personID, before, in.Limit+1)
	}
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(items, in.Limit, func(last query.Item) []byte { return last.ID[:] })
	return &webhookLogsOutput{page}, nil
}

// searchWebhookLogs lists deliveries about a phone number or a person; an empty phone and
// uuid.Nil mean none. With both, the person must have the number.
func (p *Product) searchWebhookLogs(ctx context.Context, filter query.Filter, phone string, personID uuid.UUID, before *uuid.UUID, limit int) ([]query.Item, error) {
	caller := requestInfoFrom(ctx).caller
	scope := subject.Scope{TenantID: caller.TenantID, Environment: caller.Environment}
	var terms []int64
	if phone != "" {
		parsed, err := lookup.Parse(phone)
		if err != nil {
			return nil, err
		}
		if term, ok := scope.Phone(parsed.Forms[0]); ok {
			terms = append(terms, term)
		}
	}
	if personID != uuid.Nil {
		known, err := p.personTerms(ctx, scope, personID)
		if errors.Is(err, hub.ErrNotFound) {
			return nil, nil // like every filter that nothing matches
		}
		if err != nil {
			return nil, err
		}
		module.SetSubject(ctx, personID.String())
		if phone == "" {
			terms = known
		} else if len(terms) == 0 || !slices.Contains(known, terms[0]) {
			return nil, nil
		}
	}
	return p.deps.Ledger.ListBySubject(ctx, filter, terms, before, limit)
}

// personTerms returns the terms of the events about a person of the caller's tenant.
func (p *Product) personTerms(ctx context.Context, scope subject.Scope, personID uuid.UUID) ([]int64, error) {
	finder := p.instance.(module.PersonFinder) //nolint:forcetypeassert // only its products have the parameter
	person, err := finder.FindPerson(ctx, scope.TenantID, scope.Environment, personID)
	if err != nil {
		return nil, err
	}
	terms := []int64{scope.ID(finder.PersonIDMember(), personID.String())}
	for _, id := range person.IDs {
		terms = append(terms, scope.ID(finder.PersonIDMember(), id))
	}
	for _, phone := range person.Phones {
		if term, ok := scope.Phone(phone); ok {
			terms = append(terms, term)
		}
	}
	for _, id := range person.AppointmentIDs {
		terms = append(terms, scope.ID("appointment_id", id))
	}
	for _, id := range person.TicketIDs {
		terms = append(terms, scope.ID("ticket_id", id))
	}
	return terms, nil
}

func (p *Product) getWebhookLog(ctx context.Context, in *idPath) (*struct{ Body query.Detail }, error) {
	detail, err := p.findWebhookLog(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body query.Detail }{detail}, nil
}

// findWebhookLog returns a delivery of the caller's tenant and environment.
func (p *Product) findWebhookLog(ctx context.Context, id uuid.UUID) (query.Detail, error) {
	return p.deps.Ledger.Get(ctx, id, ownerOf(ctx))
}

// ownerOf returns the caller's tenant and environment.
func ownerOf(ctx context.Context) query.Owner {
	caller := requestInfoFrom(ctx).caller
	return query.Owner{TenantID: &caller.TenantID, Environment: string(caller.Environment)}
}

// RetriedWebhook is a delivery that is pending again.
type RetriedWebhook struct {
	ID     uuid.UUID `json:"id" format:"uuid" doc:"Of the delivery"`
	Status string    `json:"status" enum:"pending" doc:"It is sent at once"`
}

func (p *Product) retryWebhook(ctx context.Context, in *idPath) (*struct{ Body RetriedWebhook }, error) {
	target, _, err := p.deps.Requeuer.Requeue(ctx, in.ID, ownerOf(ctx))
	if err != nil {
		return nil, err
	}
	p.deps.Wake(target)
	return &struct{ Body RetriedWebhook }{RetriedWebhook{in.ID, delivery.Pending.String()}}, nil
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
