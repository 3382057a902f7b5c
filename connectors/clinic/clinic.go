// Package clinic connects to external clinic-management products. They have the interface
// of docs/interfaces/clinic.md.
package clinic

import (
	"integrationhub/hub"
	"integrationhub/hub/events"
)

// Connector is a [hub.PeerConnector]: it translates nothing.
type Connector struct{ hub.PeerConnector }

var (
	_ hub.Connector  = Connector{}
	_ hub.Registrar  = Connector{}
	_ hub.PeerCaller = Connector{}
)

// New returns the connector.
func New() Connector {
	return Connector{hub.PeerConnector{PeerSpec: hub.Spec{
		Name:          "clinic",
		Title:         "Clinic management",
		Fields:        hub.PeerFields(),
		RatePerMinute: hub.PeerRatePerMinute,
		Receives:      events.FromClinic(),
		Sends:         append(events.FromMessaging(), events.FromScheduling()...),
		Calls:         []string{"search/patients", "search/records", "search/appointments", "action/log-interaction"},
	}}}
}
