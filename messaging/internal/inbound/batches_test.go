package inbound_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Messages that come while others are being stored are stored together: each once, in the
// order of its sender, and counted.
func TestMessagesTogether(t *testing.T) {
	t.Parallel()
	const phones, rounds = 30, 3
	company := messagingtest.NewCompanyAlone(t)
	line := company.Connect()
	numbers := make([]string, phones)
	for i := range numbers {
		numbers[i] = company.AddPhone(fmt.Sprintf("Phone %d", i))
		company.SendFromPhone(numbers[i], line, "message 0")
	}
	pool := company.Hub.Host.Pool
	holding, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holding.Rollback(t.Context()) }()
	_, err = holding.Exec(t.Context(), `lock table messages in share mode`)
	require.NoError(t, err)
	var sending sync.WaitGroup
	errs := make([]error, phones)
	for i, number := range numbers {
		sending.Go(func() {
			for round := 1; round <= rounds && errs[i] == nil; round++ {
				response, err := company.Try("POST", "/sandbox/phones/"+number+"/send", map[string]any{"to": line.Number, "body": fmt.Sprintf("message %d", round)})
				if errs[i] = err; err == nil && response.Status != 201 {
					errs[i] = fmt.Errorf("status %d: %s", response.Status, response.Text)
				}
			}
		})
	}
	require.Eventually(t, func() bool {
		var waiting int
		require.NoError(t, pool.QueryRow(t.Context(), `select count(*) from sandbox_messages where is_waiting`).Scan(&waiting))
		return waiting == phones
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, holding.Rollback(t.Context()))
	sending.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}

	var transactions, largest int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*), max(messages) from (select count(*) as messages from messages where body <> 'message 0' group by xmin::text) t`).Scan(&transactions, &largest))
	require.Greater(t, largest, phones/3)
	require.Less(t, transactions, phones*rounds/2)
	var isOrdered bool
	require.NoError(t, pool.QueryRow(t.Context(), `select bool_and(bodies = array['message 0', 'message 1', 'message 2', 'message 3'])
		from (select array_agg(body order by seq) as bodies from messages group by contact_id) s`).Scan(&isOrdered))
	require.True(t, isOrdered)
	var tickets, unread, events int
	require.NoError(t, pool.QueryRow(t.Context(), `select count(*), count(*) filter (where unread_messages = 4 and last_message = 'message 3'), (select count(*) from hub.events where event_type = 'message.received')
		from tickets`).Scan(&tickets, &unread, &events))
	require.Equal(t, []int{phones, phones, phones * (rounds + 1)}, []int{tickets, unread, events})
}
