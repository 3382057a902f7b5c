package client

import (
	"context"
	"net/url"
	"time"
)

// Found is what is known under a phone number.
type Found struct {
	Phone      string       `json:"phone"` // in the international form
	Matches    []FoundMatch `json:"matches"`
	Deliveries []Delivery   `json:"deliveries"` // the newest that have the number, or a match
}

// FoundMatch is a record of a product with a phone number.
type FoundMatch struct {
	Product  string `json:"product"`
	TenantID string `json:"tenant_id"`
	Kind     string `json:"kind"` // patient, client, contact
	ID       string `json:"id"`   // in the product
	Name     string `json:"name"`
	URL      string `json:"url"` // where people look at it; "" = nowhere
}

// Lookup finds people and deliveries by a phone number.
func (c *Client) Lookup(ctx context.Context, phone string) (Reply[Found], error) {
	return send[Found](ctx, c, get("/api/v1/lookup", url.Values{"phone": {phone}}))
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
