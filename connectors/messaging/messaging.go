// Package messaging connects to external messaging platforms, which have the interface
// of docs/interfaces/messaging.md. Payloads, signature and registration of their
// webhooks, and the names of events for connected products, follow
// docs/interfaces/clinic.md (Webhook envelope, Signature, Connect and status, Events).
package messaging

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"integrationhub/hub"
	"integrationhub/hub/events"
)

// Connector is a [hub.PeerConnector] that translates the platform's event names and
// sends messages with the platform's call (docs/interfaces/messaging.md, Sending).
type Connector struct{ hub.PeerConnector }

var (
	_ hub.Connector  = Connector{}
	_ hub.Registrar  = Connector{}
	_ hub.PeerCaller = Connector{}
)

const (
	// sendMessage is the platform's POST /api/messages/send.
	sendMessage = "action/send-message"
	// fieldToken is the setting with the company's API token.
	fieldToken = "api_token"
)

// New returns the connector.
func New() Connector {
	token := hub.Field{
		Key: fieldToken, Label: "API token", Secret: true,
		Help: "Of the company, from its panel; only where the platform does not send messages for the API key.",
	}
	return Connector{hub.PeerConnector{PeerSpec: hub.Spec{
		Name:          "messaging",
		Title:         "Messaging",
		Fields:        append(hub.PeerFields(), token),
		RatePerMinute: hub.PeerRatePerMinute,
		Receives:      events.FromMessaging(),
		Sends:         events.FromClinic(),
		Calls:         []string{"search/contacts", "search/tickets", "search/campaigns", sendMessage, "action/close-ticket"},
	}}}
}

// Decode implements [hub.Connector]. The platform's message.created becomes
// message.received, and ticket.updated with status closed becomes ticket.closed. Other
// ticket.updated events are dropped.
func (c Connector) Decode(connection hub.Connection, in hub.Inbound) ([]hub.Event, error) {
	received, err := c.PeerConnector.Decode(connection, in)
	if err != nil {
		return nil, err
	}
	translated := received[:0]
	for _, event := range received {
		switch event.Type {
		case events.TypeMessageCreated:
			event.Type = events.TypeMessageReceived
		case events.TypeTicketUpdated:
			if !isClosed(event.Data) {
				continue
			}
			event.Type = events.TypeTicketClosed
		}
		translated = append(translated, event)
	}
	return translated, nil
}

// isClosed reports whether a ticket's new status is closed.
func isClosed(data json.RawMessage) bool {
	var ticket struct {
		Status string `json:"status"`
	}
	return json.Unmarshal(data, &ticket) == nil && ticket.Status == "closed"
}

// Call implements [hub.PeerCaller]. Messages are sent with the company's token if it is set,
// else with the key: in the platform's header for keys, apikey, and in the integration
// header.
func (c Connector) Call(ctx context.Context, do hub.Doer, connection hub.Connection, call hub.Call) (json.RawMessage, error) {
	if call.Name != sendMessage {
		return c.PeerConnector.Call(ctx, do, connection, call)
	}
	// The address is that of the integration interface; the platform's own calls lie above it.
	base := strings.TrimSuffix(strings.TrimRight(connection.URL, "/"), "/api/v1")
	req, err := hub.NewRequest(ctx, http.MethodPost, base+"/api/messages/send", call.Body)
	if err != nil {
		return nil, err
	}
	if token := connection.Config[fieldToken]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else {
		req.Header.Set("apikey", connection.Key)
		req.Header.Set(hub.HeaderKey, connection.Key)
	}
	response, err := hub.Exchange(do, req)
	if err != nil {
		return nil, err
	}
	return response.CallResult()
}
