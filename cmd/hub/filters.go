package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// timeRange holds the flags --since and --until.
type timeRange struct{ since, until string }

func (s *timeRange) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.since, "since", "", "not older than: 15m, 24h, 7d, 2026-01-31 or RFC 3339")
	cmd.Flags().StringVar(&s.until, "until", "", "older than: the same forms")
}

// times returns both ends; an end whose flag is not set is the zero time.
func (s *timeRange) times(now time.Time) (since, until time.Time, err error) {
	if since, err = parseTime("--since", s.since, now); err != nil {
		return since, until, err
	}
	until, err = parseTime("--until", s.until, now)
	return since, until, err
}

// parseTime parses a date (UTC), a time of RFC 3339, or an age such as 15m. "" is the zero time.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if parsed, err := time.Parse(form, text); err == nil {
			return parsed, nil
		}
	}
	age, err := parseDuration(text)
	if err != nil {
		return time.Time{}, usagef("%s %q is not a time: give 15m, 24h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z", flag, text)
	}
	return now.Add(-age), nil
}

// parseDuration is time.ParseDuration with days.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 10_000 {
			return 0, usagef("%q is not a number of days", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	length, err := time.ParseDuration(text)
	if err != nil || length < 0 {
		return 0, usagef("%q is not a length of time such as 90s, 15m, 24h or 7d", text)
	}
	return length, nil
}

// logFilter holds the flags that filter the delivery log.
type logFilter struct {
	query  client.DeliveryQuery
	tenant string
	period timeRange
}

func (f *logFilter) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.query.Direction, "direction", "", "inbound or outbound")
	flags.StringVar(&f.query.Product, "product", "", "product the event comes from")
	flags.StringVar(&f.tenant, "tenant", "", "tenant: id, name or external reference")
	flags.StringVar(&f.query.Environment, "environment", "", "live or test")
	flags.StringVar(&f.query.IntegrationID, "integration", "", "id of an integration")
	flags.StringVar(&f.query.EndpointID, "endpoint", "", "id of an endpoint")
	flags.StringVar(&f.query.EventType, "type", "", "event type")
	flags.StringVar(&f.query.Status, "status", "", "pending, delivered, parked or failed; failing = pending after failed attempts, parked or failed")
	flags.Func("status-code", "HTTP `status` of the last attempt, 100 to 999", f.setStatusCode)
	flags.StringVar(&f.query.CorrelationID, "correlation-id", "", "correlation id")
	flags.StringVar(&f.query.EventID, "event", "", "event id (evt_…)")
	flags.StringVar(&f.query.Search, "query", "", "an event id, delivery id or correlation id, whichever you have")
	f.period.addTo(cmd)
	choices(cmd, "status", "pending", "delivered", "parked", "failed", "failing")
	choices(cmd, "direction", "inbound", "outbound")
	choices(cmd, "environment", "live", "test")
}

// setStatusCode refuses 0 as well, which the query has for "not asked for".
func (f *logFilter) setStatusCode(text string) (err error) {
	f.query.StatusCode, err = strconv.Atoi(text)
	if err != nil || f.query.StatusCode < 100 || f.query.StatusCode > 999 {
		return errors.New("must be an HTTP status, 100 to 999")
	}
	return nil
}

// complete offers the values of a flag to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// resolve returns the query, with the tenant's id and the times parsed.
func (f *logFilter) resolve(ctx context.Context, a *app, c *client.Client) (client.DeliveryQuery, error) {
	query := f.query
	since, until, err := f.period.times(a.now())
	if err != nil {
		return query, err
	}
	if !since.IsZero() {
		query.Since = &since
	}
	if !until.IsZero() {
		query.Until = &until
	}
	query.TenantID, err = tenantID(ctx, c, f.tenant, "")
	return query, err
}

// tenantOfProduct is tenantID for an argument that may name the product too: "clinic/Acme".
func tenantOfProduct(ctx context.Context, c *client.Client, argument string) (string, error) {
	product, tenant, both := strings.Cut(argument, "/")
	if !both {
		product, tenant = "", argument
	}
	if tenant == "" {
		return "", usagef("%q names no tenant", argument)
	}
	return tenantID(ctx, c, tenant, product)
}

// tenantID returns the id of the tenant with an id, a name or an external reference; "" for
// "". A name must be exact, letter case aside, and belong to one tenant only.
func tenantID(ctx context.Context, c *client.Client, name, product string) (string, error) {
	if name == "" {
		return "", nil
	}
	if _, err := uuid.Parse(name); err == nil {
		return name, nil
	}
	var exact, alike []client.Tenant
	for cursor := ""; ; {
		reply, err := c.Tenants(ctx, client.TenantQuery{Product: product, Search: name}, client.PageQuery{Limit: pageMax, Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, t := range reply.Value.Items {
			switch {
			case t.Name == name || t.ExternalRef == name:
				exact = append(exact, t)
			case strings.EqualFold(t.Name, name):
				alike = append(alike, t)
			}
		}
		if reply.Value.NextCursor == nil {
			break
		}
		cursor = *reply.Value.NextCursor
	}
	found := exact
	if len(found) == 0 {
		found = alike
	}
	switch len(found) {
	case 1:
		return found[0].ID, nil
	case 0:
		return "", &failure{code: exitNotFound, err: fmt.Errorf("no tenant has the name or reference %q", name), hint: "see: hub tenants list"}
	}
	var ids strings.Builder
	for _, t := range found {
		ids.WriteString("\n  " + t.ID + "  " + t.Product + "  " + terminal.Printable(t.Name))
	}
	return "", &failure{code: exitUsage, err: fmt.Errorf("several tenants are called %q", name), hint: "give the id of one of:" + ids.String()}
}
