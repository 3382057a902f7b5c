package api

import (
	"context"

	"github.com/google/uuid"

	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/lookup"
)

type lookupInput struct {
	Phone string `query:"phone" maxLength:"40" example:"+55 11 98765-4321" doc:"As people write it; without a country code it is Brazilian and needs its area code. Brazilian mobiles are found with their ninth digit and without"`
	Email string `query:"email" maxLength:"254" example:"ana@example.com" doc:"E-mail address, in any case"`
	CPF   string `query:"cpf" maxLength:"20" example:"09" doc:"Last two digits of a CPF, alone or masked; whole numbers are refused"`
}

// postLookupInput has the values in the body: addresses are in logs and histories.
type postLookupInput struct {
	Body struct {
		Phone string `json:"phone,omitempty" maxLength:"40" example:"+55 11 98765-4321" doc:"As people write it; without a country code it is Brazilian and needs its area code. Brazilian mobiles are found with their ninth digit and without"`
		Email string `json:"email,omitempty" maxLength:"254" example:"ana@example.com" doc:"E-mail address, in any case"`
		CPF   string `json:"cpf,omitempty" maxLength:"20" example:"09" doc:"Last two digits of a CPF, alone or masked; whole numbers are refused"`
	} `nameHint:"LookupRequest"`
}

// Lookup is the result of a search for a person.
type Lookup struct {
	Phone      string        `json:"phone" doc:"Number as it was understood, +5511987654321; empty where another field was searched for" example:"+5511987654321"`
	Email      string        `json:"email" doc:"Address as it was understood; empty where another field was searched for" example:"ana@example.com"`
	CPF        string        `json:"cpf" doc:"The masked CPF; empty where another field was searched for" example:"***.***.***-09"`
	Matches    []LookupMatch `json:"matches" nullable:"false" doc:"What the hosted products know, at most 100 of each"`
	Truncated  bool          `json:"truncated" doc:"Whether a product has, or may have, more matches than are here"`
	Deliveries []query.Item  `json:"deliveries" nullable:"false" doc:"Deliveries of late whose payload has the number, the address or the id of a match: at most 50, among the newest 1000 of the log and the newest 200 of each tenant with a match, of ten tenants"`
}

// LookupMatch is a record that a product found.
type LookupMatch struct {
	Product  string    `json:"product" doc:"Name of the product" example:"clinic"`
	TenantID uuid.UUID `json:"tenant_id" format:"uuid" doc:"Tenant it belongs to"`
	Kind     string    `json:"kind" doc:"What the person is there, such as client or patient" example:"patient"`
	ID       string    `json:"id" doc:"In the product"`
	Name     string    `json:"name" doc:"CPF numbers masked. Of people found by a CPF the first name and initials"`
	URL      *string   `json:"url" doc:"Where people look at it"`
}

func (a *API) lookup(ctx context.Context, in *lookupInput) (*struct{ Body Lookup }, error) {
	return a.searchPerson(ctx, lookup.Query{Phone: in.Phone, Email: in.Email, CPF: in.CPF, Location: "query"})
}

func (a *API) postLookup(ctx context.Context, in *postLookupInput) (*struct{ Body Lookup }, error) {
	return a.searchPerson(ctx, lookup.Query{Phone: in.Body.Phone, Email: in.Body.Email, CPF: in.Body.CPF, Location: "body"})
}

func (a *API) searchPerson(ctx context.Context, q lookup.Query) (*struct{ Body Lookup }, error) {
	found, err := a.deps.Lookup.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := Lookup{
		Phone: found.Phone, Email: found.Email, CPF: found.CPF, Truncated: found.Truncated,
		Matches: make([]LookupMatch, len(found.Matches)), Deliveries: append([]query.Item{}, found.Deliveries...),
	}
	for i, match := range found.Matches {
		answer.Matches[i] = LookupMatch{Product: match.Product, TenantID: match.TenantID, Kind: match.Kind, ID: match.ID, Name: match.Name, URL: nilIfZero(match.URL)}
	}
	return &struct{ Body Lookup }{answer}, nil
}
