package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/receiver"
)

// What the demo makes, and uses again the next time.
const (
	demoProduct = "demo"
	demoTenant  = "Demo Bakery"
	demoOrder   = "order.created"
	demoFlaky   = "order.paid" // its first attempt is answered 500
	demoMark    = "hub demo"   // name of its keys, description of its endpoints
)

// demoLeftover is how old a key or endpoint of the demo must be to be one that an
// interrupted demo left behind.
const demoLeftover = 10 * time.Minute

// demoPoll is how often the log is looked at for an outcome.
const demoPoll = 100 * time.Millisecond

const demoLong = `Show what the hub does, on the hub that is running: register a product, make a
tenant and a key, subscribe a receiver, publish events, check the signatures of
what arrives, let one fail and watch its retry, read the log. Then an organization
opens in the scheduling service and has a week of bookings; it stays, with its booking
page. A clinic is linked with it, a client books and cancels, and the delivery log tells
how the clinic came to know. Each step says which command does the same. Keys and the
endpoint are removed at the end.`

func newDemo(a *app) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show on a running hub what it does, step by step",
		Long:  demoLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			operator, err := a.calls()
			if err != nil {
				return err
			}
			d := &demo{app: a, operator: operator, seen: map[string][]receiver.Delivery{}, news: make(chan struct{}, 1)}
			defer d.cleanUp()
			err = d.run(ctx)
			if err != nil && ctx.Err() == context.DeadlineExceeded {
				return fmt.Errorf("the demo did not end within %s: %w", timeout, err)
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "give up after this time")
	return cmd
}

// demo is one run of the demo.
type demo struct {
	app      *app
	operator *client.Client
	server   *receiver.Server
	undo     []func(context.Context) error
	endpoint string // id
	steps    int

	mu   sync.Mutex
	seen map[string][]receiver.Delivery // by event id
	news chan struct{}                  // something was seen
}

func (d *demo) run(ctx context.Context) error {
	d.say("What a hub does, shown on %s.", d.operator.Base())
	key, tenantID, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	if err := d.subscribe(ctx, tenantID); err != nil {
		return err
	}
	tenant := d.operator.WithKey(key)
	d.step("Publish three events with the tenant's key.",
		fmt.Sprintf(`hub publish --type %s --data '{"order":1,"total":"12.50"}'`, demoOrder))
	events, err := d.publish(ctx, tenant, demoOrder, 3)
	if err != nil {
		return err
	}
	d.step("Receive them: signed, and both signatures hold.", fmt.Sprintf("hub listen --tenant %q", demoTenant))
	for _, id := range events {
		if err := d.awaitSeen(ctx, id); err != nil {
			return err
		}
	}
	d.step("Publish one whose receiver answers 500 at first: the hub tries again after a second.",
		fmt.Sprintf("hub listen --tenant %q --fail-first 1", demoTenant))
	flaky, err := d.publish(ctx, tenant, demoFlaky, 1)
	if err != nil {
		return err
	}
	if err := d.awaitSeen(ctx, flaky[0]); err != nil {
		return err
	}
	if err := d.showLog(ctx, events, flaky[0]); err != nil {
		return err
	}
	if err := d.showSalon(ctx); err != nil {
		return err
	}
	return d.showClinic(ctx)
}

// prepare makes the product, the tenant and the key, or finds them.
func (d *demo) prepare(ctx context.Context) (key, tenant string, err error) {
	d.step("A product sends events. It has a name, and a prefix for its keys.",
		fmt.Sprintf("hub products create %s --prefix %s", demoProduct, demoProduct))
	_, err = d.operator.CreateProduct(ctx, client.ProductInput{Name: demoProduct, Prefix: demoProduct, Title: "Demo"})
	if made, err := madeOrThere(err); err != nil {
		return "", "", fmt.Errorf("creating the product: %w", err)
	} else if !made {
		d.say("   It is there already.")
	}
	d.step("A tenant is one customer's account in it; everything belongs to a tenant.",
		fmt.Sprintf("hub tenants create %q --product %s", demoTenant, demoProduct))
	if tenant, err = d.findOrMakeTenant(ctx); err != nil {
		return "", "", err
	}
	d.removeLeftovers(ctx, tenant)
	d.step("A key lets the tenant's program publish. It is shown once and stored as a hash.",
		fmt.Sprintf("export HUB_KEY=$(hub keys create --tenant %q -q)", demoTenant))
	reply, err := d.operator.CreateKey(ctx, client.KeyInput{TenantID: tenant, Name: demoMark, Scopes: []string{"events.publish"}})
	if err != nil {
		return "", "", fmt.Errorf("creating the key: %w", err)
	}
	d.undo = append(d.undo, func(ctx context.Context) error { return d.operator.RevokeKey(ctx, reply.Value.ID) })
	d.say("   It ends in …%s.", printable(reply.Value.Last4))
	return reply.Value.APIKey, tenant, nil
}

func (d *demo) findOrMakeTenant(ctx context.Context) (string, error) {
	id, err := tenantID(ctx, d.operator, demoTenant, demoProduct)
	if err == nil {
		d.say("   It is there already.")
		return id, nil
	}
	if exitCode(err) != exitNotFound {
		return "", fmt.Errorf("finding the tenant: %w", err)
	}
	reply, err := d.operator.CreateTenant(ctx, client.TenantInput{Product: demoProduct, Name: demoTenant})
	if err != nil {
		return "", fmt.Errorf("creating the tenant: %w", err)
	}
	return reply.Value.ID, nil
}

// subscribe starts the receiver and makes its endpoint.
func (d *demo) subscribe(ctx context.Context, tenantID string) error {
	server, err := receiver.Open(0)
	if err != nil {
		return err
	}
	d.server = server
	d.step("An endpoint is an address that wants the tenant's events. The hub makes a secret to sign with.",
		fmt.Sprintf("hub endpoints create %s --tenant %q", server.URL, demoTenant))
	reply, err := d.operator.CreateEndpoint(ctx, client.EndpointInput{
		TenantID: tenantID, Environment: "live", URL: server.URL, EventTypes: []string{"order.*"}, Description: demoMark,
	})
	if err != nil {
		return fmt.Errorf("creating the endpoint: %w", err)
	}
	d.endpoint = reply.Value.ID
	d.undo = append(d.undo, func(ctx context.Context) error { return d.operator.DeleteEndpoint(ctx, d.endpoint) })
	server.Serve(&receiver.Receiver{Secrets: []string{reply.Value.Secret}, Now: d.app.now, Answer: demoAnswer, Seen: d.arrived})
	return nil
}

// demoAnswer fails the first attempt of the flaky event.
func demoAnswer(delivery receiver.Delivery) int {
	switch {
	case !delivery.Verified():
		return http.StatusUnauthorized
	case delivery.EventType == demoFlaky && delivery.Attempt == 1:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

func (d *demo) arrived(delivery receiver.Delivery) {
	d.mu.Lock()
	d.seen[delivery.EventID] = append(d.seen[delivery.EventID], delivery)
	d.mu.Unlock()
	select {
	case d.news <- struct{}{}:
	default: // news are waiting already
	}
}

func (d *demo) publish(ctx context.Context, tenant *client.Client, eventType string, count int) ([]string, error) {
	ids := make([]string, 0, count)
	for n := 1; n <= count; n++ {
		data := json.RawMessage(fmt.Sprintf(`{"order":%d,"total":"12.50"}`, n))
		reply, err := tenant.Publish(ctx, client.EventInput{EventType: eventType, Data: data}, "")
		if err != nil {
			return nil, fmt.Errorf("publishing: %w", err)
		}
		d.say("   %s  %s", printable(reply.Value.ID), eventType)
		ids = append(ids, reply.Value.ID)
	}
	return ids, nil
}

// awaitSeen waits until an event has arrived and was answered 200, and says how each
// of its attempts went.
func (d *demo) awaitSeen(ctx context.Context, eventID string) error {
	told := 0
	for {
		d.mu.Lock()
		arrived := d.seen[eventID]
		d.mu.Unlock()
		for _, one := range arrived[told:] {
			d.say("   %s  attempt %d  %s  answered %d", printable(one.EventID), one.Attempt, d.app.signatureText(one), one.Status)
			if !one.Verified() {
				return fmt.Errorf("the signature of %s does not hold", eventID)
			}
			if one.Status == http.StatusOK {
				return nil
			}
		}
		told = len(arrived)
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to arrive: %w", eventID, ctx.Err())
		case <-d.news:
		}
	}
}

// showLog reads the outcome of all four events from the log.
func (d *demo) showLog(ctx context.Context, events []string, flaky string) error {
	d.step("The log knows every delivery.", fmt.Sprintf("hub deliveries list --tenant %q", demoTenant))
	var all []client.Reply[client.Delivery]
	for _, id := range append(events, flaky) {
		one, err := d.awaitLogged(ctx, id)
		if err != nil {
			return err
		}
		all = append(all, one)
		d.say("   %s  %s  %s", printable(id), printable(one.Value.EventType), printable(one.Value.Status))
	}
	last := all[len(all)-1]
	d.step("And every attempt: what was answered, and where the time went.", "hub deliveries show --event "+printable(flaky))
	if d.app.json() {
		raw := make([]json.RawMessage, 0, len(all))
		for _, one := range all {
			raw = append(raw, one.Raw)
		}
		if err := d.app.printValue(mergedPages(raw, "")); err != nil {
			return err
		}
	} else if err := d.app.deliveryShown(last, false); err != nil {
		return err
	}
	if len(last.Value.Attempts) < 2 {
		return fmt.Errorf("the log shows %d attempts of %s, not two", len(last.Value.Attempts), flaky)
	}
	d.say("\n   4 events, 5 attempts, 4 delivered and verified. The key and the endpoint are removed at the end.")
	return nil
}

// awaitLogged waits until the log shows the event's delivery as delivered.
func (d *demo) awaitLogged(ctx context.Context, eventID string) (client.Reply[client.Delivery], error) {
	tick := time.NewTicker(demoPoll)
	defer tick.Stop()
	for {
		page, err := d.operator.Deliveries(ctx, client.DeliveryQuery{EventID: eventID, EndpointID: d.endpoint}, client.PageQuery{})
		if err != nil {
			return client.Reply[client.Delivery]{}, fmt.Errorf("reading the log: %w", err)
		}
		for _, one := range page.Value.Items {
			if one.EventID != eventID {
				return client.Reply[client.Delivery]{}, fmt.Errorf("the log was asked for %s and answered with %s", eventID, one.EventID)
			}
			if one.Status == "delivered" {
				return d.operator.Delivery(ctx, one.ID)
			}
		}
		select {
		case <-ctx.Done():
			return client.Reply[client.Delivery]{}, fmt.Errorf("waiting for the log to show %s as delivered: %w", eventID, ctx.Err())
		case <-tick.C:
		}
	}
}
