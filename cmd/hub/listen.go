package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/receiver"
	"integrationhub/cmd/hub/internal/terminal"
)

// listenFlags are the flags of `hub listen`.
type listenFlags struct {
	port, status, failFirst, count        int
	forward, tenant, product, environment string
	secrets, events                       []string
	timeout                               time.Duration
	body                                  bool
}

func newListen(a *app) *cobra.Command {
	var f listenFlags
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Receive webhooks here, and check their signatures",
		Long: `Receive webhooks on a loopback address and print one line for each: what it is,
and whether both of its signatures are valid.

With --tenant it subscribes itself to the tenant's events at a hub on this machine,
and unsubscribes when it ends. Without, give the endpoint's secret in
HUB_WEBHOOK_SECRET, so that signatures can be checked.

It also stands in front of a product's webhook: have the peer send here (hub connect
--webhook-url, or the peer's own settings), take the secret from "hub integrations
rotate-secret", and --forward to <base>/api/v1/integrations/webhook. Key, signature
and body arrive there as they came, and the line tells what the product made of it.

A delivery whose signature is wrong gets a 401, unless --forward passes it on.`,
		Example: `  hub listen --tenant Acme
  hub listen --tenant Acme --events 'contact.*' --fail-first 2
  hub listen --port 9000 --forward http://127.0.0.1:3000/webhooks
  hub listen --port 9000 --forward http://127.0.0.1:8080/clinic/api/v1/integrations/webhook
  hub listen --tenant Acme --count 1 --timeout 30s`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listen(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.port, "port", 0, "port to listen on; 0 = a free one")
	flags.StringVar(&f.forward, "forward", "", "pass each delivery on to this URL, and its response back")
	flags.StringSliceVar(&f.secrets, "secret", nil, "the endpoint's secret, @file or -; repeatable (HUB_WEBHOOK_SECRET, safer)")
	flags.StringVar(&f.tenant, "tenant", "", "subscribe to this tenant's events: id, name or external reference")
	flags.StringVar(&f.product, "product", "", "product of the tenant, where its name is not unique")
	flags.StringVar(&f.environment, "environment", "live", "live or test")
	flags.StringSliceVar(&f.events, "events", []string{"*"}, "with --tenant: event types to subscribe to")
	flags.IntVar(&f.status, "status", 0, "respond with this status instead of 200")
	flags.IntVar(&f.failFirst, "fail-first", 0, "respond to the first N attempts of each event with 500")
	flags.IntVar(&f.count, "count", 0, "end after N verified deliveries; at once, as a failure, when a signature is wrong")
	flags.DurationVar(&f.timeout, "timeout", 0, "end after this time, e.g. 30s")
	flags.BoolVar(&f.body, "body", false, "print the body of each delivery")
	cmd.MarkFlagsMutuallyExclusive("forward", "status")
	cmd.MarkFlagsMutuallyExclusive("tenant", "secret")
	choices(cmd, "environment", "live", "test")
	return cmd
}

// check refuses flags that contradict each other and resolves secrets.
func (f *listenFlags) check(a *app) error {
	if f.status != 0 && (f.status < 200 || f.status > 599) {
		return usagef("--status is an HTTP status from 200 to 599, not %d", f.status)
	}
	if f.failFirst < 0 || f.count < 0 || f.timeout < 0 {
		return usagef("--fail-first, --count and --timeout are not negative")
	}
	if f.tenant != "" {
		return nil
	}
	if len(f.secrets) == 0 {
		if secret := a.getenv("HUB_WEBHOOK_SECRET"); secret != "" {
			f.secrets = []string{secret}
		}
	}
	for i, argument := range f.secrets {
		secret, err := a.secret(argument)
		if err != nil {
			return err
		}
		if secret == "" {
			return usagef("the secret is empty")
		}
		f.secrets[i] = secret
	}
	if f.count > 0 && len(f.secrets) == 0 {
		return usagef("--count needs a secret to verify with: --tenant, --secret or HUB_WEBHOOK_SECRET")
	}
	return nil
}

// deliveryCounts counts the deliveries of one run.
type deliveryCounts struct {
	received, verified, invalid atomic.Int64
	done                        context.Context // done when it may end
	stop                        context.CancelFunc
}

func (a *app) listen(ctx context.Context, f listenFlags) error {
	if err := f.check(a); err != nil {
		return err
	}
	handler := &receiver.Receiver{Secrets: f.secrets, Now: a.now, Answer: f.answer}
	if f.forward != "" {
		forward, err := receiver.NewForwarder(f.forward)
		if err != nil {
			return usagef("--forward %q is %w", f.forward, err)
		}
		handler.Forward = forward
	}
	server, err := receiver.Open(f.port)
	if err != nil {
		return err
	}
	defer closeWithin(server, 5*time.Second)
	if f.tenant != "" {
		secret, remove, err := a.subscribe(ctx, f, server.URL)
		if err != nil {
			return err
		}
		defer remove()
		handler.Secrets = []string{secret}
	}
	counts := &deliveryCounts{}
	counts.done, counts.stop = context.WithCancel(ctx)
	defer counts.stop()
	handler.OnDelivery = func(d receiver.Delivery) { a.countAndPrint(d, f, counts) }
	server.Serve(handler)
	a.note("listening on %s; end with Ctrl-C", server.URL)
	if len(handler.Secrets) == 0 {
		a.note("signatures stay unchecked: set HUB_WEBHOOK_SECRET or give --tenant")
	}
	return a.listenUntil(f, server, counts)
}

func closeWithin(server *receiver.Server, wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	server.Close(ctx)
}

// listenUntil waits for the end and returns an error if a signature was invalid or deliveries are missing.
func (a *app) listenUntil(f listenFlags, server *receiver.Server, counts *deliveryCounts) error {
	var timeout <-chan time.Time
	if f.timeout > 0 {
		timer := time.NewTimer(f.timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-counts.done.Done(): // Ctrl-C included
	case <-timeout:
	case err := <-server.Ended():
		return fmt.Errorf("listening: %w", err)
	}
	closeWithin(server, 5*time.Second) // what is being answered still counts
	verified, invalid := counts.verified.Load(), counts.invalid.Load()
	a.note("received %d: %d verified, %d wrong", counts.received.Load(), verified, invalid)
	switch {
	case invalid > 0:
		return &failure{code: exitFailure, err: fmt.Errorf("%d of %d deliveries had a wrong signature", invalid, counts.received.Load())}
	case verified < int64(f.count):
		return &failure{code: exitFailure, err: fmt.Errorf("only %d of %d verified deliveries arrived", verified, f.count)}
	}
	return nil
}

// answer returns the status for a delivery; 0 is 200, or what --forward answers.
func (f listenFlags) answer(d receiver.Delivery) int {
	switch {
	case d.Attempt <= f.failFirst:
		return 500
	case d.Checked() && !d.Verified() && f.forward == "":
		return 401
	}
	return f.status
}

// subscribe creates an endpoint with the receiver's address; remove deletes it.
func (a *app) subscribe(ctx context.Context, f listenFlags, address string) (secret string, remove func(), err error) {
	c, err := a.operatorClient()
	if err != nil {
		return "", nil, err
	}
	if !isLoopback(c.Base()) {
		a.warn("%s is not on this machine and will hardly reach %s", c.Base(), address)
	}
	tenant, err := tenantID(ctx, c, f.tenant, f.product)
	if err != nil {
		return "", nil, err
	}
	creating, cancel := outlive(ctx) // without its id it could not be removed
	defer cancel()
	reply, err := c.CreateEndpoint(creating, client.EndpointInput{
		TenantID: tenant, Environment: f.environment, URL: address, EventTypes: f.events,
		Description: "hub listen, until it ends",
	})
	if err != nil {
		return "", nil, fmt.Errorf("subscribing: %w", err)
	}
	id := reply.Value.ID
	return reply.Value.Secret, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := c.DeleteEndpoint(ctx, id); err != nil {
			a.warn("the endpoint %s could not be removed: %s", terminal.Printable(id), terminal.Printable(err.Error()))
		}
	}, nil
}

// countAndPrint prints a delivery and counts it. It is not safe for concurrent use.
func (a *app) countAndPrint(d receiver.Delivery, f listenFlags, counts *deliveryCounts) {
	a.printReceived(d, f.body)
	counts.received.Add(1)
	switch {
	case d.Checked() && !d.Verified():
		counts.invalid.Add(1)
	case d.Verified() && (d.Status < 300 || d.Status == f.status):
		counts.verified.Add(1)
	}
	if f.count > 0 && (counts.invalid.Load() > 0 || counts.verified.Load() >= int64(f.count)) {
		counts.stop()
	}
}

// deliveryLine is a delivery as a line of JSON.
type deliveryLine struct {
	Time      string           `json:"time"`
	EventID   string           `json:"event_id"`
	EventType string           `json:"event_type"`
	Product   string           `json:"product"`
	Attempt   int              `json:"attempt"`
	Bytes     int              `json:"bytes"`
	Verified  bool             `json:"verified"`
	SHA256    receiver.Check   `json:"x_webhook_signature"`
	Standard  receiver.Check   `json:"webhook_signature"`
	Status    int              `json:"status"`
	Outcome   string           `json:"outcome,omitempty"`
	Error     string           `json:"error,omitempty"`
	Body      *json.RawMessage `json:"body,omitempty"`
}

func (a *app) printReceived(d receiver.Delivery, body bool) {
	if a.json() {
		line := deliveryLine{Time: d.At.UTC().Format(time.RFC3339Nano), EventID: d.EventID, EventType: d.EventType,
			Product: d.Product, Attempt: d.Attempt, Bytes: len(d.Body), Verified: d.Verified(),
			SHA256: d.SHA256, Standard: d.Standard, Status: d.Status, Outcome: d.Outcome}
		if d.Err != nil {
			line.Error = d.Err.Error()
		}
		if raw := json.RawMessage(d.Body); body && json.Valid(raw) {
			line.Body = &raw
		}
		if err := a.printLine(line); err != nil {
			a.warn("%s", err)
		}
		return
	}
	if a.quiet {
		a.print("%s", terminal.Printable(d.EventID))
		return
	}
	outcome := ""
	if d.Outcome != "" {
		outcome = " (" + terminal.Printable(d.Outcome) + ")"
	}
	a.print("%s  %s  %s  %s  attempt %d  %d B  %s  responded %s%s", d.At.UTC().Format("15:04:05.000Z"),
		terminal.Printable(orDash(d.EventID)), terminal.Printable(orDash(d.EventType)), terminal.Printable(orDash(d.Product)), d.Attempt, len(d.Body),
		a.signatureText(d), a.paint(codeColour(codeText(d.Status)), codeText(d.Status)), outcome)
	if d.Err != nil {
		a.warn("%s", terminal.Printable(d.Err.Error()))
	}
	if body {
		a.printBody(d.Body)
	}
}

// signatureText returns whether the signatures are valid, each by its header.
func (a *app) signatureText(d receiver.Delivery) string {
	if !d.Checked() {
		return "signature unchecked"
	}
	verdict := a.paint(green, "signature ok")
	if !d.Verified() {
		verdict = a.paint(red, "signature WRONG")
	}
	return fmt.Sprintf("%s (X-Webhook-Signature %s, webhook-signature %s)", verdict, d.SHA256, d.Standard)
}

// printBody prints a body: JSON indented, anything else made visible.
func (a *app) printBody(body []byte) {
	if json.Valid(body) && a.printRaw(body) == nil {
		return
	}
	a.print("%s", terminal.Printable(string(body)))
}
