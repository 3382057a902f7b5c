package messaging

import (
	"context"
	"errors"
	"fmt"
	"time"

	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/report"
	"integrationhub/cmd/bench/internal/stage"
)

// Sizes.
const (
	inboundRate  = 500 // messages a second
	sendRate     = 200
	rateDuration = 15 * time.Second
	phoneCount   = 1_000
	inboundCount = inboundRate * int(rateDuration/time.Second)
)

func phoneNumber(n int) string { return fmt.Sprintf("5511980%06d", 100_001+n*7) }

// MeasureInbound measures messages that phones send to the company, and counts what is
// stored.
func MeasureInbound(ctx context.Context, run *stage.Run) (*report.Result, error) {
	return measure(ctx, run, func(c *company, result *report.Result) error {
		_, err := c.db.Exec(ctx, `insert into messaging.sandbox_phones (number, name) select '5511980' || lpad((100001 + n * 7)::text, 6, '0'), 'Phone ' || n from generate_series(0, $1::int - 1) n`, phoneCount)
		if err != nil {
			return fmt.Errorf("making phones: %w", err)
		}
		const count = inboundCount
		durations, elapsed, err := atRate(inboundRate, count, func(n int) error {
			return c.post(ctx, "/sandbox/phones/"+phoneNumber(n%phoneCount)+"/send", "", map[string]any{"to": connectionNumber, "body": fmt.Sprintf("message %d", n)}, nil)
		})
		if err != nil {
			return err
		}
		timing := report.QueryTiming{Query: "a received message is stored", Rows: count}
		timing.SetDurations(durations)
		result.Queries = append(result.Queries, timing)
		result.Figures[report.FigureInboundMessages] = float64(count) / elapsed.Seconds()
		err = c.requireCounts(ctx, `select
			(select count(*) from messaging.messages where company_id = $1 and origin = 'contact') as messages,
			(select count(distinct body) from messaging.messages where company_id = $1 and origin = 'contact') as texts,
			(select count(*) from messaging.contacts where company_id = $1) as contacts,
			(select count(*) from messaging.tickets where company_id = $1) as tickets,
			(select sum(unread_messages) from messaging.tickets where company_id = $1)::bigint as unread,
			(select count(*) from hub.events where event_type = 'message.received') as events,
			(select count(*) from hub.events where event_type = 'ticket.created') as ticket_events`,
			[]any{c.id}, map[string]int{"messages": count, "texts": count, "contacts": phoneCount, "tickets": phoneCount, "unread": count, "events": count, "ticket_events": phoneCount})
		if err != nil {
			return errors.Join(reconcile.ErrUnsound, err)
		}
		return nil
	})
}

// MeasureSend measures the send API.
func MeasureSend(ctx context.Context, run *stage.Run) (*report.Result, error) {
	return measure(ctx, run, func(c *company, result *report.Result) error {
		send := func(n int) error {
			return c.post(ctx, "/api/messages/send", c.key, map[string]any{"number": phoneNumber(n % phoneCount), "body": fmt.Sprintf("message %d", n)}, nil)
		}
		for n := range phoneCount { // contacts and tickets exist before
			if err := send(n); err != nil {
				return err
			}
		}
		count := sendRate * int(rateDuration/time.Second)
		durations, _, err := atRate(sendRate, count, send)
		if err != nil {
			return err
		}
		timing := report.QueryTiming{Query: "POST /api/messages/send at 200/s", Rows: count, Judged: true}
		timing.SetDurations(durations)
		result.Queries = append(result.Queries, timing)
		result.Figures[report.FigureSend] = timing.P95
		err = c.requireCounts(ctx, `select
			(select count(*) from messaging.messages where company_id = $1 and origin = 'api' and ack > 0) as messages,
			(select count(*) from messaging.sandbox_messages) as arrived,
			(select count(*) from messaging.tickets where company_id = $1) as tickets`,
			[]any{c.id}, map[string]int{"messages": count + phoneCount, "arrived": count + phoneCount, "tickets": phoneCount})
		if err != nil {
			return errors.Join(reconcile.ErrUnsound, err)
		}
		return nil
	})
}
