// Package messaging connects to messaging platforms elsewhere (interface document
// 2). That document shows neither payloads, signature nor registration of its
// webhooks: they are document 3's, as are the names under which a connected product
// knows the events.
package messaging

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"integrationhub/hub"
	"integrationhub/hub/events"
)

// Connector is a [hub.PeerConnector] that understands document 2's names of events and sends
// messages with document 2's call.
type Connector struct{ hub.PeerConnector }

var (
	_ hub.Connector = Connector{}
	_ hub.Registrar = Connector{}
	_ hub.Actor     = Connector{}
)

const (
	// sendMessage is document 2's POST /api/messages/send.
	sendMessage = "action/send-message"
	// fieldToken is where operators give the company's API token for it.
	fieldToken = "api_token"
)

// New makes the connector.
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
		Calls:         []string{sendMessage},
	}}}
}

// Decode implements [hub.Connector]: document 2's message.created is document 3's
// message.received; of ticket.updated only the closing is an event there.
func (c Connector) Decode(connection hub.Connection, in hub.Inbound) ([]hub.Event, error) {
	received, err := c.PeerConnector.Decode(connection, in)
	if err != nil {
		return nil, err
	}
	translated := received[:0]
	for _, e := range received {
		switch e.Type {
		case events.TypeMessageCreated:
			e.Type = events.TypeMessageReceived
		case events.TypeTicketUpdated:
			if !closed(e.Data) {
				continue
			}
			e.Type = events.TypeTicketClosed
		}
		translated = append(translated, e)
	}
	return translated, nil
}

// closed reports whether a ticket's new status is closed.
func closed(data json.RawMessage) bool {
	var ticket struct {
		Status string `json:"status"`
	}
	return json.Unmarshal(data, &ticket) == nil && ticket.Status == "closed"
}

// Act implements [hub.Actor]. Messages are sent with the company's token where there
// is one; else with the key, in document 2's header for keys and in document 3's.
func (c Connector) Act(ctx context.Context, do hub.Doer, connection hub.Connection, call hub.Call) (json.RawMessage, error) {
	if call.Name != sendMessage {
		return c.PeerConnector.Act(ctx, do, connection, call)
	}
	// The address is the integration interface's; document 2's calls lie above it.
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
