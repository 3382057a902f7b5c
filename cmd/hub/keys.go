package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

func newKeys(a *app) *cobra.Command {
	return group("keys", "Issue, rotate and revoke tenants' API keys",
		newKeysCreate(a), newKeysList(a), newKeysRotate(a), newKeysRevoke(a))
}

const keyShownOnce = "the key is shown this once: keep it now"

func newKeysCreate(a *app) *cobra.Command {
	var in client.KeyInput
	var tenant, product, expires string
	cmd := &cobra.Command{
		Use:   "create --tenant TENANT",
		Short: "Issue a key; it is shown this once",
		Example: `  export HUB_KEY=$(hub keys create --tenant Acme -q)
  hub keys create --tenant Acme --environment test --scope events.publish --rate 1000-M --expires 90d
  hub keys create --tenant Acme --name "status page" --scope deliveries.read --scope deliveries.retry`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tenant == "" {
				return usagef("--tenant is needed; see: hub tenants list")
			}
			var err error
			if in.ExpiresAt, err = parseExpiry(expires, a.now()); err != nil {
				return err
			}
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			if in.TenantID, err = tenantID(cmd.Context(), c, tenant, product); err != nil {
				return err
			}
			reply, err := c.CreateKey(cmd.Context(), in)
			if err != nil {
				return err
			}
			return a.printNewKey(reply)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&tenant, "tenant", "", "tenant: id, name or external reference")
	flags.StringVar(&product, "product", "", "product of the tenant, where its name is not unique")
	flags.StringVar(&in.Name, "name", "", "what the key is for")
	flags.StringVar(&in.Environment, "environment", "live", "live or test")
	flags.StringSliceVar(&in.Scopes, "scope", nil, "what it may do, e.g. events.publish, deliveries.read; repeatable; none = everything but deliveries.read and deliveries.retry")
	complete(cmd, "scope", "events.publish", "endpoints.manage", "deliveries.read", "deliveries.retry", "interaction.write")
	flags.StringVar(&in.Rate, "rate", "", "requests allowed, e.g. 100-M a minute; 0 = no limit (default: the hub's)")
	flags.StringVar(&expires, "expires", "", "when it ends: in 90d, 12h, or at 2027-01-31")
	choices(cmd, "environment", "live", "test")
	return cmd
}

// parseExpiry parses --expires: a time, or a duration from now; nil for "".
func parseExpiry(text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if length, err := parseDuration(text); err == nil {
		return new(now.Add(length).UTC()), nil
	}
	at, err := parseTime("--expires", text, now)
	if err != nil {
		return nil, err
	}
	return &at, nil
}

// printNewKey prints a new key.
func (a *app) printNewKey(reply client.Reply[client.Key]) error {
	k := reply.Value
	if !a.json() {
		a.note(keyShownOnce)
	}
	return a.printCreated(reply.Raw, k.APIKey,
		"api_key", k.APIKey, "id", k.ID, "environment", k.Environment, "scopes", scopesText(k.Scopes),
		"rate", rateText(k.Rate), "expires", endText(k.ExpiresAt))
}

func scopesText(scopes []string) string {
	if len(scopes) == 0 {
		return "all"
	}
	return strings.Join(scopes, ",")
}

func rateText(rate string) string {
	if rate == "0" {
		return "no limit"
	}
	return rate
}

func endText(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return clock(*at)
}

func newKeysList(a *app) *cobra.Command {
	var p paging
	var tenant string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List keys, as prefix…last4",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			id, err := tenantID(cmd.Context(), c, tenant, "")
			if err != nil {
				return err
			}
			return listing[client.Key]{
				fetch: func(ctx context.Context, page client.PageQuery) (client.Reply[client.Page[client.Key]], error) {
					return c.Keys(ctx, id, page)
				},
				columns: []column{{title: "id"}, {title: "key"}, {title: "name"}, {title: "env"}, {title: "status", paint: statusColour},
					{title: "scopes"}, {title: "rate"}, {title: "last used"}, {title: "tenant"}},
				row: func(k client.Key) []string {
					return []string{k.ID, k.Prefix + "…" + k.Last4, orDash(k.Name), k.Environment, keyStatus(k, a.now()),
						scopesText(k.Scopes), rateText(k.Rate), clockOf(k.LastUsedAt), k.TenantID}
				},
				id: func(k client.Key) string { return k.ID },
			}.show(cmd.Context(), a, p)
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only of this tenant: id, name or external reference")
	p.addTo(cmd)
	return cmd
}

// keyStatus returns "active", "expired" or "revoked".
func keyStatus(k client.Key, now time.Time) string {
	switch {
	case k.RevokedAt != nil && !k.RevokedAt.After(now):
		return "revoked"
	case k.ExpiresAt != nil && !k.ExpiresAt.After(now):
		return "expired"
	}
	return "active"
}

func newKeysRotate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rotate ID",
		Short:   "Replace a key; the old one works for a while longer",
		Example: `  hub keys rotate 0198… --overlap 1h`,
		Args:    exactly("the key's ID"),
	}
	return newRotation(a, cmd, "how long the old key stays valid", func(ctx context.Context, c *client.Client, id string, overlap time.Duration) error {
		reply, err := c.RotateKey(ctx, id, overlap)
		if err != nil {
			return err
		}
		if overlap > 0 {
			a.note("the old key works for another %s", cmd.Flag("overlap").Value)
		}
		return a.printNewKey(reply)
	})
}

func newKeysRevoke(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID…",
		Short: "End keys at once",
		Args:  atLeastOne("key's ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.operatorClient()
			if err != nil {
				return err
			}
			return a.eachID(cmd.Context(), args, func(id string) error {
				if err := c.RevokeKey(cmd.Context(), id); err != nil {
					return err
				}
				a.note("revoked %s", terminal.Printable(id))
				return nil
			})
		},
	}
}
