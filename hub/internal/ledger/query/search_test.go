package query_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// Pages are filled from several days and in different ways: among the newest rows,
// along an index for a while, by gathering every match. Whatever the way, page by
// page is what reading every row returns.
func TestPagesOfEveryFilterGiveWhatReadingEveryRowGives(t *testing.T) {
	t.Parallel()
	b := newBook(t, 400)
	parts := b.parts()
	const limit = 9
	for name, reader := range map[string]*query.Reader{"small days": b.reader, "hasty": b.reader.Hasty()} {
		for i, part := range parts {
			for _, other := range parts[i:] {
				var f, g query.Filter
				part.set(&f)
				other.set(&g)
				other.set(&f)
				if part.set(&g); f != g {
					continue // both set one field
				}
				var want, got []uuid.UUID
				for _, r := range b.rows {
					if part.has(r) && other.has(r) && len(want) < 3*limit {
						want = append(want, r.id)
					}
				}
				var before *uuid.UUID
				for len(got) < len(want) {
					items, err := reader.List(t.Context(), f, before, limit)
					require.NoError(t, err)
					require.NotEmpty(t, items, "%s: %s and %s", name, part.name, other.name)
					got = append(got, idsOf(items)...)
					before = &got[len(got)-1]
				}
				require.Equal(t, want, got, "%s: %s and %s", name, part.name, other.name)
			}
		}
	}
}

// Tenants may choose the same event id.
func TestAnEventIDOfSeveralTenantsGivesTheDeliveriesOfAll(t *testing.T) {
	t.Parallel()
	b := newBook(t, 50)
	var twins []row
	for i, at := range []int{3, 20, 40} {
		twin := b.rows[at]
		twin.id = logid.Delivery(logid.NewSeq(logid.Time(twin.id)), 1)
		twin.event, twin.tenant, twin.ours = 4711, b.tenants[i%2], false
		twins = append(twins, twin)
	}
	b.store(t, twins)
	for _, f := range []query.Filter{{EventID: hub.FormatEventID(4711)}, {Search: hub.FormatEventID(4711)}} {
		items, err := b.reader.List(t.Context(), f, nil, 10)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{twins[0].id, twins[1].id, twins[2].id}, idsOf(items))
		f.TenantID = &b.tenants[1]
		items, err = b.reader.List(t.Context(), f, nil, 10)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{twins[1].id}, idsOf(items))
	}
}

// A filter that names an event or a delivery may exclude it by a time, by the place in a list or
// by another id: with whatever else is asked, that is an empty page and no error.
func TestWhatExcludesTheEventThatIsAskedForIsEmpty(t *testing.T) {
	t.Parallel()
	b := newBook(t, 60)
	some, other := b.rows[20], b.rows[40] // the other one is older
	twin := some
	twin.id, twin.event, twin.ours = logid.Delivery(logid.NewSeq(logid.Time(some.id)), 1), 4711, false
	second := twin
	second.id, second.tenant = logid.Delivery(logid.NewSeq(logid.Time(some.id)), 1), b.tenants[(slices.Index(b.tenants, some.tenant)+1)%len(b.tenants)]
	b.store(t, []row{twin, second})
	before, after := logid.Time(other.id).Add(-time.Hour), logid.Time(some.id).Add(time.Hour)
	names := []func(*query.Filter){
		func(f *query.Filter) { f.EventID = hub.FormatEventID(uint64(some.event)) },
		func(f *query.Filter) { f.EventID = hub.FormatEventID(4711) },
		func(f *query.Filter) { f.Search = hub.FormatEventID(uint64(some.event)) },
		func(f *query.Filter) { f.Search = some.id.String() },
		func(f *query.Filter) { f.Search = uuid.Nil.String() },
		func(f *query.Filter) { f.Search = uuid.Max.String() },
		func(f *query.Filter) { f.EventID, f.Search = hub.FormatEventID(uint64(some.event)), some.id.String() },
	}
	exclusions := []func(*query.Filter){
		func(f *query.Filter) { f.Since = &after },
		func(f *query.Filter) { f.Until = &before },
		func(f *query.Filter) { f.Since, f.Until = &after, &before },
	}
	parts := append(b.parts(), part{"failing", func(f *query.Filter) { f.Status = query.Failing }, nil}, part{"integration", func(f *query.Filter) { f.IntegrationID = &b.targets[0] }, nil})
	for i, part := range parts {
		for _, another := range parts[i:] {
			for n, name := range names {
				var plain query.Filter
				part.set(&plain)
				another.set(&plain)
				name(&plain)
				for e, exclude := range exclusions {
					f := plain
					exclude(&f)
					label := fmt.Sprintf("%s and %s, name %d, exclusion %d", part.name, another.name, n, e)
					items, err := b.reader.List(t.Context(), f, nil, 10)
					require.NoError(t, err, label)
					require.Empty(t, items, label)
				}
				_, err := b.reader.List(t.Context(), plain, &other.id, 10)
				require.NoError(t, err, "%s and %s, name %d, an older page", part.name, another.name, n)
			}
		}
	}
	elsewhere := query.Filter{EventID: hub.FormatEventID(uint64(some.event)), Search: hub.FormatEventID(uint64(other.event)), Environment: some.environment}
	items, err := b.reader.List(t.Context(), elsewhere, nil, 10)
	require.NoError(t, err)
	require.Empty(t, items, "two events at once")
	twice := query.Filter{EventID: hub.FormatEventID(4711), Search: hub.FormatEventID(4711), Environment: some.environment}
	items, err = b.reader.List(t.Context(), twice, nil, 10)
	require.NoError(t, err)
	require.Len(t, items, 2, "the same event twice")
}

// What was accepted long ago and attempted just now has changed, also where only it is asked for.
func TestAnOldEventsAttemptIsAChange(t *testing.T) {
	t.Parallel()
	b := newBook(t, 10)
	old := b.rows[len(b.rows)-1]
	_, err := b.pool.Exec(t.Context(), `
		insert into hub.attempts (delivery_id, started_at, number, queue_us, dns_us, connect_us, tls_us, first_byte_us, total_us, signature)
		values ($1, now(), 1, 0, 0, 0, 0, 0, 0, '')`, old.id)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `update hub.deliveries set finished_at = now(), status = 3 where id = $1`, old.id)
	require.NoError(t, err)
	for _, f := range []query.Filter{{EventID: hub.FormatEventID(uint64(old.event))}, {Search: old.id.String(), Environment: old.environment}} {
		items, err := b.reader.ListChangedSince(t.Context(), f, time.Now().Add(-time.Minute), 10)
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{old.id}, idsOf(items))
	}
}
