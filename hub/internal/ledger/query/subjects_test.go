package query_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/delivery"
	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/internal/logid"
)

// A search by subject finds what reading every row finds, page by page and beside other
// filters, whatever the day.
func TestListBySubject(t *testing.T) {
	t.Parallel()
	b := newBook(t, 300)
	_, err := b.pool.Exec(t.Context(), `
		update hub.events e set subjects = array[7, n % 5] from (select seq, row_number() over (order by seq) as n from hub.events) s where s.seq = e.seq and n % 3 = 0`)
	require.NoError(t, err)
	for _, f := range []query.Filter{{}, {Status: "delivered"}, {TenantID: &b.tenants[0], Environment: "live"}, {Direction: "outbound"}, {Since: &b.noon}} {
		for _, terms := range [][]int64{{7}, {3}, {3, 4}, {99}} {
			var want []uuid.UUID
			for _, r := range b.rows {
				var isAbout bool
				require.NoError(t, b.pool.QueryRow(t.Context(), `select coalesce(subjects && $2, false) from hub.events where seq = (overlay($1::uuid::text placing '0000' from 33))::uuid`, r.id, terms).Scan(&isAbout))
				status, isSet := delivery.ParseStatus(f.Status)
				if isAbout && (!isSet || r.status == status) && (f.TenantID == nil || r.tenant == *f.TenantID && r.environment == f.Environment) &&
					(f.Direction == "" || !r.inbound) && (f.Since == nil || !logid.Time(r.id).Before(b.noon)) {
					want = append(want, r.id)
				}
			}
			var got []uuid.UUID
			var before *uuid.UUID
			for {
				items, err := b.reader.ListBySubject(t.Context(), f, terms, before, 7)
				require.NoError(t, err)
				if len(items) == 0 {
					break
				}
				got = append(got, idsOf(items)...)
				before = &got[len(got)-1]
			}
			require.Equal(t, want, got)
		}
	}
}

// An index finds the events of a subject among many: the search looks neither at other
// events nor at their deliveries.
func TestSubjectsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	b := newBook(t, 1)
	tenant := b.tenants[0]
	_, err := b.pool.Exec(t.Context(), `
		with made as (
			select (overlay(overlay(hub.day_floor((now() at time zone 'UTC')::date)::text placing lpad(to_hex(n), 8, '0') from 25) placing '0000' from 33))::uuid as seq, n
			from generate_series(1, 40000) n),
		events as (
			insert into hub.events (seq, id, tenant_id, environment, product, event_type, deliveries, body, subjects)
			select seq, n, $1, 'live', 'shop', 'a.b', 1, '{}', case when n % 2 = 0 then array[n / 20] end from made)
		insert into hub.deliveries (id, event_id, tenant_id, target_id, environment, product, event_type, status)
		select (overlay(seq::text placing '0001' from 33))::uuid, n, $1, $2, 'live', 'shop', 'a.b', 1 from made`, tenant, b.targets[0])
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `vacuum analyze hub.events, hub.deliveries`)
	require.NoError(t, err)
	terms := []int64{4711 % 2000}
	items, err := b.reader.ListBySubject(t.Context(), query.Filter{TenantID: &tenant, Environment: "live"}, terms, nil, 50)
	require.NoError(t, err)
	require.Len(t, items, 10)
	plan, err := b.reader.ExplainSubjects(t.Context(), query.Filter{TenantID: &tenant, Environment: "live"}, terms)
	require.NoError(t, err)
	require.Contains(t, plan, "_subjects_idx", plan)
	require.NotRegexp(t, `Seq Scan on deliveries_p[0-9]+ [^\n]*rows=[0-9]{4,}`, plan)
	require.NotRegexp(t, `Rows Removed by Filter: [0-9]{3,}`, plan)
}
