package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/scheduling/internal/schedulingtest"
	"integrationhub/scheduling/internal/store"
	"integrationhub/scheduling/internal/store/dbgen"
)

// However many reminders of an organization wait for its slow product, those of others have
// their turn in the same batch.
func TestDueRemindersOfAllOrganizations(t *testing.T) {
	t.Parallel()
	busy := schedulingtest.NewBookableAlone(t)
	other := schedulingtest.RegisterOrganization(t, busy.Hub).MakeBookable()
	busy.StopOwnRuns("message-reminders")
	now := busy.Hub.Clock.Now()
	for org, count := range map[*schedulingtest.Bookable]int{busy: 300, other: 1} {
		org.Exec(`insert into scheduling.reminders (org_id, appointment_id, offset_minutes, channel, due_at)
			select $1, $2, 10 + n, 'whatsapp', $3::timestamptz - $4 * interval '1 minute' from generate_series(1, $4) n`, org.ID, org.Book(0), now, count)
	}
	due, err := store.New(busy.Hub.Host).DueReminders(t.Context(), dbgen.DueRemindersParams{Channel: "whatsapp", Now: now.Add(time.Second), OrgLimit: 50, RowLimit: 200, Suspended: busy.Hub.Host.Tenants.Suspended()})
	require.NoError(t, err)
	byOrg := make(map[uuid.UUID]int)
	for _, reminder := range due {
		byOrg[reminder.OrgID]++
	}
	require.Equal(t, map[uuid.UUID]int{busy.ID: 50, other.ID: 1}, byOrg)
}
