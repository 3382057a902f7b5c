package client

import (
	"context"
	"net/url"
	"time"
)

// LookupQuery says how a person is looked up: by one of these.
type LookupQuery struct {
	Phone string `json:"phone,omitempty"`
	Email string `json:"email,omitempty"`
	CPF   string `json:"cpf,omitempty"` // its last two digits
}

// LookupResult has the records and deliveries of a person.
type LookupResult struct {
	Phone      string        `json:"phone"` // in the international form; "" = not looked up by it
	Email      string        `json:"email"`
	CPF        string        `json:"cpf"` // masked
	Matches    []LookupMatch `json:"matches"`
	Truncated  bool          `json:"truncated"`  // there may be more matches
	Deliveries []Delivery    `json:"deliveries"` // the newest that have the number, or a match
}

// LookupMatch is a record of a product.
type LookupMatch struct {
	Product  string `json:"product"`
	TenantID string `json:"tenant_id"`
	Kind     string `json:"kind"` // patient, client, contact
	ID       string `json:"id"`   // in the product
	Name     string `json:"name"`
	URL      string `json:"url"` // where people look at it; "" = nowhere
}

// Lookup finds people and deliveries. The query is in the body: addresses are kept in
// logs.
func (c *Client) Lookup(ctx context.Context, in LookupQuery) (Reply[LookupResult], error) {
	return send[LookupResult](ctx, c, post("/api/v1/lookup", in))
}

// SentMail is an email as it was sent, or would have been without a server.
type SentMail struct {
	To        string    `json:"to"`
	Subject   string    `json:"subject"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
}

// Mail lists mail that was sent, newest first; to is an address, or "" for all. Hubs in
// production have no such list.
func (c *Client) Mail(ctx context.Context, to string, page PageQuery) (Reply[Page[SentMail]], error) {
	q := url.Values{}
	setIf(q, "to", to)
	page.addTo(q)
	return send[Page[SentMail]](ctx, c, get("/api/v1/dev/mail", q))
}
