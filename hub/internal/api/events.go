package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/ledger/query"
)

// Publication is a new event.
type Publication struct {
	EventType     string          `json:"event_type" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$" doc:"What happened, such as appointment.created" example:"appointment.created"`
	Data          json.RawMessage `json:"data" doc:"What happened: a JSON object, sent on byte for byte"`
	CorrelationID *string         `json:"correlation_id,omitempty" maxLength:"200" nullable:"true" doc:"Ties events of one story together; part of the envelope. At most 200 bytes of UTF-8, which are fewer characters where not all are ASCII; null or absent: none"`
	OrderingKey   *string         `json:"ordering_key,omitempty" minLength:"1" maxLength:"200" nullable:"true" example:"order-1042" doc:"What the event is about, for receivers with ordered: they get the events of one key one at a time, in the order in which they were accepted. At most 200 bytes of UTF-8, which are fewer characters where not all are ASCII; not part of the envelope; null or absent: no order"`
	ID            *string         `json:"id,omitempty" pattern:"^evt_[0-9a-fA-F]{16}$" example:"evt_0123456789abcdef" nullable:"true" doc:"Makes the call idempotent, as the Idempotency-Key header does; null or absent: the hub makes one. Compared and sent on in lowercase"`
}

// Published is the response to a publication.
type Published struct {
	ID         string `json:"id" doc:"Names the event: the one sent, or a new one" example:"evt_0123456789abcdef"`
	Deliveries int    `json:"deliveries" doc:"How many endpoints and integrations will get it"`
}

// publishInput and publishBatchInput describe what the gateway reads.
type publishInput struct {
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"200" doc:"Printable ASCII, not only blanks. The same key and body again: 200 with the first response. Another body: 409. Kept 45 days"`
	Body           Publication
}

// ValidationWarning is a header of accepted publications.
type ValidationWarning struct {
	Warning string `header:"X-Validation-Warning" doc:"Where the data does not agree with the schema of its type, and how: the product's validation is warn. Absent if it agrees"`
}

type publishOutput struct {
	ValidationWarning
	Body Published
}

type publishBatchInput struct {
	IdempotencyKey string `header:"Idempotency-Key" minLength:"1" maxLength:"200" doc:"Printable ASCII, not only blanks. Speaks for the whole batch: the same key and body again: 200 with the first response. Another body: 409. Kept 45 days. Events with an id go by that"`
	Body           struct {
		Events []Publication `json:"events" minItems:"1" maxItems:"500" nullable:"false" doc:"All are stored, or none"`
	} `nameHint:"PublicationBatch"`
}

type publishBatchOutput struct {
	ValidationWarning
	Body struct {
		Items []Published `json:"items" nullable:"false" doc:"Entries of this page"`
	} `nameHint:"PublishedBatch"`
}

type listEventsInput struct {
	httpx.PageQuery
	OwnerQuery
	Since time.Time `query:"since" doc:"Accepted at this time or later"`
	Until time.Time `query:"until" doc:"Accepted before this time"`
}

// OwnerQuery holds the query parameters that select a tenant and environment of the log.
type OwnerQuery struct {
	TenantID    uuid.UUID `query:"tenant_id" format:"uuid" doc:"Only those of this tenant; a key has its own"`
	Environment string    `query:"environment" enum:"live,test" doc:"Only those of this environment; a key has its own"`
}

// owner narrows the caller's access to the parameters.
func (q OwnerQuery) owner(ctx context.Context) (query.Owner, error) {
	access, err := narrowAccess(ctx, nilIfZero(q.TenantID), hub.Environment(q.Environment))
	return query.Owner{TenantID: access.TenantID, Environment: string(access.Environment)}, err
}

func (a *API) listEvents(ctx context.Context, in *listEventsInput) (*struct{ Body httpx.Page[query.EventItem] }, error) {
	before, err := beforeID(in.PageQuery)
	if err != nil {
		return nil, err
	}
	owner, err := in.owner(ctx)
	if err != nil {
		return nil, err
	}
	filter := query.EventFilter{Owner: owner, Since: nilIfZero(in.Since), Until: nilIfZero(in.Until)}
	if err := query.CheckTime("query.since", filter.Since); err != nil {
		return nil, err
	}
	if err := query.CheckTime("query.until", filter.Until); err != nil {
		return nil, err
	}
	events, err := a.deps.Ledger.Events(ctx, filter, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	page := httpx.PageOf(events, in.Limit, func(last query.EventItem) []byte { return last.Seq[:] })
	return &struct{ Body httpx.Page[query.EventItem] }{page}, nil
}

func (a *API) getEvent(ctx context.Context, in *struct {
	ID string `path:"id" pattern:"^evt_[0-9a-fA-F]{16}$" doc:"Id of the event" example:"evt_0123456789abcdef"`
}) (*struct{ Body query.EventItem }, error) {
	event, err := a.deps.Ledger.Event(ctx, in.ID, requestInfoOf(ctx).owner())
	if err != nil {
		return nil, err
	}
	return &struct{ Body query.EventItem }{event}, nil
}
