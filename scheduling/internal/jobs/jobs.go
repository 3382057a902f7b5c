// Package jobs lists the background jobs of the service and runs those that only
// maintain data: points expire, birthdays earn points, and expired rows are deleted.
package jobs

import (
	"time"

	"integrationhub/hub/module"
	"integrationhub/scheduling/internal/notify"
	"integrationhub/scheduling/internal/payment"
	"integrationhub/scheduling/internal/store"
)

// List returns the background jobs. Jobs without an interval run when a transaction
// enqueues them.
func List(maintenance *Maintenance, payments *payment.Service, notifier *notify.Notifier) []module.Job {
	return []module.Job{
		{Name: store.JobPayments, Every: 20 * time.Second, Timeout: 10 * time.Minute, Run: module.WithoutPayload(payments.ProcessDue)},
		{Name: store.JobNotifications, Run: notifier.SendChangeEmails},
		{Name: store.JobWaitlist, Run: notifier.OfferFreedTime},
		{Name: store.JobAmbiguousErasure, Run: notifier.AskWhichClient},
		{Name: store.JobPatientRefresh, Run: notifier.SyncPatient},
		{Name: store.JobCampaigns, Timeout: 10 * time.Minute, Run: notifier.SendCampaign},
		{Name: "reminders", Every: 20 * time.Second, Timeout: 10 * time.Minute, Run: module.WithoutPayload(notifier.SendReminders)},
		{Name: "message-reminders", Every: 20 * time.Second, Timeout: 10 * time.Minute, Run: module.WithoutPayload(notifier.SendMessageReminders)},
		{Name: "loyalty", Every: time.Hour, Timeout: 10 * time.Minute, Run: module.WithoutPayload(maintenance.updateLoyaltyPoints)},
		{Name: "tax-ids", Every: 24 * time.Hour, Timeout: 10 * time.Minute, Run: module.WithoutPayload(maintenance.store.IndexCPFs)},
		{Name: "cleanup", Every: time.Hour, Timeout: 10 * time.Minute, Run: module.WithoutPayload(maintenance.deleteExpiredRows)},
	}
}
