package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// openedAccount says when an account of a hosted product was opened.
type openedAccount int

const (
	notHosted     openedAccount = iota // the hub does not run the product
	openedEarlier                      // by an earlier demo
	openedNow
)

// openAccount registers an account by its name, once.
func (d *demo) openAccount(name string, register func() error) (openedAccount, error) {
	err := register()
	var problem *client.Problem
	switch {
	case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
		d.Console.Say("   This hub does not run it (HUB_PRODUCTS).")
		return notHosted, nil
	case errors.As(err, &problem) && (problem.Code == "slug_taken" || problem.Code == "email_taken"):
		d.Console.Say("   %s has been there since an earlier demo.", name)
		return openedEarlier, nil
	case err != nil:
		return notHosted, err
	}
	return openedNow, nil
}

// createKey creates a key of a tenant that ends with the demo.
func (d *demo) createKey(ctx context.Context, tenant string, scopes ...string) (string, error) {
	d.removeLeftovers(ctx, tenant)
	reply, err := d.Operator.CreateKey(ctx, client.KeyInput{TenantID: tenant, Name: label, Scopes: scopes})
	if err != nil {
		return "", fmt.Errorf("creating a key: %w", err)
	}
	d.undo = append(d.undo, func(ctx context.Context) error { return d.Operator.RevokeKey(ctx, reply.Value.ID) })
	return reply.Value.APIKey, nil
}

// linkTenants connects two tenants, or finds them connected, and returns the integration of
// the first. uses are what the connection is for.
func (d *demo) linkTenants(ctx context.Context, tenant, peer string, uses ...string) (link string, err error) {
	linked, err := d.Operator.Link(ctx, client.LinkInput{TenantID: tenant, PeerTenantID: peer, Features: uses})
	if err != nil {
		return "", fmt.Errorf("linking two tenants: %w", err)
	}
	for _, integration := range linked.Value.Integrations {
		d.Console.Say("   %-10s → %-10s  %s", terminal.Printable(integration.OwnProduct), terminal.Printable(integration.Product), d.Console.Status(integration.Status))
		if integration.Status != "active" {
			return "", fmt.Errorf("the link of %s with %s is not in use: %s", integration.OwnProduct, integration.Product, integration.LastError)
		}
		if integration.TenantID == tenant {
			link = integration.ID
		}
	}
	return link, nil
}
