package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
)

func newAudit(a *app) *cobra.Command {
	var p paging
	var period timeRange
	var tenant string
	var filter client.AuditQuery
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who did what, newest first",
		Args:  exactly(),
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
			return listing[client.AuditItem]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.AuditItem]], error) {
					return c.Audit(ctx, filter, page)
				},
				columns: []column{{title: "time"}, {title: "who"}, {title: "action"}, {title: "resource"}, {title: "id"},
					{title: "status", paint: codeColour}, {title: "count"}, {title: "address"}, {title: "request"}},
				row: func(i client.AuditItem) []string {
					return []string{clock(i.At), actorText(i.Actor), i.Action, i.Resource, orDash(i.ResourceID),
						strconv.Itoa(i.Status), strconv.Itoa(i.Count), orDash(i.IP), orDash(i.RequestID)}
				},
				id: func(i client.AuditItem) string { return i.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only about this tenant: id, name or external reference")
	cmd.Flags().StringVar(&filter.ActorID, "actor", "", "only by this actor's id")
	cmd.Flags().StringVar(&filter.Action, "action", "", "only this action, e.g. keys.rotate")
	cmd.Flags().StringVar(&filter.Resource, "resource", "", "only this kind of thing, e.g. keys")
	cmd.Flags().BoolVar(&filter.Routine, "routine", false, "also status checks and webhooks of peers that got a response without an error")
	period.addTo(cmd)
	p.addTo(cmd)
	return cmd
}

func actorText(actor client.AuditActor) string {
	if actor.Label != "" {
		return actor.Type + " " + actor.Label
	}
	return actor.Type
}
