// Package demo shows on a running hub what it does, step by step: it publishes, receives
// and retries, opens an organization and a clinic, links them, follows a booking from one to
// the other, and a chat message from a phone to the clinic. Then a client is reminded by chat,
// cancels by answering, books from the chat, and is erased in all three products.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"integrationhub/cmd/hub/internal/client"
	"integrationhub/cmd/hub/internal/receiver"
	"integrationhub/cmd/hub/internal/terminal"
)

// What the demo creates, and uses again the next time.
const (
	bakeryProduct    = "demo"
	bakeryName       = "Demo Bakery"
	typeOrderCreated = "order.created"
	typeOrderPaid    = "order.paid" // its first attempt gets a 500
	label            = "hub demo"   // name of its keys, description of its endpoints
)

// leftoverAge is how old a key or endpoint of the demo must be to be one that an
// interrupted demo left behind.
const leftoverAge = 10 * time.Minute

// pollInterval is the interval between reads of the log.
const pollInterval = 100 * time.Millisecond

// Console is where a demo prints.
type Console interface {
	// Say prints a line.
	Say(format string, args ...any)
	// Warn prints a warning.
	Warn(format string, args ...any)
	// Heading, Success and Status paint text where the terminal has colours.
	Heading(text string) string
	Success(text string) string
	Status(status string) string
	// Signatures describes what a receiver found of a delivery's signatures.
	Signatures(delivery receiver.Delivery) string
	// Log prints deliveries of the log: as JSON all of them, else the last.
	Log(deliveries []client.Reply[client.Delivery]) error
}

// Options are what a demo works with.
type Options struct {
	Operator *client.Client // with an operator's rights
	Console  Console
	Now      func() time.Time
	// FindTenant returns the id of a product's tenant by its name; found is false where
	// there is none.
	FindTenant func(ctx context.Context, name, product string) (id string, found bool, err error)
}

// Run runs the demo until it ends, fails, or ctx is done. Its keys and its endpoint are
// removed at the end, also then.
func Run(ctx context.Context, options Options) error {
	d := &demo{Options: options, received: map[string][]receiver.Delivery{}, arrival: make(chan struct{}, 1)}
	defer d.cleanUp()
	return d.run(ctx)
}

// demo is one run of the demo.
type demo struct {
	Options
	server   *receiver.Server
	undo     []func(context.Context) error
	endpoint string // id
	steps    int
	sessions sessions

	mu       sync.Mutex
	received map[string][]receiver.Delivery // by event id
	arrival  chan struct{}                  // a delivery was seen
}

func (d *demo) run(ctx context.Context) error {
	d.Console.Say("What a hub does, shown on %s.", d.Operator.Base())
	key, tenantID, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	if err := d.subscribe(ctx, tenantID); err != nil {
		return err
	}
	tenant := d.Operator.WithKey(key)
	d.step("Publish three events with the tenant's key.",
		fmt.Sprintf(`hub publish --type %s --data '{"order":1,"total":"12.50"}'`, typeOrderCreated))
	events, err := d.publish(ctx, tenant, typeOrderCreated, 3)
	if err != nil {
		return err
	}
	d.step("Receive them: signed, and both signatures are valid.", fmt.Sprintf("hub listen --tenant %q", bakeryName))
	for _, id := range events {
		if err := d.awaitReceived(ctx, id); err != nil {
			return err
		}
	}
	d.step("Publish one whose receiver responds 500 at first: the hub tries again after a second.",
		fmt.Sprintf("hub listen --tenant %q --fail-first 1", bakeryName))
	flaky, err := d.publish(ctx, tenant, typeOrderPaid, 1)
	if err != nil {
		return err
	}
	if err := d.awaitReceived(ctx, flaky[0]); err != nil {
		return err
	}
	if err := d.showLog(ctx, events, flaky[0]); err != nil {
		return err
	}
	if err := d.showSalon(ctx); err != nil {
		return err
	}
	if err := d.showClinic(ctx); err != nil {
		return err
	}
	return d.showChat(ctx)
}

// prepare creates the product, the tenant and the key. Product and tenant may exist.
func (d *demo) prepare(ctx context.Context) (key, tenant string, err error) {
	d.step("A product sends events. It has a name, and a prefix for its keys.",
		fmt.Sprintf("hub products create %s --prefix %s", bakeryProduct, bakeryProduct))
	_, err = d.Operator.CreateProduct(ctx, client.ProductInput{Name: bakeryProduct, Prefix: bakeryProduct, Title: "Demo"})
	if isConflict(err) {
		d.Console.Say("   It is there already.")
	} else if err != nil {
		return "", "", fmt.Errorf("creating the product: %w", err)
	}
	d.step("A tenant is one customer's account in it; everything belongs to a tenant.",
		fmt.Sprintf("hub tenants create %q --product %s", bakeryName, bakeryProduct))
	if tenant, err = d.ensureTenant(ctx); err != nil {
		return "", "", err
	}
	d.removeLeftovers(ctx, tenant)
	d.step("A key lets the tenant's program publish. It is shown once and stored as a hash.",
		fmt.Sprintf("export HUB_KEY=$(hub keys create --tenant %q -q)", bakeryName))
	reply, err := d.Operator.CreateKey(ctx, client.KeyInput{TenantID: tenant, Name: label, Scopes: []string{"events.publish"}})
	if err != nil {
		return "", "", fmt.Errorf("creating the key: %w", err)
	}
	d.undo = append(d.undo, func(ctx context.Context) error { return d.Operator.RevokeKey(ctx, reply.Value.ID) })
	d.Console.Say("   It ends in …%s.", terminal.Printable(reply.Value.Last4))
	return reply.Value.APIKey, tenant, nil
}

func (d *demo) ensureTenant(ctx context.Context) (string, error) {
	id, found, err := d.FindTenant(ctx, bakeryName, bakeryProduct)
	if err != nil {
		return "", fmt.Errorf("finding the tenant: %w", err)
	}
	if found {
		d.Console.Say("   It is there already.")
		return id, nil
	}
	reply, err := d.Operator.CreateTenant(ctx, client.TenantInput{Product: bakeryProduct, Name: bakeryName})
	if err != nil {
		return "", fmt.Errorf("creating the tenant: %w", err)
	}
	return reply.Value.ID, nil
}

// subscribe starts the receiver and creates its endpoint.
func (d *demo) subscribe(ctx context.Context, tenantID string) error {
	server, err := receiver.Open(0)
	if err != nil {
		return err
	}
	d.server = server
	d.step("An endpoint is an address that wants the tenant's events. The hub makes a secret to sign with.",
		fmt.Sprintf("hub endpoints create %s --tenant %q", server.URL, bakeryName))
	reply, err := d.Operator.CreateEndpoint(ctx, client.EndpointInput{
		TenantID: tenantID, Environment: "live", URL: server.URL, EventTypes: []string{"order.*"}, Description: label,
	})
	if err != nil {
		return fmt.Errorf("creating the endpoint: %w", err)
	}
	d.endpoint = reply.Value.ID
	d.undo = append(d.undo, func(ctx context.Context) error { return d.Operator.DeleteEndpoint(ctx, d.endpoint) })
	server.Serve(&receiver.Receiver{Secrets: []string{reply.Value.Secret}, Now: d.Now, Answer: statusFor, OnDelivery: d.receive})
	return nil
}

// statusFor returns the status that the receiver answers: the first attempt of a paid
// order fails.
func statusFor(delivery receiver.Delivery) int {
	switch {
	case !delivery.Verified():
		return http.StatusUnauthorized
	case delivery.EventType == typeOrderPaid && delivery.Attempt == 1:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

func (d *demo) receive(delivery receiver.Delivery) {
	d.mu.Lock()
	d.received[delivery.EventID] = append(d.received[delivery.EventID], delivery)
	d.mu.Unlock()
	select {
	case d.arrival <- struct{}{}:
	default: // a signal is waiting already
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
		d.Console.Say("   %s  %s", terminal.Printable(reply.Value.ID), eventType)
		ids = append(ids, reply.Value.ID)
	}
	return ids, nil
}

// awaitReceived waits until an event has arrived and was answered 200, and prints each of
// its attempts.
func (d *demo) awaitReceived(ctx context.Context, eventID string) error {
	printed := 0
	for {
		d.mu.Lock()
		receive := d.received[eventID]
		d.mu.Unlock()
		for _, delivery := range receive[printed:] {
			d.Console.Say("   %s  attempt %d  %s  responded %d", terminal.Printable(delivery.EventID), delivery.Attempt, d.Console.Signatures(delivery), delivery.Status)
			if !delivery.Verified() {
				return fmt.Errorf("the signature of %s is not valid", eventID)
			}
			if delivery.Status == http.StatusOK {
				return nil
			}
		}
		printed = len(receive)
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to arrive: %w", eventID, ctx.Err())
		case <-d.arrival:
		}
	}
}

// showLog reads the outcome of all four events from the log.
func (d *demo) showLog(ctx context.Context, events []string, flaky string) error {
	d.step("The log knows every delivery.", fmt.Sprintf("hub deliveries list --tenant %q", bakeryName))
	var all []client.Reply[client.Delivery]
	for _, id := range append(events, flaky) {
		delivery, err := d.awaitLogged(ctx, id)
		if err != nil {
			return err
		}
		all = append(all, delivery)
		d.Console.Say("   %s  %s  %s", terminal.Printable(id), terminal.Printable(delivery.Value.EventType), terminal.Printable(delivery.Value.Status))
	}
	last := all[len(all)-1]
	d.step("And every attempt: what came back, and where the time went.", "hub deliveries show --event "+terminal.Printable(flaky))
	if err := d.Console.Log(all); err != nil {
		return err
	}
	if len(last.Value.Attempts) < 2 {
		return fmt.Errorf("the log shows %d attempts of %s, not two", len(last.Value.Attempts), flaky)
	}
	d.Console.Say("\n   4 events, 5 attempts, 4 delivered and verified. The key and the endpoint are removed at the end.")
	return nil
}

// awaitLogged waits until the log shows the event's delivery as delivered.
func (d *demo) awaitLogged(ctx context.Context, eventID string) (client.Reply[client.Delivery], error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		page, err := d.Operator.Deliveries(ctx, client.DeliveryQuery{EventID: eventID, EndpointID: d.endpoint}, client.PageQuery{})
		if err != nil {
			return client.Reply[client.Delivery]{}, fmt.Errorf("reading the log: %w", err)
		}
		for _, delivery := range page.Value.Items {
			if delivery.EventID != eventID {
				return client.Reply[client.Delivery]{}, fmt.Errorf("the log was asked for %s and responded with %s", eventID, delivery.EventID)
			}
			if delivery.Status == "delivered" {
				return d.Operator.Delivery(ctx, delivery.ID)
			}
		}
		select {
		case <-ctx.Done():
			return client.Reply[client.Delivery]{}, fmt.Errorf("waiting for the log to show %s as delivered: %w", eventID, ctx.Err())
		case <-tick.C:
		}
	}
}
