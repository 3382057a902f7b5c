package query_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/maintain"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// Every filter of the log, alone and in pairs, finds what reading every row finds,
// newest first; and a replay's dry run counts exactly the settled ones whose endpoint is not deleted.
func TestFiltersGiveWhatReadingEveryRowGives(t *testing.T) {
	t.Parallel()
	b := newBook(t, 600)
	replays := maintain.NewReplays(b.pool, nil, func() time.Time { return b.noon.Add(48 * time.Hour) }, nil)
	parts := b.parts()
	for i, part := range parts {
		for j := i; j < len(parts); j++ {
			other := parts[j]
			var f, g query.Filter
			part.set(&f)
			other.set(&g)
			other.set(&f)
			if part.set(&g); f != g {
				continue // both set one field
			}
			var want []uuid.UUID
			settled := 0
			for _, r := range b.rows {
				if part.has(r) && other.has(r) {
					want = append(want, r.id)
					if r.status != delivery.Pending && !r.inbound && r.tenant != b.tenants[1] {
						settled++
					}
				}
			}
			items, err := b.reader.List(t.Context(), f, nil, 1000)
			require.NoError(t, err)
			got := idsOf(items)
			require.Equal(t, want, got, "%s and %s", part.name, other.name)
			if i == j || j%5 == 0 {
				count, err := replays.Count(t.Context(), f, query.Owner{})
				require.NoError(t, err)
				require.EqualValues(t, settled, count, "%s and %s", part.name, other.name)
			}
		}
	}
}

func idsOf(items []query.Item) []uuid.UUID {
	var ids []uuid.UUID
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	return ids
}

// "keyset cursor": pages have no gaps and no repeats while new rows arrive.
func TestPagesHaveNoGapsWhileRowsArrive(t *testing.T) {
	t.Parallel()
	b := newBook(t, 300)
	random := rand.New(rand.NewPCG(3, 4))
	newest := b.noon.Add(25 * time.Hour)
	for _, f := range []query.Filter{{}, {Status: "delivered"}, {Product: "shop"}, {TenantID: &b.tenants[0]}, {EventType: "a.created"}} {
		all, err := b.reader.List(t.Context(), f, nil, 5000)
		require.NoError(t, err)
		var paged []uuid.UUID
		var before *uuid.UUID
		for {
			page, err := b.reader.List(t.Context(), f, before, 17)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			paged = append(paged, idsOf(page)...)
			before = &page[len(page)-1].ID
			fresh := b.generated(random)
			newest = newest.Add(time.Millisecond)
			fresh.id = logid.Delivery(logid.NewSeq(newest), 1) // newer than every other
			b.store(t, []row{fresh})
		}
		require.Equal(t, idsOf(all), paged)
	}
}

// Payloads are looked through as far as was asked, over days, and no further.
func TestMentioning(t *testing.T) {
	t.Parallel()
	b := newBook(t, 200)
	last := len(b.rows) - 1
	words := []string{b.rows[last].id.String(), b.rows[5].id.String(), "nowhere"}
	found, err := b.reader.SearchPayloads(t.Context(), query.Filter{}, words, len(b.rows), 10)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.rows[5].id, b.rows[last].id}, idsOf(found))
	found, err = b.reader.SearchPayloads(t.Context(), query.Filter{}, words, len(b.rows)-1, 10)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.rows[5].id}, idsOf(found), "the oldest was not looked at")
	found, err = b.reader.SearchPayloads(t.Context(), query.Filter{TenantID: &b.rows[last].tenant}, words[:1], len(b.rows), 10)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{b.rows[last].id}, idsOf(found))
	found, err = b.reader.SearchPayloads(t.Context(), query.Filter{}, []string{`"about"`}, len(b.rows), 7)
	require.NoError(t, err)
	require.Len(t, found, 7)
}
