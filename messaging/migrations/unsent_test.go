package migrations_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Messages, schedules and shipments that were left behind without an entry of the outbox are
// settled. What waits, or whose report is awaited, stays.
func TestMessagesLeftBehindAreSettled(t *testing.T) {
	t.Parallel()
	const version = 50
	pool, provider := schemaBefore(t, version)
	execute(t, pool, `insert into messaging.connections (company_id, name, driver, status) select id, 'Line', 'sandbox', 'CONNECTED' from messaging.companies`)
	execute(t, pool, `insert into messaging.campaigns (company_id, name, status, messages, confirmation_messages) select id, 'Offers', 'running', array['Hi','','','',''], array['','','','',''] from messaging.companies`)
	execute(t, pool, `insert into messaging.campaign_progress (company_id, campaign_id) select company_id, id from messaging.campaigns`)
	want := make(map[string][]any)
	for i, c := range []struct {
		id                                                                        string
		isDeleted, isAnonymized, isDisconnected, isQueued, isUnclear, isTakenBack bool

		ack, code, shipment, schedule any
	}{
		{id: "of a connection", isDisconnected: true, ack: -1, code: "connection_deleted", shipment: "failed", schedule: "error"},
		{id: "of a contact", isAnonymized: true, isDisconnected: true, ack: -1, code: "anonymized", shipment: "skipped", schedule: "error"},
		{id: "of a ticket", isDeleted: true, code: "ticket_deleted", shipment: "failed", schedule: "error"},
		{id: "taken back", isTakenBack: true, ack: -1, code: "campaign_cancelled", shipment: "pending", schedule: "queued"},
		{id: "waiting", isQueued: true, ack: 0, shipment: "queued", schedule: "queued"},
		{id: "unclear", isUnclear: true, ack: 0, shipment: "queued", schedule: "queued"},
	} {
		execute(t, pool, `insert into messaging.contacts (company_id, name, number, number_key, anonymized_at) select id, 'Ana', $1, $1, case when $2 then now() end from messaging.companies`, fmt.Sprintf("551190000000%d", i), c.isAnonymized)
		const contact = `(select max(id) from messaging.contacts)`
		if !c.isDeleted {
			execute(t, pool, `insert into messaging.messages (company_id, id, contact_id, connection_id, from_me, origin, sent_at) select company_id, $1, `+contact+`, case when not $2 then id end, true, 'campaign', now() from messaging.connections`, c.id, c.isDisconnected)
		}
		if c.isQueued {
			execute(t, pool, `insert into messaging.outbox (company_id, message_id, connection_id, contact_id, due_at) select company_id, $1, id, `+contact+`, now() from messaging.connections`, c.id)
		}
		if c.isUnclear {
			execute(t, pool, `insert into messaging.unclear_messages (company_id, message_id, due_at) select id, $1, now() from messaging.companies`, c.id)
		}
		execute(t, pool, `insert into messaging.campaign_shipments (company_id, campaign_id, contact_id, status, message_id) select company_id, id, `+contact+`, $2, $1 from messaging.campaigns`, c.id, map[bool]string{true: "pending", false: "queued"}[c.isTakenBack])
		if !c.isTakenBack {
			execute(t, pool, `insert into messaging.schedules (company_id, contact_id, body, send_at, status, message_id) select id, `+contact+`, 'Hi', now(), 'queued', $1 from messaging.companies`, c.id)
			want[c.id] = []any{c.ack, c.code, c.shipment, c.schedule}
		} else {
			want[c.id] = []any{c.ack, c.code, c.shipment, nil}
		}
	}
	_, err := provider.UpTo(t.Context(), version)
	require.NoError(t, err)
	rows, err := pool.Query(t.Context(), `select s.message_id, m.ack, coalesce(m.error_code, s.error), s.status, h.status from messaging.campaign_shipments s
		left join messaging.messages m on m.id = s.message_id left join messaging.schedules h on h.message_id = s.message_id`)
	require.NoError(t, err)
	got := make(map[string][]any)
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(t, err)
		got[values[0].(string)] = values[1:]
	}
	require.NoError(t, rows.Err())
	for id, settled := range want {
		require.Equal(t, fmt.Sprint(settled), fmt.Sprint(got[id]), id)
	}
	var pending, failed, skipped int
	require.NoError(t, pool.QueryRow(t.Context(), `select pending, failed, skipped from messaging.campaign_progress`).Scan(&pending, &failed, &skipped))
	require.Equal(t, []int{3, 2, 1}, []int{pending, failed, skipped})
}
