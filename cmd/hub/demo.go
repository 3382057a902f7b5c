package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/demo"
	"integrationhub/cmd/hub/internal/receiver"
	"integrationhub/cmd/hub/internal/terminal"
)

const demoLong = `Show what the hub does, on the hub that is running: register a product, make a
tenant and a key, subscribe a receiver, publish events, check the signatures of
what arrives, let one fail and watch its retry, read the log. Then an organization
opens in the scheduling service and has a week of bookings; it stays, with its booking
page. A clinic is linked with it, a client books and cancels, and the delivery log tells
how the clinic learned of it. A company on the messaging platform writes to the client's
simulated phone, and the answer reaches the clinic. The first demo of a hub goes on: a
client gets a reminder on the phone, which takes up to 80 seconds, cancels by answering
it, books again by the menus of the chat, and is erased in all three products. Each step
says which command does the same. Keys and the endpoint are removed at the end.`

func newDemo(a *app) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show on a running hub what it does, step by step",
		Long:  demoLong,
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			operator, err := a.operatorClient()
			if err != nil {
				return err
			}
			err = demo.Run(ctx, demo.Options{Operator: operator, Console: demoConsole{a}, Now: a.now, FindTenant: findTenant(operator)})
			if err != nil && ctx.Err() == context.DeadlineExceeded {
				return fmt.Errorf("the demo did not end within %s: %w", timeout, err)
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 3*time.Minute, "give up after this time")
	return cmd
}

// findTenant returns a function that finds a tenant as commands do.
func findTenant(operator *client.Client) func(context.Context, string, string) (string, bool, error) {
	return func(ctx context.Context, name, product string) (string, bool, error) {
		id, err := tenantID(ctx, operator, name, product)
		if exitCode(err) == exitNotFound {
			return "", false, nil
		}
		return id, err == nil, err
	}
}

// demoConsole prints a demo with the command's output settings.
type demoConsole struct{ app *app }

var _ demo.Console = demoConsole{}

// Say implements [demo.Console]: on stdout, unless that is for JSON.
func (c demoConsole) Say(format string, args ...any) {
	switch {
	case c.app.json():
		c.app.note(format, args...)
	case !c.app.quiet:
		c.app.print(format, args...)
	}
}

// Warn implements [demo.Console].
func (c demoConsole) Warn(format string, args ...any) { c.app.warn(format, args...) }

// Heading implements [demo.Console].
func (c demoConsole) Heading(text string) string { return c.app.paint(bold, text) }

// Success implements [demo.Console].
func (c demoConsole) Success(text string) string { return c.app.paint(green, text) }

// Status implements [demo.Console].
func (c demoConsole) Status(status string) string {
	return c.app.paint(statusColour(status), terminal.Printable(status))
}

// Signatures implements [demo.Console].
func (c demoConsole) Signatures(delivery receiver.Delivery) string {
	return c.app.signatureText(delivery)
}

// Log implements [demo.Console].
func (c demoConsole) Log(deliveries []client.Reply[client.Delivery]) error {
	if !c.app.json() {
		return c.app.printDelivery(deliveries[len(deliveries)-1], false)
	}
	raw := make([]json.RawMessage, len(deliveries))
	for i, delivery := range deliveries {
		raw[i] = delivery.Raw
	}
	return c.app.printValue(mergedPages(raw, ""))
}
