package api_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// Lists have pages of their own sizes, and say whether another one follows.
func TestPageSizes(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	ticket := receiveFrom(company, connection, "Ana", "0")
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `with contacts as (
			insert into messaging.contacts (company_id, name, number, number_key) select $1, 'Contact ' || i, '5511970000' || (100 + i), '5511970000' || (100 + i) from generate_series(1, 40) i returning id, number),
		tickets as (insert into messaging.tickets (company_id, uuid, status, contact_id, connection_id) select $1, gen_random_uuid(), 'pending', id, $2 from contacts),
		tags as (insert into messaging.tags (company_id, name) select $1, 'Tag ' || i from generate_series(1, 5001) i),
		quick as (insert into messaging.quick_messages (company_id, shortcode, message) select $1, 'code' || i, 'Hello' from generate_series(1, 21) i),
		lists as (insert into messaging.contact_lists (company_id, name) select $1, 'List ' || i from generate_series(1, 21) i)
		insert into messaging.messages (company_id, id, ticket_id, contact_id, connection_id, body, from_me, origin, sent_at)
			select $1, 'm-' || i, $3, $4, $2, i::text, false, 'contact', now() from generate_series(1, 44) g(i) order by g.i`,
		company.ID, connection.ID, int64(ticket["id"].(float64)), int64(ticket["contactId"].(float64)))
	require.NoError(t, err)
	for path, list := range map[string]struct {
		key         string
		size, count int
	}{
		"/contacts": {"contacts", 30, 41}, "/tickets": {"tickets", 40, 41}, "/tags": {"tags", 5000, 5001}, "/quick-messages": {"records", 20, 21}, "/contact-lists": {"contactLists", 20, 21},
	} {
		seen := make(map[any]bool)
		for number, size := range []int{list.size, list.count - list.size, 0} {
			page := company.Get(fmt.Sprintf("%s?pageNumber=%d", path, number+1))
			rows := page[list.key].([]any)
			require.Len(t, rows, size, "%s page %d", path, number+1)
			require.Equal(t, number == 0, page["hasMore"], "%s page %d", path, number+1)
			if size > 0 {
				require.EqualValues(t, list.count, page["count"], path)
			}
			for _, row := range rows {
				seen[row.(object)["id"]] = true
			}
		}
		require.Len(t, seen, list.count, "%s: each once", path)
	}
	// The newest page comes first; within a page the oldest message does.
	last := 44
	for number, size := range []int{20, 20, 5, 0} {
		page := company.Get(fmt.Sprintf("%s/messages?pageNumber=%d", messagingtest.TicketPath(ticket), number+1))
		messages := page["messages"].([]any)
		require.Len(t, messages, size)
		for i, message := range messages {
			require.Equal(t, fmt.Sprint(last-size+1+i), message.(object)["body"], "page %d", number+1)
		}
		require.Equal(t, []any{45.0, number < 2}, []any{page["count"], page["hasMore"]})
		last -= size
	}
}
