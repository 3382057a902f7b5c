package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
)

func newEvents(a *app) *cobra.Command {
	return group("events", "Look at published events", newEventsList(a), newEventsShow(a))
}

func newEventsList(a *app) *cobra.Command {
	var p paging
	var period timeRange
	var filter client.EventQuery
	var tenant string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List events, newest first",
		Long:    `List events, newest first. By type, correlation id or outcome: hub deliveries list.`,
		Example: `  hub events list --tenant Acme --since 1h`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if filter.Since, filter.Until, err = period.times(a.now()); err != nil {
				return err
			}
			if filter.TenantID, err = tenantID(cmd.Context(), c, tenant, ""); err != nil {
				return err
			}
			return listing[client.Event]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Event]], error) {
					return c.Events(ctx, filter, page)
				},
				columns: []column{{title: "time"}, {title: "id"}, {title: "type"}, {title: "product"},
					{title: "deliveries", right: true}, {title: "correlation"}, {title: "tenant"}},
				row: func(e client.Event) []string {
					return []string{clock(e.CreatedAt), e.ID, e.EventType, e.Product,
						strconv.Itoa(e.Deliveries), orDash(e.CorrelationID), e.TenantID}
				},
				id: func(e client.Event) string { return e.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "tenant: id, name or external reference")
	cmd.Flags().StringVar(&filter.Environment, "environment", "", "live or test")
	choices(cmd, "environment", "live", "test")
	period.addTo(cmd)
	p.addTo(cmd)
	return cmd
}

func newEventsShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an event",
		Args:  exactly("the event's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.Event(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			e := reply.Value
			return a.printCreated(reply.Raw, e.ID, "id", e.ID, "type", e.EventType, "product", e.Product,
				"tenant", e.TenantID, "environment", e.Environment, "correlation", e.CorrelationID,
				"created", clock(e.CreatedAt), "deliveries", strconv.Itoa(e.Deliveries), "payload", string(e.Payload))
		},
	}
}
