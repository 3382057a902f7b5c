// Package all is the list of connectors. One that is not here does not exist.
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
