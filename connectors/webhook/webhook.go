// Package webhook sends events to plain endpoints: a URL and a secret, without a
// handshake.
package webhook

import (
	"context"

	"integrationhub/hub"
)

// Connector sends the envelope of docs/interfaces/clinic.md with X-Webhook-Signature and the headers of
// Standard Webhooks 1.0.
type Connector struct{}

var _ hub.Connector = Connector{}

// New makes the connector.
func New() Connector { return Connector{} }

// Spec implements [hub.Connector].
func (Connector) Spec() hub.Spec {
	return hub.Spec{
		Name:  "webhook",
		Title: "Webhook",
		Fields: []hub.Field{
			{Key: hub.FieldURL, Label: "URL", Help: "Where the events are posted to.", Required: true},
			{Key: hub.FieldSecret, Label: "Secret", Help: "Signs the events; made where it is empty.", Secret: true},
		},
		Sends: []string{"*"},
	}
}

// Probe implements [hub.Connector]. Endpoints have no status: whether one works shows
// when something is delivered.
func (c Connector) Probe(context.Context, hub.Doer, hub.Connection) (hub.Status, error) {
	return hub.Status{Product: c.Spec().Name, Active: true}, nil
}

// Decode implements [hub.Connector] for receivers of what Encode makes.
func (Connector) Decode(c hub.Connection, in hub.Inbound) ([]hub.Event, error) {
	return hub.PeerConnector{}.Decode(c, in)
}

// Encode implements [hub.Connector]. No key goes along: an endpoint issued none.
func (Connector) Encode(c hub.Connection, e hub.Event) (hub.Outbound, error) {
	body := hub.AppendEnvelope(nil, e)
	c.Key = ""
	header, err := c.SignedHeader(e.ID, body)
	if err != nil {
		return hub.Outbound{}, err
	}
	return hub.Outbound{URL: c.URL, Header: header, Body: body}, nil
}
