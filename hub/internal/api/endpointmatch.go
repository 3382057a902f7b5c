package api

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/filter"
	"integrationhub/hub/internal/registry"
	"integrationhub/hub/internal/strictjson"
)

// MatchedEvent is an event as it is published, or as its envelope shows it.
type MatchedEvent struct {
	Publication
	Product   *string    `json:"product,omitempty" maxLength:"40" nullable:"true" doc:"As in an envelope; absent: that of the endpoint's tenant" example:"crm"`
	Timestamp *time.Time `json:"timestamp,omitempty" nullable:"true" doc:"As in an envelope; absent: now"`
}

type matchEndpointInput struct {
	ID   uuid.UUID `path:"id" format:"uuid" doc:"Id of the endpoint"`
	Body struct {
		Event MatchedEvent `json:"event" doc:"The event as it is published, or its envelope as receivers get it"`
	} `nameHint:"EndpointMatchRequest"`
}

type matchEndpointOutput struct {
	Body struct {
		Matches bool   `json:"matches" doc:"Whether publishing the event makes a delivery to this endpoint, now"`
		Reason  string `json:"reason" doc:"Why, or why not" example:"The filter is not true for this event."`
	} `nameHint:"EndpointMatch"`
}

// exampleEventID stands for the id of an event that has none yet.
const exampleEventID = "evt_0000000000000000"

func (a *API) matchEndpoint(ctx context.Context, in *matchEndpointInput) (*matchEndpointOutput, error) {
	endpoint, err := a.deps.Endpoints.Get(ctx, requestInfoOf(ctx).accessFilter(), in.ID)
	if err != nil {
		return nil, err
	}
	setAuditResource(ctx, endpoint.ID, endpoint.TenantID)
	requestInfoOf(ctx).unchanged = true
	event, err := a.eventToMatch(ctx, endpoint, in.Body.Event)
	if err != nil {
		return nil, err
	}
	out := &matchEndpointOutput{}
	out.Body.Matches, out.Body.Reason, err = matchEvent(ctx, endpoint, event)
	return out, err
}

// eventToMatch returns the event of a request with what is absent as publishing would set it.
func (a *API) eventToMatch(ctx context.Context, endpoint registry.Endpoint, in MatchedEvent) (hub.Event, error) {
	event := hub.Event{ID: exampleEventID, Type: in.EventType, Time: a.deps.Now(), Data: in.Data}
	if err := strictjson.VisitMembers(in.Data, strictjson.Rules{UniqueKeys: true}, func(_, _ []byte) error { return nil }); err != nil {
		return hub.Event{}, hub.Invalid("body.event.data", "must be a JSON object")
	}
	if in.ID != nil {
		bits, _ := hub.ParseEventID(*in.ID) // its form is checked
		event.ID = hub.FormatEventID(bits)
	}
	if in.CorrelationID != nil {
		event.CorrelationID = *in.CorrelationID
	}
	if in.Timestamp != nil {
		event.Time = *in.Timestamp
	}
	if in.Product != nil {
		event.Product = *in.Product
		return event, nil
	}
	tenant, err := a.deps.Registry.Tenant(ctx, endpoint.TenantID)
	event.Product = tenant.Product
	return event, err
}

// matchEvent reports whether an endpoint gets an event, and why.
func matchEvent(ctx context.Context, endpoint registry.Endpoint, event hub.Event) (matches bool, reason string, err error) {
	if endpoint.AbandonedAt != nil {
		return false, "The endpoint was abandoned because it had been disabled for 15 days: no event makes a delivery until it is enabled.", nil
	}
	if !hub.MatchesEventType(endpoint.EventTypes, event.Type) {
		return false, fmt.Sprintf("The endpoint does not subscribe to %s.", event.Type), nil
	}
	if endpoint.Filter == nil {
		return true, "The endpoint subscribes to the type and has no filter.", nil
	}
	result, err := filter.New(*endpoint.Filter).Evaluate(ctx, filter.NewEvent(event))
	switch {
	case err != nil:
		return false, "", err
	case result.Err != nil:
		return false, fmt.Sprintf("The filter cannot be evaluated for this event: %s.", result.Err), nil
	case result.Matches:
		return true, "The filter is true for this event.", nil
	}
	return false, "The filter is not true for this event.", nil
}
