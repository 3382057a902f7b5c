// Package jobs lists the product's background work.
package jobs

import (
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/outbound"
)

// List returns the jobs.
func List(sender *outbound.Service) []module.Job {
	return []module.Job{
		{Name: "outbox", Every: time.Second, Timeout: 5 * time.Minute, Run: sender.SendDue},
	}
}
