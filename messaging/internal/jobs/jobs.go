// Package jobs lists the product's background work.
package jobs

import (
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/imports"
	"integrationhub/messaging/internal/inbound"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/realtime"
	"integrationhub/messaging/internal/sessions"
	"integrationhub/messaging/internal/store"
)

// List returns the jobs.
func List(sender *outbound.Service, receiver *inbound.Service, streams *realtime.Service, connections *sessions.Service, importer *imports.Service, replies *autoreply.Service, s *store.Store) []module.Job {
	return []module.Job{
		{Name: "outbox", Every: time.Second, Timeout: 5 * time.Minute, Run: sender.SendDue},
		{Name: "expired-changes", Every: 10 * time.Minute, Timeout: 5 * time.Minute, Run: streams.DeleteExpired},
		{Name: "qr-codes", Every: 10 * time.Second, Run: connections.RenewExpired},
		{Name: inbound.MediaJob, Timeout: 5 * time.Minute, Run: receiver.FetchMedia},
		{Name: store.EraseMediaJob, Timeout: 10 * time.Minute, Run: s.DeleteErasedMedia},
		{Name: "abandoned-media", Every: 24 * time.Hour, Timeout: time.Hour, Run: s.EraseAbandoned},
		{Name: imports.Job, Timeout: 30 * time.Minute, Run: importer.Continue},
		{Name: "old-idempotency-keys", Every: time.Hour, Timeout: 5 * time.Minute, Run: s.DeleteExpiredKeys},
		{Name: "old-imports", Every: 24 * time.Hour, Timeout: 5 * time.Minute, Run: importer.DeleteOld},
		{Name: "waiting-tickets", Every: 10 * time.Second, Run: replies.UpdateWaiting},
		{Name: "retention", Every: 24 * time.Hour, Timeout: time.Hour, Run: s.EraseOldMessages},
	}
}
