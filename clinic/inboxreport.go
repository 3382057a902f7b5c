package clinic

import (
	"context"
	"fmt"

	"integrationhub/hub/module"
)

var _ module.InboxReporter = (*instance)(nil)

// WaitingInboxes implements [module.InboxReporter].
func (i *instance) WaitingInboxes(ctx context.Context, after module.WaitingInbox, limit int) ([]module.WaitingInbox, error) {
	rows, err := i.store.WaitingInboxes(ctx, after.TenantID, string(after.Environment), limit)
	if err != nil {
		return nil, fmt.Errorf("reading open entries of inboxes: %w", err)
	}
	list := make([]module.WaitingInbox, len(rows))
	for n, row := range rows {
		list[n] = module.WaitingInbox{TenantID: row.ClinicID, Environment: row.Env, Waiting: row.Waiting, OldestSince: row.OldestSince}
	}
	return list, nil
}
