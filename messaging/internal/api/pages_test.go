package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
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
		users as (insert into messaging.users (company_id, uid, name, email) select $1, gen_random_uuid(), 'User ' || i, 'user' || i || '@' || $1 || '.example.com' from generate_series(1, 20) i),
		schedules as (insert into messaging.schedules (company_id, contact_id, body, send_at) select $1, $4, 'Hello', now() + interval '1 day' from generate_series(1, 21) i),
		lists as (insert into messaging.contact_lists (company_id, name) select $1, 'List ' || i from generate_series(1, 21) i)
		insert into messaging.messages (company_id, id, ticket_id, contact_id, connection_id, body, from_me, origin, sent_at)
			select $1, 'm-' || i, $3, $4, $2, i::text, false, 'contact', now() from generate_series(1, 44) g(i) order by g.i`,
		company.ID, connection.ID, int64(ticket["id"].(float64)), int64(ticket["contactId"].(float64)))
	require.NoError(t, err)
	for i := range 21 {
		company.OK(201, "POST", "/campaigns", object{"name": fmt.Sprintf("Offer %d", i), "message1": "Hi", "whatsappId": connection.ID})
	}
	for path, list := range map[string]struct {
		key         string
		size, count int
	}{
		"/contacts": {"contacts", 30, 41}, "/tickets": {"tickets", 40, 41}, "/tags": {"tags", 5000, 5001}, "/quick-messages": {"records", 20, 21}, "/contact-lists": {"contactLists", 20, 21},
		"/users": {"users", 20, 21}, "/schedules": {"schedules", 20, 21}, "/campaigns": {"records", 20, 21},
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

// Lists take the platform's other names of states, also those for connected products.
func TestNamesOfStates(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	connection := company.Connect()
	contact := company.OK(201, "POST", "/contacts", object{"name": "Ana", "number": "5511987654321"})["id"]
	program := company.As(company.Hub.CreateKey(company.Tenant, hub.Live))
	change := func(sql string, of object, status string) {
		t.Helper()
		_, err := company.Hub.Host.Pool.Exec(t.Context(), sql, company.ID, messagingtest.ID(of), status)
		require.NoError(t, err)
	}
	campaigns := map[string]string{"draft": "INATIVA", "scheduled": "PROGRAMADA", "running": "EM_ANDAMENTO", "finished": "FINALIZADA", "cancelled": "CANCELADA"}
	for status := range campaigns {
		made := company.OK(201, "POST", "/campaigns", object{"name": status, "message1": "Hi", "whatsappId": connection.ID})
		change(`update messaging.campaigns set status = $3, scheduled_at = now() + interval '1 day' where company_id = $1 and id = $2`, made, status)
	}
	for status, other := range campaigns {
		for _, name := range []string{status, other} {
			records := company.Get("/campaigns?status=" + name)["records"].([]any)
			require.Len(t, records, 1, name)
			require.Equal(t, status, records[0].(object)["status"])
			found := program.Get(integrations + "/search/campaigns?status=" + name)["campaigns"].([]any)
			require.Len(t, found, 1, name)
			require.Equal(t, status, found[0].(object)["status"])
		}
	}
	schedules := map[string]string{"pending": "PENDENTE", "queued": "AGENDADA", "sent": "ENVIADA", "error": "ERRO"}
	for status := range schedules {
		made := company.OK(201, "POST", "/schedules", object{"body": "Hi", "sendAt": time.Now().Add(time.Hour), "contactId": contact})
		change(`update messaging.schedules set status = $3, message_id = $3 where company_id = $1 and id = $2`, made, status)
	}
	for status, other := range schedules {
		for _, name := range []string{status, other} {
			list := company.Get("/schedules?status=" + name)["schedules"].([]any)
			require.Len(t, list, 1, name)
			require.Equal(t, status, list[0].(object)["status"])
		}
	}
}
