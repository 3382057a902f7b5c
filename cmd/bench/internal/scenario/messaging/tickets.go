package messaging

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
)

// Sizes.
const (
	ticketContacts    = 50_000
	ticketsPerContact = 4 // one of them open or pending
	messagesPerTicket = 10
	listRounds        = 40 // of each query
)

const insertContacts = `
	insert into messaging.contacts (company_id, name, number, number_key)
	select $1::bigint, (array['Maria', 'Ana', 'João', 'José', 'Antônio', 'Francisca'])[1 + n % 6] || ' ' || initcap(substr(md5(n::text), 1, 8)), number, number
	from generate_series(1, $2::int) n, lateral (select '55119' || 80000000 + n as number) p`

const insertTickets = `
	insert into messaging.tickets (company_id, uuid, status, contact_id, connection_id, last_message, queued_at, created_at, updated_at, closed_at)
	select $1::bigint, gen_random_uuid(), status, c.id, $2::bigint, 'text', at, at, at, case status when 'closed' then at end
	from (select id, row_number() over (order by id) as n from messaging.contacts where company_id = $1) c, generate_series(1, $3::int) k,
		lateral (select case when k < $3 then 'closed' when c.n % 3 = 0 then 'pending' else 'open' end as status, now() - (c.n * $3 + k) * interval '1 minute' as at) s`

// insertMessages adds texts of six words: one in every hundredth message, one in every
// thousandth, others rare.
const insertMessages = `
	insert into messaging.messages (company_id, id, ticket_id, contact_id, connection_id, body, from_me, origin, sent_at)
	select $1::bigint, 'bench-' || t.id || '-' || k, t.id, t.contact_id, t.connection_id,
		case when (t.id * 10 + k) % 1000 = 0 then 'refund ' when (t.id * 10 + k) % 100 = 0 then 'invoice ' else '' end || substr(md5(t.id || ' ' || k), 1, 6) || ' ' || substr(md5(k || ' ' || t.id), 1, 6),
		false, 'contact', t.updated_at
	from messaging.tickets t, generate_series(1, $2::int) k where t.company_id = $1`

// MeasureTickets measures the list of tickets, one request at a time.
func MeasureTickets(ctx context.Context, run *stage.Run) (*report.Result, error) {
	return measure(ctx, run, func(c *company, result *report.Result) error {
		began := time.Now()
		for _, step := range []struct {
			sql  string
			args []any
		}{
			{insertContacts, []any{c.id, ticketContacts}},
			{insertTickets, []any{c.id, c.connection, ticketsPerContact}},
			{insertMessages, []any{c.id, messagesPerTicket}},
			{`vacuum analyze messaging.contacts`, nil},
			{`vacuum analyze messaging.tickets`, nil},
			{`vacuum analyze messaging.messages`, nil},
		} {
			if _, err := c.db.Exec(ctx, step.sql, step.args...); err != nil {
				return fmt.Errorf("filling the company: %w", err)
			}
		}
		fmt.Fprintf(run.Progress, "loaded %d tickets in %s\n", ticketContacts*ticketsPerContact, time.Since(began).Round(time.Second))
		for _, query := range []struct {
			name, query string
			isEmpty     bool
		}{
			{"first page", "", false},
			{"pending tickets", "?status=pending", false},
			{"page 100", "?pageNumber=100", false},
			{"a contact's name", "?searchParam=" + "c4ca4238", false},
			{"a contact's number", "?searchParam=980012345", false},
			{"a word of a thousandth of the messages", "?searchParam=refund", false},
			{"a word of a hundredth of the messages", "?searchParam=invoice", false},
			{"nothing is found", "?searchParam=zzzzzz", true},
		} {
			timing := report.QueryTiming{Query: "tickets: " + query.name, Judged: true}
			var durations []time.Duration
			for round := range listRounds + 3 {
				var page struct {
					Tickets []struct{} `json:"tickets"`
				}
				sentAt := time.Now()
				if err := c.call(ctx, http.MethodGet, "/tickets"+query.query, c.user, nil, &page); err != nil {
					return err
				}
				if timing.Rows = len(page.Tickets); (timing.Rows == 0) != query.isEmpty {
					return fmt.Errorf("%s: %d tickets", query.name, timing.Rows)
				}
				if round >= 3 {
					durations = append(durations, time.Since(sentAt))
				}
			}
			timing.SetDurations(durations)
			result.Queries = append(result.Queries, timing)
			result.Figures[report.FigureTicketList] = max(result.Figures[report.FigureTicketList], timing.P95)
		}
		return nil
	})
}
