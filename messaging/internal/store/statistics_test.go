package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
	"integrationhub/messaging/internal/messagingtest"
	"integrationhub/messaging/internal/store"
)

// A company that begins is not planned for as if it were empty: after some tickets the
// statistics are collected, and a ticket is found by its id alone.
func TestStatistics(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line := company.Connect()
	pool, scope := company.Hub.Host.Pool, store.Scope{Company: company.ID, Tenant: company.Tenant}
	enqueued := func() (runs int) {
		require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from hub.jobs where job = $1`, store.StatisticsJob).Scan(&runs))
		return runs
	}
	add := func(s *store.Store, from, to int) {
		require.NoError(t, s.InTx(t.Context(), "making tickets", func(tx *store.Tx) error {
			for n := from; n < to; n++ {
				contact, err := tx.FindOrCreateContact(t.Context(), scope, fmt.Sprintf("5511980%06d", n), "")
				if err == nil {
					_, err = tx.FindOrCreateTicket(t.Context(), scope, contact, line.ID, store.NewTicket{Status: chat.TicketPending})
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
	}
	messaging := store.New(company.Hub.Host, nil)
	add(messaging, 0, 499)
	require.Zero(t, enqueued())
	add(messaging, 499, 500)
	require.Equal(t, 1, enqueued())

	company.RunJob(store.StatisticsJob)
	var known float64
	require.NoError(t, pool.QueryRow(t.Context(), `select min(reltuples) from pg_class where oid in ('tickets'::regclass, 'contacts'::regclass)`).Scan(&known))
	require.InDelta(t, 500, known, 0)
}

// Each column of a contact that the API shows is a change for open inboxes, but when a user
// wrote. The trigger names the columns: a new one must be added to it.
func TestContactChangeColumns(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	var missing []string
	require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select coalesce(array_agg(a.attname::text), '{}') from pg_attribute a, pg_trigger g
		where g.tgrelid = 'contacts'::regclass and g.tgname = 'record_updates' and a.attrelid = g.tgrelid and a.attnum > 0 and not a.attisdropped
			and pg_get_triggerdef(g.oid) not like '%new.' || a.attname || '%'`).Scan(&missing))
	require.ElementsMatch(t, []string{"company_id", "id", "last_inbound_at", "network_number", "updated_at"}, missing)
}
