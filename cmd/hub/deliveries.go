package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newDeliveries(a *app) *cobra.Command {
	return group("deliveries", "Look at the delivery log, retry and discard",
		newDeliveriesList(a), newDeliveriesShow(a), newDeliveriesRetry(a), newDeliveriesDiscard(a))
}

func newDeliveriesList(a *app) *cobra.Command {
	var p paging
	var filter logFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List deliveries, newest first",
		Example: `  hub deliveries list --tenant Acme --status failed --since 24h
  hub deliveries list --status failing
  hub deliveries list --status parked -q | xargs hub deliveries retry`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			query, err := filter.resolve(cmd.Context(), a, c)
			if err != nil {
				return err
			}
			return listing[client.Delivery]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Delivery]], error) {
					return c.Deliveries(ctx, query, page)
				},
				columns: deliveryColumns(),
				row:     deliveryRow,
				id:      func(d client.Delivery) string { return d.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	filter.addTo(cmd)
	p.addTo(cmd)
	return cmd
}

func deliveryColumns() []column {
	return []column{{title: "time"}, {title: "id"}, {title: "event", minor: true}, {title: "type"}, {title: "product", minor: true}, {title: "tenant"},
		{title: "direction"}, {title: "receiver"}, {title: "status", paint: statusColour}, {title: "reason"},
		{title: "code", paint: codeColour}, {title: "attempts", right: true}, {title: "took", right: true}, {title: "next attempt", minor: true}}
}

func deliveryRow(d client.Delivery) []string {
	return []string{clock(d.CreatedAt), d.ID, d.EventID, d.EventType, orDash(d.Product), cmp.Or(d.TenantName, d.TenantID),
		d.Direction, orDash(receiverText(d)), d.Status, orDash(d.Reason),
		codeText(d.StatusCode), strconv.Itoa(d.AttemptCount), tookText(d), clockOf(d.NextAttemptAt)}
}

// receiverText returns where a delivery goes, or the integration it came from.
func receiverText(d client.Delivery) string {
	return cmp.Or(d.Receiver, d.EndpointID, d.IntegrationID)
}

// tookText returns how long the last attempt took, in whole milliseconds.
func tookText(d client.Delivery) string {
	switch {
	case d.DurationMS == nil || d.Direction == inbound:
		return "-"
	case *d.DurationMS < 1:
		return "<1 ms"
	}
	return fmt.Sprintf("%.0f ms", *d.DurationMS)
}

func newDeliveriesShow(a *app) *cobra.Command {
	var event string
	var headers bool
	cmd := &cobra.Command{
		Use:   "show ID | show EVENT",
		Short: "Show a delivery with its attempts and where their time went",
		Example: `  hub deliveries show 0198…
  hub deliveries show evt_0123456789abcdef`,
		Args: func(cmd *cobra.Command, args []string) error {
			if event != "" {
				return exactly()(cmd, args)
			}
			return exactly("the delivery's ID, or the event's")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if event == "" && strings.HasPrefix(args[0], eventPrefix) {
				event = args[0]
			}
			if event == "" {
				reply, err := c.Delivery(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.printDelivery(reply, headers)
			}
			return a.printEventDeliveries(cmd.Context(), c, event, headers)
		},
	}
	cmd.Flags().StringVar(&event, "event", "", "show the deliveries of this event")
	cmd.Flags().BoolVar(&headers, "headers", false, "show the headers of requests and responses too")
	return cmd
}

// eventPrefix begins the ids of events.
const eventPrefix = "evt_"

// printEventDeliveries prints every delivery of an event; as JSON, in the form of a list.
func (a *app) printEventDeliveries(ctx context.Context, c *client.Client, event string, headers bool) error {
	var details []client.Reply[client.Delivery]
	for cursor := ""; ; {
		page, err := c.Deliveries(ctx, client.DeliveryQuery{EventID: event}, client.PageQuery{Limit: pageMax, Cursor: cursor})
		if err != nil {
			return err
		}
		for _, d := range page.Value.Items {
			reply, err := c.Delivery(ctx, d.ID)
			if err != nil {
				return err
			}
			details = append(details, reply)
		}
		if page.Value.NextCursor == nil {
			break
		}
		cursor = *page.Value.NextCursor
	}
	if len(details) == 0 {
		return &failure{code: exitNotFound, err: fmt.Errorf("there is no delivery of %s", event), hint: "see: hub events show " + terminal.Printable(event)}
	}
	if a.json() {
		raw := make([]json.RawMessage, 0, len(details))
		for _, d := range details {
			raw = append(raw, d.Raw)
		}
		return a.printValue(mergedPages(raw, ""))
	}
	for i, d := range details {
		if i > 0 && !a.quiet {
			a.print("")
		}
		if err := a.printDelivery(d, headers); err != nil {
			return err
		}
	}
	return nil
}

// printDelivery prints a delivery and its attempts.
func (a *app) printDelivery(reply client.Reply[client.Delivery], headers bool) error {
	if a.json() {
		return a.printRaw(reply.Raw)
	}
	d := reply.Value
	if a.quiet {
		a.print("%s", terminal.Printable(d.ID))
		return nil
	}
	a.print("delivery      %s  %s%s", terminal.Printable(d.ID), a.paint(statusColour(d.Status), terminal.Printable(d.Status)), attemptsText(d))
	next := ""
	if d.NextAttemptAt != nil {
		next = clock(*d.NextAttemptAt)
	}
	response := ""
	if d.Direction == inbound {
		response = codeText(d.StatusCode) + "  " + d.ResponseBody
	}
	a.fields("event       ", d.EventID, "type", d.EventType, "product", d.Product, "direction", d.Direction, "environment", d.Environment, "tenant", strings.TrimSpace(d.TenantName+" "+d.TenantID),
		"receiver", d.Receiver, "endpoint", d.EndpointID, "integration", d.IntegrationID, "correlation", d.CorrelationID, "priority", priorityText(d), "order", orderText(d), "reason", d.Reason,
		"created", clock(d.CreatedAt), "next attempt", next, "response", response, "payload", string(d.Payload))
	a.printWaiting(d.Waiting)
	for _, t := range d.Attempts {
		a.printAttempt(t, headers)
	}
	return nil
}

// priorityText returns a priority that is not the usual one; "" for others.
func priorityText(d client.Delivery) string {
	if d.Priority == "normal" {
		return ""
	}
	return d.Priority
}

// printWaiting prints why a delivery waits and what releases it.
func (a *app) printWaiting(w *client.Waiting) {
	if w == nil {
		return
	}
	a.fields("waits       ", w.Explanation, "last error", w.LastError, "released by", releaseText(w.Release), "fails", clockOf(w.ExpiresAt))
}

// releaseTexts are the API's names of what releases a delivery, in words.
var releaseTexts = map[string]string{
	"time": "time", "receiver_answers": "a success at the receiver", "enable_receiver": "enabling the receiver",
	"activate_integration": "a working connection (hub integrations test)", "retry": "hub deliveries retry", "discard": "hub deliveries discard of the one that is sent next",
}

func releaseText(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = cmp.Or(releaseTexts[name], name)
	}
	return strings.Join(texts, ", or ")
}

// inbound is the direction of what a peer sent: it was answered, and nothing attempted.
const inbound = "inbound"

func attemptsText(d client.Delivery) string {
	if d.Direction == inbound {
		if d.Retries == 0 {
			return ", came once"
		}
		return fmt.Sprintf(", came %d times", d.Retries+1)
	}
	switch n := len(d.Attempts); n {
	case 0:
		return ", not attempted yet"
	case 1:
		return " after 1 attempt"
	default:
		return fmt.Sprintf(" after %d attempts", n)
	}
}

// printAttempt prints one attempt: its outcome, its phases, what came back.
func (a *app) printAttempt(t client.Attempt, headers bool) {
	outcome := codeText(t.StatusCode)
	if t.StatusCode == 0 {
		outcome = "no response"
	}
	outcome = a.paint(codeColour(outcome), outcome)
	if t.Error != "" {
		outcome += "  " + terminal.Printable(t.Error)
	}
	a.print("")
	a.print("attempt %-4d  %s  %s", t.Number, t.StartedAt.UTC().Format("2006-01-02 15:04:05.000Z"), outcome)
	p := t.Phases
	a.print("  phases      queue %s | dns %s | connect %s | tls %s | first byte %s | total %s",
		millis(p.QueueMS), millis(p.DNSMS), millis(p.ConnectMS), millis(p.TLSMS), millis(p.FirstByteMS), millis(p.TotalMS))
	if headers {
		a.printHeaders("request", t.RequestHeaders)
		a.printHeaders("response", t.ResponseHeaders)
	}
	if t.ResponseBody != "" {
		a.print("  response    %s", terminal.Printable(t.ResponseBody))
	}
}

func (a *app) printHeaders(title string, headers map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		a.print("  %-10s  %s: %s", title, terminal.Printable(name), terminal.Printable(headers[name]))
	}
}

// orderText returns the ordering key of a delivery, and whether it is out of order.
func orderText(d client.Delivery) string {
	if d.OutOfOrder {
		return d.OrderingKey + " (out of order)"
	}
	return d.OrderingKey
}

func newDeliveriesRetry(a *app) *cobra.Command {
	cmd := newDeliveriesChange(a, (*client.Client).Retry)
	cmd.Use, cmd.Short = "retry ID…", "Send deliveries once more"
	return cmd
}

func newDeliveriesDiscard(a *app) *cobra.Command {
	cmd := newDeliveriesChange(a, (*client.Client).Discard)
	cmd.Use, cmd.Short = "discard ID…", "Fail deliveries that wait, so that those behind them pass"
	cmd.Long = `Fail deliveries that are pending or parked, for good. At an ordered endpoint the next one of
the same ordering key is sent then. A discarded delivery cannot be sent again.`
	return cmd
}

// newDeliveriesChange returns a command that makes one call for each delivery.
func newDeliveriesChange(a *app, call func(*client.Client, context.Context, string) (client.Reply[client.RetryResult], error)) *cobra.Command {
	return &cobra.Command{
		Args: atLeastOne("delivery's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(id string) error {
				reply, err := call(c, cmd.Context(), id)
				switch {
				case err != nil:
					return err
				case a.json() && len(args) == 1:
					return a.printRaw(reply.Raw)
				case a.json():
					return a.printLine(reply.Raw)
				case a.quiet:
					a.print("%s", terminal.Printable(reply.Value.ID))
				default:
					a.print("%s  %s", terminal.Printable(reply.Value.ID), terminal.Printable(reply.Value.Status))
				}
				return nil
			})
		},
	}
}
