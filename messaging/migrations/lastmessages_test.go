package migrations_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where a note is a ticket's last message, the migration puts the message before it in its place.
func TestNotesBecomeNoLastMessages(t *testing.T) {
	t.Parallel()
	const version = 53
	pool, provider := schemaBefore(t, version)
	for name, messages := range map[string][]struct {
		body, file string
		isNote     bool
	}{
		"a text":     {{"Hi", "", false}, {"A note", "", true}, {"", "note.pdf", true}},
		"a file":     {{"", "map.png", false}, {"A note", "", true}},
		"only notes": {{"A note", "", true}},
		"no note":    {{"A note", "", true}, {"Hi", "", false}},
	} {
		execute(t, pool, `insert into messaging.contacts (company_id, name, number, number_key) select id, $1, n, n from messaging.companies, lateral (select (5511900000000 + count(*))::text as n from messaging.contacts) next`, name)
		execute(t, pool, `insert into messaging.tickets (company_id, uuid, status, contact_id) select company_id, gen_random_uuid(), 'closed', id from messaging.contacts where name = $1`, name)
		for _, m := range messages {
			execute(t, pool, `insert into messaging.messages (company_id, id, ticket_id, contact_id, body, media_name, from_me, is_private, origin, sent_at)
				select t.company_id, gen_random_uuid()::text, t.id, c.id, $2, nullif($3, ''), true, $4, 'agent', now() from messaging.tickets t join messaging.contacts c on c.id = t.contact_id where c.name = $1`, name, m.body, m.file, m.isNote)
			execute(t, pool, `update messaging.tickets t set last_message = $2 from messaging.contacts c where c.id = t.contact_id and c.name = $1`, name, m.body+m.file)
		}
	}
	_, err := provider.UpTo(t.Context(), version)
	require.NoError(t, err)
	rows, err := pool.Query(t.Context(), `select c.name, t.last_message from messaging.tickets t join messaging.contacts c on c.id = t.contact_id`)
	require.NoError(t, err)
	got := make(map[string]string)
	for rows.Next() {
		var name, last string
		require.NoError(t, rows.Scan(&name, &last))
		got[name] = last
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[string]string{"a text": "Hi", "a file": "map.png", "only notes": "", "no note": "Hi"}, got)
}
