// Package jobs lists the product's background work.
package jobs

import (
	"time"

	"integrationhub/hub/module"
	"integrationhub/messaging/internal/autoreply"
	"integrationhub/messaging/internal/campaigns"
	"integrationhub/messaging/internal/contactlinks"
	"integrationhub/messaging/internal/driver/sandbox"
	"integrationhub/messaging/internal/imports"
	"integrationhub/messaging/internal/inbound"
	"integrationhub/messaging/internal/lane"
	"integrationhub/messaging/internal/outbound"
	"integrationhub/messaging/internal/realtime"
	"integrationhub/messaging/internal/schedules"
	"integrationhub/messaging/internal/sessions"
	"integrationhub/messaging/internal/store"
)

// Services have the product's background work.
type Services struct {
	Outbound     *outbound.Service
	Inbound      *inbound.Service
	Realtime     *realtime.Service
	Sessions     *sessions.Service
	Imports      *imports.Service
	Replies      *autoreply.Service
	Schedules    *schedules.Service
	Campaigns    *campaigns.Service
	Store        *store.Store
	ContactLinks *contactlinks.Service
	Sandbox      *sandbox.Network // nil outside of development
}

// List returns the jobs.
func List(s Services) []module.Job {
	list := []module.Job{
		// Of the processes one owns a connection and does these for it.
		{Name: "outbox", Every: time.Second, Timeout: outbound.RunLimit, EveryProcess: true, Run: s.Outbound.SendDue},
		{Name: "sessions", Every: 5 * time.Second, EveryProcess: true, Run: s.Sessions.CheckSessions},
		{Name: "unreachable-connections", Every: 2 * time.Second, EveryProcess: true, Run: s.Sessions.CheckUnreachable},
		{Name: "unclear-messages", Every: 30 * time.Second, Run: s.Outbound.GiveUpUnclear},
		{Name: "expired-changes", Every: 10 * time.Minute, Timeout: 5 * time.Minute, Run: s.Realtime.DeleteExpired},
		{Name: "qr-codes", Every: 10 * time.Second, EveryProcess: true, Run: s.Sessions.RenewExpired},
		{Name: store.EraseMediaJob, Timeout: 10 * time.Minute, Run: s.Store.DeleteErasedMedia},
		{Name: "abandoned-media", Every: 24 * time.Hour, Timeout: time.Hour, Run: s.Store.EraseAbandoned},
		{Name: imports.Job, Timeout: 30 * time.Minute, Run: s.Imports.Continue},
		{Name: "old-idempotency-keys", Every: time.Hour, Timeout: 5 * time.Minute, Run: s.Store.DeleteExpiredKeys},
		{Name: "old-imports", Every: 24 * time.Hour, Timeout: 5 * time.Minute, Run: s.Imports.DeleteOld},
		{Name: "waiting-tickets", Every: 10 * time.Second, Run: s.Replies.TransferAndCloseWaiting},
		{Name: "appointment-calls", Every: time.Second, Timeout: 5 * time.Minute, Run: s.Replies.CallScheduling},
		{Name: "old-appointment-questions", Every: 24 * time.Hour, Timeout: 5 * time.Minute, Run: s.Store.DeleteOldQuestions},
		{Name: "contact-links", Every: time.Second, Timeout: contactlinks.RunLimit, Run: s.ContactLinks.AskDue},
		{Name: "old-held-events", Every: 24 * time.Hour, Timeout: 5 * time.Minute, Run: s.Store.DeleteOldHeld},
		{Name: "schedules", Every: time.Second, Timeout: 30 * time.Second, Run: s.Schedules.WriteDue},
		{Name: "campaigns", Every: time.Second, Timeout: campaigns.RunLimit, Run: s.Campaigns.SendDue},
		{Name: store.StatisticsJob, Timeout: 5 * time.Minute, Run: s.Store.CollectStatistics},
		{Name: "anonymized-remote-ids", Every: time.Hour, Timeout: 30 * time.Minute, Run: s.Store.HashRemoteIDs},
		{Name: "retention", Every: 24 * time.Hour, Timeout: time.Hour, Run: s.Store.EraseOldMessages},
	}
	list = append(list, splitByConnection(module.Job{Name: inbound.MediaJob, Timeout: inbound.MediaTimeout, Run: s.Inbound.FetchMedia})...)
	list = append(list, splitByConnection(module.Job{Name: outbound.ReadJob, Run: s.Outbound.MarkRead})...)
	if s.Sandbox != nil {
		list = append(list, module.Job{Name: "sandbox-messages", Every: 5 * time.Second, Run: s.Sandbox.DeliverStalled})
	}
	return list
}

// splitByConnection returns the lanes of a job.
func splitByConnection(job module.Job) []module.Job {
	lanes := make([]module.Job, lane.Count)
	for n := range lanes {
		lanes[n] = job
		lanes[n].Name = lane.Of(job.Name, int64(n))
	}
	return lanes
}
