package outbound_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Connections take turns: where more of them have messages than are sent on at the same time,
// none gets a second batch before each has had its first.
func TestConnectionsTakeTurns(t *testing.T) {
	t.Parallel()
	const connections, messages = 20, 60
	company := messagingtest.NewCompanyAt(t, monday)
	for range connections {
		company.Connect()
	}
	company.OK(200, "PUT", "/sandbox/faults", object{"latencyMs": 30}) // a batch takes longer than the pause between a connection's batches
	require.NoError(t, pgx.BeginFunc(t.Context(), company.Hub.Host.Pool, func(tx pgx.Tx) error {
		for _, sql := range []string{
			`insert into contacts (company_id, name, number, number_key) select $1, 'Contact ' || n, (5511970000000 + n)::text, (5511970000000 + n)::text from generate_series(1, $2::int) n where $3::timestamptz is not null`,
			`insert into messages (company_id, id, contact_id, connection_id, body, from_me, is_read, media_type, origin, sent_at)
				select $1, c.id || '-' || p.id, p.id, c.id, 'Offer', true, true, 'text', 'api', $3 from contacts p join connections c using (company_id) where company_id = $1 and $2::int > 0`,
			`insert into outbox (company_id, message_id, connection_id, contact_id, due_at, created_at)
				select company_id, id, connection_id, contact_id, $3, $3 from messages where company_id = $1 and $2::int > 0 order by id`,
		} {
			if _, err := tx.Exec(t.Context(), sql, company.ID, messages, monday); err != nil {
				return err
			}
		}
		return nil
	}))
	sent := func() int { return count(company, `select count(*) from sandbox_messages`) }
	require.Eventually(t, func() bool { return sent() == connections*messages }, 2*time.Minute, 20*time.Millisecond)
	first := count(company, `select max(first) from (select min(seq) as first from sandbox_messages group by sender) s`)
	second := count(company, `select min(seq) from (select seq, row_number() over (partition by sender order by seq) as place from sandbox_messages) s where place = 51`)
	require.Less(t, first, second+8, "a second batch begins when every connection has begun its first; the eight at the same time are in no order")
}
