package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// completionTimeout is how long the shell waits for the hub's names.
const completionTimeout = 2 * time.Second

// completer returns values of the hub, each with a description.
type completer func(context.Context, *client.Client) []cobra.Completion

// completeFrom returns the completer of one of the hub's lists.
func completeFrom[T any](fetch func(context.Context, *client.Client, client.PageQuery) (client.Reply[client.Page[T]], error), describe func(T) (value, description string)) completer {
	return func(ctx context.Context, c *client.Client) []cobra.Completion {
		reply, err := fetch(ctx, c, client.PageQuery{Limit: pageMax})
		if err != nil {
			return nil // the shell completes nothing
		}
		values := make([]cobra.Completion, 0, len(reply.Value.Items))
		for _, item := range reply.Value.Items {
			value, description := describe(item)
			values = append(values, cobra.CompletionWithDesc(terminal.Printable(value), terminal.Printable(description)))
		}
		return values
	}
}

// completers returns the completers by the name of the flag, or of the group of commands.
func completers() map[string]completer {
	tenants := completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Tenant]], error) {
		return c.Tenants(ctx, client.TenantQuery{}, page)
	}, func(t client.Tenant) (string, string) { return t.Name, t.Product + " " + t.ID })
	endpoints := completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Endpoint]], error) {
		return c.Endpoints(ctx, "", page)
	}, func(e client.Endpoint) (string, string) { return e.ID, e.URL })
	integrations := completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Integration]], error) {
		return c.Integrations(ctx, client.IntegrationQuery{}, page)
	}, func(i client.Integration) (string, string) {
		return i.ID, i.OwnProduct + "/" + i.TenantName + " with " + i.Product
	})
	products := completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Product]], error) {
		return c.Products(ctx, page)
	}, func(p client.Product) (string, string) { return p.Name, p.Title })
	return map[string]completer{
		"tenant": tenants, "tenants": tenants, "endpoint": endpoints, "endpoints": endpoints,
		"integration": integrations, "integrations": integrations, "product": products, "products": products, "peer": products,
		"deliveries": completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Delivery]], error) {
			return c.Deliveries(ctx, client.DeliveryQuery{}, page)
		}, func(d client.Delivery) (string, string) { return d.ID, d.EventType + " " + d.Status }),
		"events": completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Event]], error) {
			return c.Events(ctx, client.EventQuery{}, page)
		}, func(e client.Event) (string, string) { return e.ID, e.EventType }),
		"keys": completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Key]], error) {
			return c.Keys(ctx, "", page)
		}, func(k client.Key) (string, string) { return k.ID, k.Name }),
		"operators": completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Operator]], error) {
			return c.Operators(ctx, page)
		}, func(o client.Operator) (string, string) { return o.Email, o.Name + " " + o.Role }),
		"replay": completeFrom(func(ctx context.Context, c *client.Client, page client.PageQuery) (client.Reply[client.Page[client.Replay]], error) {
			return c.Replays(ctx, page)
		}, func(r client.Replay) (string, string) { return r.ID, r.Status }),
	}
}

// addCompletions completes flags and arguments that name something in the hub.
func (a *app) addCompletions(root *cobra.Command) {
	lists := completers()
	for _, group := range root.Commands() {
		a.completeFlags(group, lists)
		for _, cmd := range group.Commands() {
			a.completeFlags(cmd, lists)
			if list := lists[group.Name()]; list != nil && cmd.Name() != "create" && cmd.Name() != "list" {
				cmd.ValidArgsFunction = a.completion(list)
			}
		}
	}
}

func (a *app) completeFlags(cmd *cobra.Command, lists map[string]completer) {
	for _, name := range []string{"tenant", "endpoint", "integration", "product", "peer"} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, a.completion(lists[name]))
		}
	}
}

// completion returns the completion function of a list. It completes nothing if the hub does not answer.
func (a *app) completion(list completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		a.quiet = true
		c, err := a.operatorClient()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		parent := cmd.Context()
		if parent == nil {
			parent = context.Background()
		}
		ctx, cancel := context.WithTimeout(parent, completionTimeout)
		defer cancel()
		return list(ctx, c), cobra.ShellCompDirectiveNoFileComp
	}
}
