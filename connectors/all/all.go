// Package all lists the connectors of the hub.
package all

import (
	"integrationhub/connectors/clinic"
	"integrationhub/connectors/messaging"
	"integrationhub/connectors/scheduling"
	"integrationhub/connectors/webhook"
	"integrationhub/hub"
)

// List returns every connector once.
func List() []hub.Connector {
	return []hub.Connector{
		clinic.New(),
		messaging.New(),
		scheduling.New(),
		webhook.New(),
	}
}
