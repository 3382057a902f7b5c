package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newAlerts(a *app) *cobra.Command {
	return group("alerts", "Notify operators of what fails, by e-mail or webhook",
		newAlertsCreate(a), newAlertsList(a), newAlertsShow(a), newAlertsUpdate(a), newAlertsDelete(a), newAlertsRotate(a), newAlertsTest(a))
}

const alertEventsUsage = "operational events: hub.*, hub.endpoint.*, hub.key.expiring; repeatable"

func newAlertsCreate(a *app) *cobra.Command {
	in := client.AlertInput{AlertSettings: client.AlertSettings{Enabled: true}}
	var tenant, product string
	var disabled bool
	cmd := &cobra.Command{
		Use:   "create ADDRESS",
		Short: "Make an alert by e-mail or, for a URL, by webhook, whose secret is shown this once",
		Example: `  hub alerts create ops@example.com
  SECRET=$(hub alerts create https://example.com/alerts --events 'hub.endpoint.*' -q)`,
		Args: exactly("the ADDRESS: of e-mail, or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Target, in.Kind, in.Enabled = args[0], kindOf(args[0]), !disabled
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if in.AlertSettings, err = withAlertScope(cmd.Context(), c, in.AlertSettings, tenant, product); err != nil {
				return err
			}
			reply, err := c.CreateAlert(cmd.Context(), in)
			if err != nil {
				return err
			}
			if reply.Value.Secret == "" {
				return a.printAlert(reply)
			}
			return a.printNewAlertSecret(reply)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&in.Events, "events", []string{"hub.*"}, alertEventsUsage)
	flags.StringVar(&tenant, "tenant", "", "only about this tenant: id, name or external reference")
	flags.StringVar(&product, "product", "", "only about tenants of this product")
	flags.BoolVar(&disabled, "disabled", false, "make it, but send nothing yet")
	acceptTypes(cmd)
	return cmd
}

// kindOf returns the kind of alert for an address.
func kindOf(address string) string {
	if strings.Contains(address, "://") {
		return "webhook"
	}
	return "email"
}

// withAlertScope limits an alert to a tenant or a product; both "": all.
func withAlertScope(ctx context.Context, c *client.Client, settings client.AlertSettings, tenant, product string) (client.AlertSettings, error) {
	if tenant == "" {
		if product != "" {
			settings.Product = &product
		}
		return settings, nil
	}
	id, err := tenantID(ctx, c, tenant, product)
	settings.TenantID = &id
	return settings, err
}

func newAlertsList(a *app) *cobra.Command {
	var p paging
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List alerts",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return listing[client.Alert]{
				fetch:   c.Alerts,
				columns: []column{{title: "id"}, {title: "kind"}, {title: "target"}, {title: "events"}, {title: "about"}, {title: "status", paint: statusColour}},
				row: func(alert client.Alert) []string {
					return []string{alert.ID, alert.Kind, alert.Target, strings.Join(alert.Events, ","), scopeText(alert), alertStatus(alert)}
				},
				id: func(alert client.Alert) string { return alert.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	p.addTo(cmd)
	return cmd
}

// scopeText returns which tenants an alert is for.
func scopeText(alert client.Alert) string {
	switch {
	case alert.TenantID != nil:
		return "tenant " + *alert.TenantID
	case alert.Product != nil:
		return "product " + *alert.Product
	}
	return "all"
}

func alertStatus(alert client.Alert) string {
	switch {
	case alert.DisabledReason != nil:
		return "disabled (" + *alert.DisabledReason + ")"
	case !alert.Enabled:
		return "disabled"
	}
	return "active"
}

// printAlert prints an alert without its secret.
func (a *app) printAlert(reply client.Reply[client.Alert]) error {
	alert := reply.Value
	return a.printCreated(reply.Raw, alert.ID, "id", alert.ID, "kind", alert.Kind, "target", alert.Target, "events", strings.Join(alert.Events, ","),
		"about", scopeText(alert), "status", alertStatus(alert), "created", clock(alert.CreatedAt))
}

// printNewAlertSecret prints an alert and its new secret.
func (a *app) printNewAlertSecret(reply client.Reply[client.Alert]) error {
	alert := reply.Value
	if !a.json() {
		a.note(secretShownOnce)
	}
	return a.printCreated(reply.Raw, alert.Secret, "secret", alert.Secret, "id", alert.ID, "target", alert.Target, "events", strings.Join(alert.Events, ","))
}

func newAlertsShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an alert",
		Args:  exactly("the alert's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.Alert(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printAlert(reply)
		},
	}
}

// alertSettings are the flags that change an alert.
var alertSettings = []string{"target", "events", "tenant", "product", "enabled"}

func newAlertsUpdate(a *app) *cobra.Command {
	var settings client.AlertSettings
	var tenant, product string
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change an alert; what is not given stays",
		Example: `  hub alerts update 0198… --enabled=false
  hub alerts update 0198… --events hub.endpoint.failing,hub.endpoint.recovered`,
		Args: exactly("the alert's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.ContainsFunc(alertSettings, cmd.Flags().Changed) {
				return usagef("nothing to change: give --%s", strings.Join(alertSettings, ", --"))
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			current, err := c.Alert(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("target") {
				settings.Target = current.Value.Target
			}
			if !cmd.Flags().Changed("events") {
				settings.Events = current.Value.Events
			}
			if !cmd.Flags().Changed("enabled") {
				settings.Enabled = current.Value.Enabled
			}
			if cmd.Flags().Changed("tenant") || cmd.Flags().Changed("product") {
				if settings, err = withAlertScope(cmd.Context(), c, settings, tenant, product); err != nil {
					return err
				}
			} else {
				settings.Product, settings.TenantID = current.Value.Product, current.Value.TenantID
			}
			reply, err := c.UpdateAlert(cmd.Context(), args[0], settings)
			if err != nil {
				return err
			}
			return a.printAlert(reply)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&settings.Target, "target", "", "the e-mail address, or the URL of a webhook")
	flags.StringSliceVar(&settings.Events, "events", nil, alertEventsUsage)
	flags.StringVar(&tenant, "tenant", "", "only about this tenant: id, name or external reference; '' = all")
	flags.StringVar(&product, "product", "", "only about tenants of this product; '' = all")
	flags.BoolVar(&settings.Enabled, "enabled", true, "whether it is sent")
	acceptTypes(cmd)
	return cmd
}

func newAlertsDelete(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID…",
		Short: "Delete alerts; the log stays",
		Args:  atLeastOne("alert's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(id string) error {
				if err := c.DeleteAlert(cmd.Context(), id); err != nil {
					return err
				}
				a.note("deleted %s", terminal.Printable(id))
				return nil
			})
		},
	}
}

func newAlertsRotate(a *app) *cobra.Command {
	return newRotation(a, &cobra.Command{
		Use:   "rotate-secret ID",
		Short: "Make a new secret for a webhook; for a while it is signed with both",
		Args:  exactly("the alert's ID"),
	}, "how long the old secret signs too", func(ctx context.Context, c *client.Client, id string, overlap time.Duration) error {
		reply, err := c.RotateAlertSecret(ctx, id, overlap)
		if err != nil {
			return err
		}
		return a.printNewAlertSecret(reply)
	})
}

func newAlertsTest(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test ID",
		Short: "Send a test: a mail, or hub.ping to a webhook",
		Args:  exactly("the alert's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			reply, err := c.TestAlert(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if reply.Value.EventID == nil {
				return a.printCreated(reply.Raw, "", "sent", "a mail")
			}
			return a.printCreated(reply.Raw, *reply.Value.EventID, "event", *reply.Value.EventID)
		},
	}
}
