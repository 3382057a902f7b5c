// Package jobs lists the clinic's background work.
package jobs

import (
	"context"
	"time"

	"integrationhub/clinic/internal/erasure"
	"integrationhub/clinic/internal/imports"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
)

// List returns the jobs of the clinic's own services. Names are stored with waiting runs,
// so they never change.
func List(payments *store.Store, entries *inbox.Service, deletions *erasure.Service, files *imports.Service) []module.Job {
	return []module.Job{
		{Name: imports.Job, Timeout: imports.Timeout, Run: files.Continue},
		{Name: inbox.LinkingJob, Timeout: inbox.LinkingTimeout, Run: entries.ContinueLinking},
		{Name: "overdue", Every: time.Hour, Timeout: 10 * time.Minute, Run: withoutPayload(payments.MarkAllOverdue)},
		{Name: "deletions", Every: 5 * time.Minute, Timeout: 5 * time.Minute, Run: withoutPayload(deletions.UpdateOpenRequests)},
		{Name: "inbox", Every: time.Hour, Timeout: 10 * time.Minute, Run: withoutPayload(entries.Upkeep)},
	}
}

// withoutPayload adapts a periodic job.
func withoutPayload(run func(context.Context) error) func(context.Context, []byte) error {
	return func(ctx context.Context, _ []byte) error { return run(ctx) }
}
