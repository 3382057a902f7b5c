// Package jobs lists the clinic's background work.
package jobs

import (
	"time"

	"integrationhub/clinic/internal/erasure"
	"integrationhub/clinic/internal/imports"
	"integrationhub/clinic/internal/inbox"
	"integrationhub/clinic/internal/store"
	"integrationhub/hub/module"
)

// List returns the jobs of the clinic's own services. Names are stored with waiting runs,
// so they never change.
func List(clinicStore *store.Store, inboxService *inbox.Service, erasureService *erasure.Service, importService *imports.Service) []module.Job {
	return []module.Job{
		{Name: imports.ImportJob, Timeout: imports.ImportTimeout, Run: importService.ContinueImport},
		{Name: imports.OldImportJob, Timeout: imports.ImportTimeout, Run: importService.ContinueImport},
		{Name: imports.UndoJob, Timeout: imports.ImportTimeout, Run: importService.ContinueUndo},
		{Name: imports.CleanupJob, Every: time.Hour, Timeout: 10 * time.Minute, Run: module.WithoutPayload(importService.Cleanup)},
		{Name: inbox.LinkingJob, Timeout: inbox.LinkingTimeout, Run: inboxService.ContinueLinking},
		{Name: "overdue", Every: time.Hour, Timeout: 10 * time.Minute, Run: module.WithoutPayload(clinicStore.MarkAllOverdue)},
		{Name: "merges", Every: time.Hour, Timeout: 10 * time.Minute, Run: module.WithoutPayload(clinicStore.DropMergeStates)},
		{Name: "deletions", Every: 5 * time.Minute, Timeout: 5 * time.Minute, Run: module.WithoutPayload(erasureService.UpdateOpenRequests)},
		{Name: "inbox", Every: time.Hour, Timeout: 10 * time.Minute, Run: module.WithoutPayload(inboxService.Upkeep)},
	}
}
