package query_test

import (
	"testing"

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
