package api

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/lookup"
)

type lookupInput struct {
	Phone string `query:"phone" required:"true" maxLength:"40" example:"+55 11 98765-4321" doc:"As people write it; without a country code it is Brazilian and needs its area code. Brazilian mobiles are found with their ninth digit and without"`
}

// postLookupInput has the number in the body: addresses are in logs and histories.
type postLookupInput struct {
	Body struct {
		Phone string `json:"phone" minLength:"1" maxLength:"40" example:"+55 11 98765-4321" doc:"As people write it; without a country code it is Brazilian and needs its area code. Brazilian mobiles are found with their ninth digit and without"`
	} `nameHint:"LookupRequest"`
}

func (a *API) postLookup(ctx context.Context, in *postLookupInput) (*struct{ Body Lookup }, error) {
	if _, err := lookup.Parse(in.Body.Phone); err != nil {
		return nil, hub.Invalid("body.phone", lookup.PhoneRule)
	}
	return a.lookup(ctx, &lookupInput{Phone: in.Body.Phone})
}

// Lookup is the result of a search by phone number.
type Lookup struct {
	Phone      string        `json:"phone" doc:"Number as it was understood, +5511987654321" example:"+5511987654321"`
	Matches    []LookupMatch `json:"matches" nullable:"false" doc:"What the hosted products know under it"`
	Deliveries []query.Item  `json:"deliveries" nullable:"false" doc:"Deliveries of late whose payload has the number or the id of a match: at most 50, among the newest 1000 of the log and the newest 200 of each tenant with a match"`
}

// LookupMatch is a record that a product found by a phone number.
type LookupMatch struct {
	Product  string    `json:"product" doc:"Name of the product" example:"clinic"`
	TenantID uuid.UUID `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
	Kind     string    `json:"kind" doc:"What the person is there, such as client or patient" example:"patient"`
	ID       string    `json:"id" doc:"In the product"`
	Name     string    `json:"name" doc:"CPF numbers masked"`
	URL      *string   `json:"url" doc:"Where people look at it"`
}

func (a *API) lookup(ctx context.Context, in *lookupInput) (*struct{ Body Lookup }, error) {
	found, err := a.deps.Lookup.Search(ctx, in.Phone)
	if err != nil {
		return nil, err
	}
	answer := Lookup{Phone: found.Phone, Matches: make([]LookupMatch, len(found.Matches)), Deliveries: append([]query.Item{}, found.Deliveries...)}
	for i, match := range found.Matches {
		answer.Matches[i] = LookupMatch{Product: match.Product, TenantID: match.TenantID, Kind: match.Kind, ID: match.ID, Name: match.Name, URL: nilIfZero(match.URL)}
	}
	return &struct{ Body Lookup }{answer}, nil
}
