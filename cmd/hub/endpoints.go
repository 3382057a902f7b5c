package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newEndpoints(a *app) *cobra.Command {
	return group("endpoints", "Subscribe webhooks to a tenant's events",
		newEndpointsCreate(a), newEndpointsList(a), newEndpointsShow(a), newEndpointsUpdate(a),
		newEndpointsSwitch(a, "enable", "Send to endpoints again, first what was parked", true),
		newEndpointsSwitch(a, "disable", "Stop sending to endpoints; what comes is parked", false),
		newEndpointsDelete(a), newEndpointsRotate(a), newEndpointsPing(a), newEndpointsMatch(a), newEndpointsRecover(a))
}

const secretUsage = "use this secret, @file or -, instead of a new one: whsec_ and base64, or 24 to 128 plain characters"

const filterUsage = "CEL expression: send only the events for which it is true, such as 'event.data.total > 100'"

const secretShownOnce = "the secret is shown this once: keep it now"

// keyFlag adds --key to a command that a tenant's key may run too.
func keyFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(key, "key", "", "act with a tenant's key instead: the key, @file or - (HUB_KEY, safer)")
}

func newEndpointsCreate(a *app) *cobra.Command {
	var in client.EndpointInput
	var tenant, product, key, rate string
	var disabled bool
	var receiver receiverFlags
	cmd := &cobra.Command{
		Use:   "create URL --tenant TENANT",
		Short: "Subscribe an address; its secret is shown this once",
		Example: `  hub endpoints create https://example.com/hooks --tenant Acme --events 'contact.*'
  SECRET=$(hub endpoints create https://example.com/hooks --tenant Acme -q)`,
		Args: exactly("URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.URL = args[0]
			c, byKey, err := a.clientForTenant(key, tenant)
			if err != nil {
				return err
			}
			if byKey {
				in.Environment = "" // the key's
			} else if in.TenantID, err = neededTenant(cmd.Context(), c, tenant, product); err != nil {
				return err
			}
			if in.Secret, err = a.secret(in.Secret); err != nil {
				return err
			}
			if in.ReceiverSettings, err = receiver.read(a, cmd); err != nil {
				return err
			}
			if in.RatePerMinute, err = parseRate(rate); err != nil {
				return err
			}
			if disabled {
				in.Enabled = new(bool)
			}
			reply, err := c.CreateEndpoint(cmd.Context(), in)
			if err != nil {
				return err
			}
			return a.printNewSecret(reply)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tenant, "tenant", "", "tenant: id, name or external reference")
	flags.StringVar(&product, "product", "", "product of the tenant, where its name is not unique")
	flags.StringVar(&in.Environment, "environment", "live", "live or test")
	flags.StringSliceVar(&in.EventTypes, "events", []string{"*"}, "event types: *, contact.*, contact.created; repeatable")
	flags.StringVar(&in.Description, "description", "", "what it is for")
	flags.StringVar(&in.Secret, "secret", "", secretUsage)
	flags.StringVar(&rate, "rate-per-minute", "", "deliveries a minute at most; none = no limit")
	flags.BoolVar(&disabled, "disabled", false, "make it, but send nothing yet")
	flags.BoolVar(&in.Ordered, "ordered", false, "send the events of one ordering key one at a time, in their order")
	flags.StringVar(&in.Filter, "filter", "", filterUsage)
	receiver.addTo(cmd, "")
	keyFlag(cmd, &key)
	acceptTypes(cmd)
	choices(cmd, "environment", "live", "test")
	return cmd
}

// acceptTypes makes --types, --type and --event-types synonyms of --events.
func acceptTypes(cmd *cobra.Command) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "types" || name == "type" || name == "event-types" {
			name = "events"
		}
		return pflag.NormalizedName(name)
	})
}

// neededTenant is tenantID for commands that require a tenant.
func neededTenant(ctx context.Context, c *client.Client, tenant, product string) (string, error) {
	if tenant == "" {
		return "", usagef("--tenant is needed (or a tenant's key: --key); see: hub tenants list")
	}
	return tenantID(ctx, c, tenant, product)
}

// parseRate reads --rate-per-minute; "" and "none" are no limit.
func parseRate(text string) (*int, error) {
	if text == "" || text == "none" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return nil, usagef("--rate-per-minute is a number from 1, or none; not %q", text)
	}
	return &n, nil
}

// printNewSecret prints an endpoint and its new secret.
func (a *app) printNewSecret(reply client.Reply[client.Endpoint]) error {
	e := reply.Value
	if !a.json() {
		a.note(secretShownOnce)
		for _, notice := range e.Notices {
			a.note("%s", terminal.Printable(notice))
		}
	}
	return a.printCreated(reply.Raw, e.Secret, "secret", e.Secret, "id", e.ID, "url", e.URL, "events", strings.Join(e.EventTypes, ","))
}

func newEndpointsList(a *app) *cobra.Command {
	var p paging
	var tenant, key string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List endpoints",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := a.clientForTenant(key, tenant)
			if err != nil {
				return err
			}
			id, err := tenantID(cmd.Context(), c, tenant, "")
			if err != nil {
				return err
			}
			return listing[client.Endpoint]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Endpoint]], error) {
					return c.Endpoints(ctx, id, page)
				},
				columns: []column{{title: "id"}, {title: "url"}, {title: "events"}, {title: "env"}, {title: "status", paint: statusColour}, {title: "tenant"}},
				row: func(e client.Endpoint) []string {
					return []string{e.ID, e.URL, strings.Join(e.EventTypes, ","), e.Environment, endpointStatus(e), e.TenantID}
				},
				id: func(e client.Endpoint) string { return e.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only of this tenant: id, name or external reference")
	keyFlag(cmd, &key)
	p.addTo(cmd)
	return cmd
}

func endpointStatus(e client.Endpoint) string {
	if e.Enabled {
		return "active"
	}
	return "disabled"
}

// printEndpoint prints an endpoint without its secret.
func (a *app) printEndpoint(reply client.Reply[client.Endpoint]) error {
	e := reply.Value
	status := endpointStatus(e)
	if e.DisabledReason != "" {
		status += " (" + e.DisabledReason + ")"
	}
	rate := "no limit"
	if e.RatePerMinute != nil {
		rate = fmt.Sprintf("%d a minute", *e.RatePerMinute)
	}
	order := ""
	if e.Ordered {
		order = "by key"
	}
	filterErrors := ""
	if failed := e.FilterErrors; failed != nil {
		filterErrors = fmt.Sprintf("%d, last %s: %s", failed.Count, clock(failed.LastAt), failed.LastError)
	}
	certificate := ""
	if c := e.ClientCertificate; c != nil {
		certificate = c.Subject + ", until " + clock(c.ExpiresAt)
	}
	return a.printCreated(reply.Raw, e.ID, "id", e.ID, "url", e.URL, "events", strings.Join(e.EventTypes, ","),
		"filter", e.Filter, "filter errors", filterErrors, "headers", headersText(e.Headers), "client certificate", certificate, "status", status, "rate", rate, "order", order, "description", e.Description, "environment", e.Environment,
		"tenant", e.TenantID, "created", clock(e.CreatedAt))
}

// headersText returns headers on one line.
func headersText(headers map[string]string) string {
	lines := make([]string, 0, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+": "+headers[name])
	}
	return strings.Join(lines, ", ")
}

func newEndpointsShow(a *app) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an endpoint",
		Args:  exactly("the endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorOrKeyClient(key)
			if err != nil {
				return err
			}
			reply, err := c.Endpoint(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printEndpoint(reply)
		},
	}
	keyFlag(cmd, &key)
	return cmd
}

// endpointSettings are the flags that change an endpoint.
var endpointSettings = []string{"endpoint-url", "events", "description", "enabled", "rate-per-minute", "ordered", "filter"}

func newEndpointsUpdate(a *app) *cobra.Command {
	var key, rate, filter string
	var ordered bool
	var receiver receiverFlags
	var update client.EndpointUpdate
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change an endpoint; what is not given stays",
		Example: `  hub endpoints update 0198… --enabled=false
  hub endpoints update 0198… --endpoint-url https://example.com/hooks`,
		Args: exactly("the endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.ContainsFunc(slices.Concat(endpointSettings, receiverSettings), cmd.Flags().Changed) {
				return usagef("nothing to change: give --%s (--url is the address of the hub)", strings.Join(slices.Concat(endpointSettings, receiverSettings), ", --"))
			}
			limit, err := parseRate(rate)
			if err != nil {
				return err
			}
			if update.ReceiverSettings, err = receiver.read(a, cmd); err != nil {
				return err
			}
			c, err := a.operatorOrKeyClient(key)
			if err != nil {
				return err
			}
			current, err := c.Endpoint(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			keep := func(flag string, restore func(client.Endpoint)) {
				if !cmd.Flags().Changed(flag) {
					restore(current.Value)
				}
			}
			update.RatePerMinute = limit
			if cmd.Flags().Changed("ordered") {
				update.Ordered = &ordered
			}
			if cmd.Flags().Changed("filter") {
				update.Filter = &filter
			}
			keep("endpoint-url", func(e client.Endpoint) { update.URL = e.URL })
			keep("events", func(e client.Endpoint) { update.EventTypes = e.EventTypes })
			keep("description", func(e client.Endpoint) { update.Description = e.Description })
			keep("enabled", func(e client.Endpoint) { update.Enabled = e.Enabled })
			keep("rate-per-minute", func(e client.Endpoint) { update.RatePerMinute = e.RatePerMinute })
			reply, err := c.UpdateEndpoint(cmd.Context(), args[0], update)
			if err != nil {
				return err
			}
			return a.printEndpoint(reply)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&update.URL, "endpoint-url", "", "the address that receives (--url is the hub's own)")
	flags.StringSliceVar(&update.EventTypes, "events", nil, "event types: *, contact.*, contact.created; repeatable")
	flags.StringVar(&update.Description, "description", "", "what it is for")
	flags.BoolVar(&update.Enabled, "enabled", true, "whether it is sent to")
	flags.BoolVar(&ordered, "ordered", false, "whether it gets the events of one ordering key one at a time, in their order")
	flags.StringVar(&filter, "filter", "", filterUsage+"; '' removes it")
	flags.StringVar(&rate, "rate-per-minute", "", "deliveries a minute at most; none = no limit")
	receiver.addTo(cmd, "; replaces those there are, '' removes")
	keyFlag(cmd, &key)
	acceptTypes(cmd)
	return cmd
}

// newEndpointsSwitch returns a command that enables or disables endpoints.
func newEndpointsSwitch(a *app, name, short string, enabled bool) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   name + " ID…",
		Short: short,
		Args:  atLeastOne("endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorOrKeyClient(key)
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(id string) error {
				current, err := c.Endpoint(cmd.Context(), id)
				if err != nil {
					return err
				}
				e := current.Value
				reply, err := c.UpdateEndpoint(cmd.Context(), id, client.EndpointUpdate{
					URL: e.URL, EventTypes: e.EventTypes, Description: e.Description, Enabled: enabled, RatePerMinute: e.RatePerMinute,
				})
				if err != nil {
					return err
				}
				if a.json() {
					return a.printRaw(reply.Raw)
				}
				a.note("%sd %s", name, terminal.Printable(id))
				return nil
			})
		},
	}
	keyFlag(cmd, &key)
	return cmd
}

func newEndpointsDelete(a *app) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "delete ID…",
		Short: "End endpoints",
		Args:  atLeastOne("endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorOrKeyClient(key)
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(id string) error {
				if err := c.DeleteEndpoint(cmd.Context(), id); err != nil {
					return err
				}
				a.note("deleted %s", terminal.Printable(id))
				return nil
			})
		},
	}
	keyFlag(cmd, &key)
	return cmd
}

func newEndpointsRotate(a *app) *cobra.Command {
	var key, overlap string
	var rotation client.Rotation
	cmd := &cobra.Command{
		Use:   "rotate-secret ID",
		Short: "Make a new secret; for a while deliveries are signed with both",
		Long: `Make a new secret, shown this once. During the overlap webhook-signature carries
signatures with both secrets. X-Webhook-Signature has room for one: --switch=now makes it
with the new secret at once, --switch=end with the old one until the overlap ends. Receivers
that verify X-Webhook-Signature and know the new secret only later want --switch=end.`,
		Args: exactly("the endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			length, err := parseDuration(overlap)
			if err != nil {
				return err
			}
			if rotation.Secret, err = a.secret(rotation.Secret); err != nil {
				return err
			}
			c, err := a.operatorOrKeyClient(key)
			if err != nil {
				return err
			}
			rotation.OverlapSeconds = int64(length.Seconds())
			reply, err := c.RotateSecret(cmd.Context(), args[0], rotation)
			if err != nil {
				return err
			}
			return a.printNewSecret(reply)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&overlap, "overlap", "24h", "how long the old secret signs too: 0s, 1h, 24h, 7d")
	flags.StringVar(&rotation.Switch, "switch", "now", "when X-Webhook-Signature changes to the new secret: now, or at the end of the overlap")
	flags.StringVar(&rotation.Secret, "secret", "", secretUsage)
	keyFlag(cmd, &key)
	choices(cmd, "switch", "now", "end")
	return cmd
}

func newEndpointsPing(a *app) *cobra.Command {
	var key, eventType string
	cmd := &cobra.Command{
		Use:   "ping ID",
		Short: "Send hub.ping, or the example of an event type, to an endpoint",
		Example: `  hub endpoints ping 0198…
  hub endpoints ping 0198… --event-type order.created`,
		Args: exactly("the endpoint's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorOrKeyClient(key)
			if err != nil {
				return err
			}
			reply, err := c.Ping(cmd.Context(), args[0], eventType)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printRaw(reply.Raw)
			}
			a.print("%s", terminal.Printable(reply.Value.ID))
			a.note("on its way; see: hub deliveries show %s", terminal.Printable(reply.Value.ID))
			return nil
		},
	}
	cmd.Flags().StringVar(&eventType, "event-type", "", "send the example of this event type; see: hub event-types list")
	keyFlag(cmd, &key)
	return cmd
}
