// Package scheduling connects to external scheduling services, which have the interface
// of docs/interfaces/scheduling.md. Their events and signatures follow
// docs/interfaces/clinic.md (Events, Signature).
package scheduling

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"integrationhub/hub"
	"integrationhub/hub/events"
)

// Connector is a [hub.PeerConnector] that can also read free times.
type Connector struct{ hub.PeerConnector }

var (
	_ hub.Connector  = Connector{}
	_ hub.Registrar  = Connector{}
	_ hub.PeerCaller = Connector{}
)

// availability is a search call here. The service has it outside of the integration
// interface, at /api/v1/availability (docs/interfaces/scheduling.md, Availability).
const availability = "search/availability"

// New returns the connector.
func New() Connector {
	return Connector{hub.PeerConnector{PeerSpec: hub.Spec{
		Name:          "scheduling",
		Title:         "Scheduling",
		Fields:        hub.PeerFields(),
		RatePerMinute: hub.PeerRatePerMinute,
		Receives:      events.FromScheduling(),
		Sends:         events.FromClinic(),
		Calls:         []string{"search/clients", "search/appointments", "search/services", "search/free-times", availability, "action/book", "action/confirm", "action/cancel"},
	}}}
}

// Call implements [hub.PeerCaller].
func (c Connector) Call(ctx context.Context, do hub.Doer, connection hub.Connection, call hub.Call) (json.RawMessage, error) {
	if call.Name != availability {
		return c.PeerConnector.Call(ctx, do, connection, call)
	}
	req, err := hub.NewRequest(ctx, http.MethodGet, strings.TrimRight(connection.URL, "/")+"/availability?"+call.Query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(hub.HeaderKey, connection.Key)
	response, err := hub.Exchange(do, req)
	if err != nil {
		return nil, err
	}
	return response.CallResult()
}
