package migrations_test

import (
	"context"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver goose works through
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// The migration that fills tickets.awaits_contact stores batch by batch: requests go on
// meanwhile, and after an interruption it goes on and finishes.
func TestBackfillOfTicketsGoesOn(t *testing.T) {
	t.Parallel()
	const version, tickets, batch = 47, 2500, 1000
	pool, provider := schemaBefore(t, version)
	count := func(query string) (n int) {
		t.Helper()
		require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from "+query).Scan(&n))
		return n
	}
	execute(t, pool, `insert into messaging.contacts (company_id, name, number, number_key) select c.id, 'Ana', (5511900000000 + i)::text, (5511900000000 + i)::text from messaging.companies c, generate_series(1, 2500) i`)
	execute(t, pool, `insert into messaging.tickets (company_id, uuid, status, contact_id) select company_id, gen_random_uuid(), case when id % 5 = 0 then 'closed' else 'open' end, id from messaging.contacts order by id`)
	execute(t, pool, `insert into messaging.messages (company_id, id, ticket_id, contact_id, body, from_me, origin, sent_at)
		select company_id, 'first ' || id, id, contact_id, '', id % 2 = 0, case when id % 2 = 0 then 'agent' else 'contact' end, now() from messaging.tickets`)
	execute(t, pool, `insert into messaging.messages (company_id, id, ticket_id, contact_id, body, from_me, is_private, origin, sent_at)
		select company_id, 'note ' || id, id, contact_id, '', true, true, 'agent', now() from messaging.tickets where id % 3 = 0`)
	const wanted = `messaging.tickets where awaits_contact <> (status = 'open' and id % 2 = 0)`

	// The update of a ticket in the second batch waits until the test lets it go on.
	execute(t, pool, `create function messaging.hold() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(47); return new; end';
		create trigger hold before update on messaging.tickets for each row when (new.id = 2002) execute function messaging.hold()`)
	holding, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holding.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = holding.Exec(t.Context(), `select pg_advisory_xact_lock(47)`)
	require.NoError(t, err)
	interrupted, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := provider.UpTo(interrupted, version)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return count(`information_schema.columns where table_schema = 'messaging' and table_name = 'tickets' and column_name = 'awaits_contact'`) == 1 &&
			count(`pg_locks where locktype = 'advisory' and objid = 47 and not granted`) == 1 && count(`messaging.tickets where awaits_contact`) == batch/2
	}, time.Minute, 10*time.Millisecond, "the second batch waits, the first is stored")
	execute(t, pool, `set lock_timeout = '1s'; insert into messaging.tickets (company_id, uuid, status, contact_id) select company_id, gen_random_uuid(), 'closed', id from messaging.contacts limit 1`)
	execute(t, pool, `update messaging.tickets set unread_messages = 1 where id in (select min(id) from messaging.tickets)`)
	interrupt()
	require.Error(t, <-ended)
	// PostgreSQL learns of it after the client: let go earlier, it would finish.
	require.Eventually(t, func() bool {
		return count(`pg_locks where locktype = 'advisory' and objid = 47 and not granted`) == 0
	}, time.Minute, 10*time.Millisecond, "the interrupted statement has ended")
	require.NoError(t, holding.Rollback(t.Context()))
	require.NotZero(t, count(wanted), "it is not finished")

	_, err = provider.UpTo(t.Context(), version)
	require.NoError(t, err)
	require.Zero(t, count(wanted))
	require.Equal(t, tickets+1, count(`messaging.tickets`))
	require.Equal(t, 1, count(`pg_index where indisvalid and indexrelid = 'messaging.tickets_expiring'::regclass`))
}
