package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The messages of contacts are checked that are anonymized, and of those that processes of an
// earlier version anonymize later. The migration goes on after an interruption.
func TestAnonymizedContactsAreChecked(t *testing.T) {
	t.Parallel()
	const version = 73
	pool, provider := schemaBefore(t, version)
	execute(t, pool, `insert into messaging.contacts (company_id, name, number, number_key, anonymized_at) select c.id, n, '5511900000000', n, case when n = 'erased' then now() end
		from messaging.companies c, unnest(array['erased', 'erased later', 'known']) n`)
	checked := func() []string {
		rows, err := pool.Query(t.Context(), `select c.name from messaging.remote_id_checks r join messaging.contacts c on c.id = r.contact_id order by c.id`)
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return names
	}
	_, err := provider.UpTo(t.Context(), version)
	require.NoError(t, err)
	require.Equal(t, []string{"erased"}, checked())
	execute(t, pool, `delete from goose_db_version where version_id = $1`, version)
	_, err = provider.UpTo(t.Context(), version)
	require.NoError(t, err)
	execute(t, pool, `update messaging.contacts set anonymized_at = now() where name = 'erased later'`)
	execute(t, pool, `update messaging.contacts set last_inbound_at = now()`)
	require.Equal(t, []string{"erased", "erased later"}, checked())
	execute(t, pool, `delete from messaging.contacts where name = 'erased'`)
	require.Equal(t, []string{"erased later"}, checked())
}
