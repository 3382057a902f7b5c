package audit_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/audit"
	"integrationhub/hub/internal/logid"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// What strangers repeat is one row of its minute, whichever process counts it.
func TestCountedEntriesAreOneRowOfAMinute(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	clock := hubtest.NewClock(time.Now().Truncate(time.Minute).Add(59 * time.Second))
	recorder, second := audit.NewRecorder(db), audit.NewRecorder(db)
	for _, r := range []*audit.Recorder{recorder, second} {
		r.SetClock(clock.Now)
	}
	entry := audit.Entry{ActorType: audit.ActorAnonymous, Action: "auth.login", Resource: "auth", ResourceID: "r", IP: "203.0.113.1", RequestID: "first", Status: 401}
	var done sync.WaitGroup
	const attempts = 948
	failures := make(chan error, attempts)
	for i := range attempts {
		done.Go(func() {
			failures <- []*audit.Recorder{recorder, second}[i%2].RecordCounted(t.Context(), entry, []byte("source"))
		})
	}
	done.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	list := func() []audit.Entry {
		entries, err := recorder.List(t.Context(), audit.Filter{Action: "auth.login"}, nil, 100)
		require.NoError(t, err)
		return entries
	}
	require.Len(t, list(), 1)
	first := list()[0]
	require.Equal(t, attempts, first.Count)
	require.Equal(t, clock.Now().Truncate(time.Minute).UTC(), logid.Time(first.ID))
	require.Equal(t, uuid.Version(7), first.ID.Version())
	require.Equal(t, uuid.RFC4122, first.ID.Variant())

	// Each of these is a row of its own.
	for _, differing := range []struct {
		change func(*audit.Entry)
		source string
	}{
		{func(e *audit.Entry) { e.Status = 429 }, "source"}, {func(e *audit.Entry) { e.ResourceID = "" }, "source"},
		{func(e *audit.Entry) { e.Action = "auth.logout" }, "source"}, {func(*audit.Entry) {}, "another"},
	} {
		changed := entry
		differing.change(&changed)
		require.NoError(t, recorder.RecordCounted(t.Context(), changed, []byte(differing.source)))
	}
	require.Len(t, list(), 4, "one is another action's")
	clock.Advance(time.Second)
	entry.RequestID = "later"
	for range 2 {
		require.NoError(t, recorder.RecordCounted(t.Context(), entry, []byte("source")))
	}
	require.Len(t, list(), 5)
	require.Equal(t, []any{2, "later"}, []any{list()[0].Count, list()[0].RequestID}, "the newest minute is first")
	entry.Action = "things.create"
	require.NoError(t, recorder.Record(t.Context(), entry))
	written, err := recorder.List(t.Context(), audit.Filter{Action: "things.create"}, nil, 2)
	require.NoError(t, err)
	require.Len(t, written, 1)
	require.Equal(t, 1, written[0].Count)
}

// Filters and pages do not notice where a month ends.
func TestListCrossesMonths(t *testing.T) {
	t.Parallel()
	db, ctx := hubtest.Database(t), t.Context()
	recorder, tenant := audit.NewRecorder(db), uuid.New()
	start := time.Date(time.Now().Year(), time.Now().Month(), 1, 0, 0, 0, 0, time.UTC)
	_, err := db.Exec(ctx, `select hub.ensure_audit_partitions($1::date, 8)`, start)
	require.NoError(t, err)
	var want []uuid.UUID // newest first
	for month := range 8 {
		for _, at := range []time.Time{start.AddDate(0, month, 0), start.AddDate(0, month+1, 0).Add(-time.Millisecond)} {
			id := logid.New(at)
			want = append([]uuid.UUID{id}, want...)
			_, err := db.Exec(ctx, `insert into hub.audit (id, at, actor_type, actor_id, action, resource, tenant_id, environment, subject_id, status)
				values ($1, $2, 'key', 'k', $3, 'things', $4, 'live', 's', 200), ($5, $2, 'system', null, 'other.act', 'other', null, null, null, 200)`,
				id, at, fmt.Sprintf("things.%d", month%2), tenant, logid.New(at))
			require.NoError(t, err)
		}
	}
	var partitions int
	require.NoError(t, db.QueryRow(ctx, `select count(distinct tableoid) from hub.audit`).Scan(&partitions))
	require.Equal(t, 7, partitions, "two months are in the first")
	list := func(filter audit.Filter, limit int) (ids []uuid.UUID) {
		var before *uuid.UUID
		for {
			page, err := recorder.List(ctx, filter, before, limit)
			require.NoError(t, err)
			for _, entry := range page {
				ids = append(ids, entry.ID)
			}
			if len(page) < limit {
				return ids
			}
			before = &ids[len(ids)-1]
		}
	}
	for _, filter := range []audit.Filter{{TenantID: &tenant}, {Actor: "k"}, {Resource: "things"}, {TenantID: &tenant, SubjectID: "s"}, {Environment: "live"}} {
		for _, limit := range []int{3, 100} {
			require.Equal(t, want, list(filter, limit), filter)
		}
	}
	require.Len(t, list(audit.Filter{}, 5), 2*len(want))
	require.Len(t, list(audit.Filter{Action: "things.1"}, 3), len(want)/2)
	require.Equal(t, want[4:10], list(audit.Filter{Actor: "k", Since: start.AddDate(0, 3, 0), Until: start.AddDate(0, 6, 0)}, 4))
}

// A hub that was stopped for longer than the partitions reach stores entries again.
func TestPartitionsAfterALongStop(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	later := time.Now().AddDate(3, 0, 0)
	missing := func() (missing bool) {
		require.NoError(t, db.QueryRow(t.Context(), `select not exists (select from hub.audit_partitions() where end_id > hub.day_floor($1::date))`, later).Scan(&missing))
		return missing
	}
	require.True(t, missing())
	for range 2 {
		require.NoError(t, audit.EnsurePartitions(t.Context(), db, later))
	}
	require.False(t, missing())
	_, err := db.Exec(t.Context(), `drop function hub.ensure_audit_partitions`)
	require.NoError(t, err)
	require.NoError(t, audit.EnsurePartitions(t.Context(), db, later), "a schema from before")
}

// "the audit log without the noise of health checks and webhooks unless asked for", read from
// an index of the rest.
func TestListWithoutRoutine(t *testing.T) {
	t.Parallel()
	db := hubtest.Database(t)
	recorder := audit.NewRecorder(db)
	record := func(action string, status int) {
		require.NoError(t, recorder.Record(t.Context(), audit.Entry{ActorType: audit.ActorKey, Action: action, Resource: "integrations", ResourceID: "r1", Status: status}))
	}
	record("keys.revoke", 204)
	for range 3 {
		record("integrations.status", 200)
		record("integrations.webhook", 200)
	}
	record("integrations.webhook", 401)
	actions := func(filter audit.Filter) (list []string) {
		entries, err := recorder.List(t.Context(), filter, nil, 100)
		require.NoError(t, err)
		for _, entry := range entries {
			list = append(list, fmt.Sprintf("%s %d", entry.Action, entry.Status))
		}
		return list
	}
	require.Equal(t, []string{"integrations.webhook 401", "keys.revoke 204"}, actions(audit.Filter{WithoutRoutine: true}))
	require.Len(t, actions(audit.Filter{}), 8)
	require.Len(t, actions(audit.Filter{WithoutRoutine: true, Action: "integrations.status"}), 3, "what is asked for is there")
	require.Len(t, actions(audit.Filter{ResourceID: "r1", Action: "keys.revoke"}), 1)
	require.Empty(t, actions(audit.Filter{ResourceID: "r2"}))

	ids := make([]uuid.UUID, 5000)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	_, err := db.Exec(t.Context(), `insert into hub.audit (id, actor_type, action, resource, status)
		select id, 'key', 'integrations.webhook', 'integrations', 200 from unnest($1::uuid[]) as id`, ids)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `analyze hub.audit`)
	require.NoError(t, err)
	plan, err := recorder.ExplainList(t.Context(), audit.Filter{WithoutRoutine: true})
	require.NoError(t, err)
	require.Contains(t, plan, "_id_idx", plan)
}
