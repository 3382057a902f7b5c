package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/terminal"
)

// exactly requires one argument for each name; without names there is none.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(names) == 0 && len(args) > 0:
			return fmt.Errorf("%s takes no argument: what is %q?", cmd.CommandPath(), args[0])
		case len(args) < len(names):
			return fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.Join(names[len(args):], " and "))
		case len(args) > len(names):
			return fmt.Errorf("%s takes only %s: what is %q?", cmd.CommandPath(), strings.Join(names, " and "), args[len(names)])
		}
		return nil
	}
}

// atLeastOne requires one argument or more.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs at least one %s", cmd.CommandPath(), name)
		}
		return nil
	}
}

// printCreated prints what a command created: the response as JSON, only the essential
// value with --quiet, else names and values.
func (a *app) printCreated(raw json.RawMessage, essential string, pairs ...string) error {
	switch {
	case a.json():
		return a.printRaw(raw)
	case a.quiet:
		a.print("%s", terminal.Printable(essential))
	default:
		a.fields(pairs...)
	}
	return nil
}

// eachID calls do for every id, until ctx ends, and warns of each that fails. The exit code is
// exitPartial if only some failed or were reached.
func (a *app) eachID(ctx context.Context, ids []string, do func(id string) error) error {
	var done, failed int
	var first error
	for _, id := range ids {
		err := ctx.Err()
		if err == nil {
			err = do(id)
		}
		if err == nil {
			done++
			continue
		}
		if ctx.Err() != nil && len(ids) > 1 {
			code := exitFailure
			if done > 0 {
				code = exitPartial
			}
			return &failure{code: code, err: fmt.Errorf("interrupted after %d of %d: %w", done+failed, len(ids), err)}
		}
		failed++
		if first == nil {
			first = err
		}
		if len(ids) > 1 {
			a.warn("%s: %s", terminal.Printable(id), terminal.Printable(err.Error()))
		}
	}
	if failed == 0 || failed == len(ids) {
		return first
	}
	return &failure{code: exitPartial, err: fmt.Errorf("%d of %d failed, the first: %w", failed, len(ids), first)}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// operatorOrKeyClient returns the client for calls that a tenant's key may make too: with --key,
// else with an operator's token, else with HUB_KEY.
func (a *app) operatorOrKeyClient(flag string) (*client.Client, error) {
	c, _, err := a.clientForTenant(flag, "")
	return c, err
}

// clientForTenant is [app.operatorOrKeyClient] for a call that names a tenant where an operator
// makes it: the key names its tenant itself. byKey reports whether the client has a key.
func (a *app) clientForTenant(flag, tenant string) (c *client.Client, byKey bool, err error) {
	if flag != "" && tenant != "" {
		return nil, false, usagef("--tenant is for operators; the key already names its tenant")
	}
	key := a.setting(flag, "HUB_KEY")
	if flag == "" {
		c, err = a.operatorClient()
		if err != nil || c.HasOperator() || key == "" || tenant != "" {
			return c, false, err
		}
	}
	c, err = a.keyClient(key)
	return c, true, err
}
