package api_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
	"integrationhub/messaging/migrations"
)

// A word, a name or the beginning of either that more than 10,000 tickets have is answered
// without reading all of them. The page is the same: its order, its filters, its end.
func TestSearchManyTickets(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompany(t)
	line := company.Connect()
	maria := receiveFrom(company, line, "Maria Prado", "Invoice inside")
	ana := receiveFrom(company, line, "Ana Souza", "Hi")
	other := company.AnotherCompany()
	contact := func(ticket object) int64 { return int64(ticket["contactId"].(float64)) }
	company.Hub.Exec(`insert into tickets (company_id, uuid, status, contact_id, connection_id, closed_at, updated_at)
		select $1, gen_random_uuid(), 'closed', $2::bigint, $3, now(), now() - n * interval '1 minute' from generate_series(1, 10049) n`, company.ID, contact(ana), line.ID)
	company.Hub.Exec(`analyze tickets`) // triggers that a connection planned for an empty table read all of it for each row
	company.Hub.Exec(`insert into messages (company_id, id, ticket_id, contact_id, connection_id, body, from_me, origin, sent_at)
		select company_id, 'm' || id, id, contact_id, connection_id, 'invoice ' || case when row_number() over (order by updated_at) <= 60 then 'oldest invoices' else '' end, false, 'contact', now()
		from tickets where company_id = $1 and contact_id = $2 and status = 'closed'`, company.ID, contact(ana))
	// Maria's ticket has 16,000 words that begin with y, and Ana's live one the last of all.
	for from := 10_000; from < 26_000; from += 500 {
		company.Hub.Exec(`insert into messages (company_id, id, ticket_id, contact_id, connection_id, body, from_me, origin, sent_at)
			select $1, 'y' || $2::int, $3::bigint, $4::bigint, $5, string_agg('y' || n, ' '), false, 'contact', now() from generate_series($2::int, $2 + 499) n`,
			company.ID, from, int64(maria["id"].(float64)), contact(maria), line.ID)
	}
	company.Hub.Exec(`update messages set body = 'yy' where ticket_id = $1`, int64(ana["id"].(float64)))
	for filter, want := range map[string]struct {
		count, rows int
		hasMore     bool
		first       any // nil: any
	}{
		"searchParam=invoice":                             {10_000, 40, true, maria["id"]},
		"searchParam=INVOI":                               {10_000, 40, true, maria["id"]},
		"searchParam=in":                                  {10_000, 40, true, maria["id"]}, // some tickets have three such words
		"searchParam=invoice&pageNumber=10":               {10_000, 40, true, nil},
		"searchParam=invoice&pageNumber=251":              {10_041, 40, true, nil},
		"searchParam=invoice&pageNumber=252":              {10_050, 10, false, nil},
		"searchParam=invoice&pageNumber=253":              {10_050, 0, false, nil},
		"searchParam=invoice&status=pending":              {1, 1, false, maria["id"]},
		"searchParam=invoice%20inside":                    {1, 1, false, maria["id"]},
		"searchParam=invoice%20oldest":                    {60, 40, true, nil},
		"searchParam=invoice%20oldest&pageNumber=2":       {60, 20, false, nil},
		"searchParam=souza":                               {10_000, 40, true, ana["id"]},
		"searchParam=SOUZA&pageNumber=252":                {10_050, 10, false, nil},
		"searchParam=souza&status=pending":                {1, 1, false, ana["id"]},
		"searchParam=a":                                   {10_000, 40, true, ana["id"]}, // by contact, all of them
		"searchParam=y":                                   {2, 2, false, ana["id"]},
		"searchParam=y&status=pending":                    {2, 2, false, ana["id"]},
		"searchParam=absent":                              {0, 0, false, nil},
		"searchParam=invoice&status=closed&pageNumber=11": {10_000, 40, true, nil},
		"searchParam=invoice&status=closed":               {41, 40, true, nil}, // one more than the page reaches
		"searchParam=invoice&status=closed&pageNumber=3":  {121, 40, true, nil},
		"searchParam=a&status=pending":                    {2, 2, false, ana["id"]},
		"searchParam=oldest%20in&status=closed":           {60, 40, true, nil}, // behind the first thousand
	} {
		page := company.Get("/tickets?" + filter)
		tickets := page["tickets"].([]any)
		require.EqualValues(t, want.count, page["count"], filter)
		require.Len(t, tickets, want.rows, filter)
		require.Equal(t, want.hasMore, page["hasMore"], filter)
		if want.first != nil {
			require.Equal(t, want.first, tickets[0].(object)["id"], filter)
		}
		for i := 1; i < len(tickets); i++ {
			require.GreaterOrEqual(t, tickets[i-1].(object)["updatedAt"], tickets[i].(object)["updatedAt"], filter)
		}
		require.Empty(t, other.Tickets(filter), filter)
	}
}

// The words of tickets are those of their messages, whatever happens to these.
func TestTicketWords(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAlone(t)
	line := company.Connect()
	ana := receiveFrom(company, line, "Ana Souza", "Blue shoes", "red shoes, RED hats!")
	other := receiveFrom(company, line, "Bia Lima", "Nothing")
	words := func() (list string) {
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select coalesce(string_agg(word, ' ' order by word), '') from ticket_words where ticket_id = $1`, ana["id"]).Scan(&list))
		return list
	}
	require.Equal(t, "blue hats red shoes", words())
	company.Hub.Exec(`update messages set body = 'Açaí ` + strings.Repeat("x", 50) + `' where body like 'red%'`)
	require.Equal(t, "acai blue shoes "+strings.Repeat("x", 40), words())
	require.Len(t, company.Tickets("searchParam="+strings.Repeat("x", 50)), 1)
	company.Hub.Exec(fmt.Sprintf(`update messages set ticket_id = %v where body like 'Blue%%'`, other["id"]))
	require.Equal(t, "acai "+strings.Repeat("x", 40), words())
	require.Len(t, company.Tickets("searchParam=blue"), 1)
	company.Hub.Exec(`delete from messages where body like 'Blue%'`)
	require.Empty(t, company.Tickets("searchParam=blue"))
	company.OK(200, "DELETE", messagingtest.TicketPath(ana), nil)
	require.Empty(t, words())

	// What was stored before the words were is collected by the migration.
	before := company.Hub.Count(`ticket_words`)
	require.Positive(t, before)
	company.Hub.Exec(`truncate ticket_words`)
	migration, err := fs.ReadFile(migrations.FS(), "00039_ticket_words_fill.sql")
	require.NoError(t, err)
	_, fill, _ := strings.Cut(string(migration), "-- +goose StatementBegin")
	fill, _, _ = strings.Cut(fill, "-- +goose StatementEnd")
	company.Hub.Exec(fill)
	require.Equal(t, before, company.Hub.Count(`ticket_words`))
}
