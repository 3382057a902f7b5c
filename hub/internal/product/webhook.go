package product

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/inbox"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/module"
)

// Ages of events that are taken. Their ids are kept longer than the oldest, so that
// what is accepted is never accepted twice.
const (
	oldestEvent = 30 * 24 * time.Hour
	youngEvent  = 5 * time.Minute // ahead of our clock
)

// receive takes an event of a peer. It is the hot path: a raw fiber handler that
// answers when the event and its effect are durable.
func (p *Product) receive(c *fiber.Ctx) error {
	who := &about{clientIP: httpx.ClientIP(c, p.deps.TrustedProxies)}
	err := p.take(c, who)
	if err == nil {
		return nil
	}
	problem, _ := httpx.ProblemOf(err, "")
	outcome := metrics.OutcomeRefused
	if problem.Status >= http.StatusInternalServerError {
		outcome = metrics.OutcomeFailed
	}
	p.deps.Received(outcome)
	if who.known {
		c.Status(problem.Status)                             // for the record; the error's own answer follows
		_ = p.record(c.UserContext(), c, actionWebhook, who) // in the process's log, where it failed
	}
	return err
}

func (p *Product) take(c *fiber.Ctx, who *about) error {
	ctx := c.UserContext()
	principal, err := p.speaker(ctx, c, c.Get(hub.HeaderKey))
	if principal.KeyID != uuid.Nil {
		who.key, who.known = &principal, true
		who.caller = module.Caller{TenantID: principal.TenantID, Environment: principal.Environment}
	}
	if err != nil {
		return err
	}
	body, err := httpx.JSONBody(c)
	if err != nil {
		return err
	}
	body = bytes.Clone(body) // it outlives this handler in the commit
	var integration *directory.Integration
	var events []hub.Event
	err = p.fresh(ctx, func() (err error) {
		if integration, err = p.sender(ctx, c, principal); err != nil {
			return err
		}
		who.resourceID = integration.ID.String()
		events, err = p.decode(c, integration, body)
		return err
	})
	if err != nil {
		return err
	}
	if err := p.checkAll(integration, events); err != nil {
		return err
	}
	answer := ReceivedEvent{Received: true, Status: string(inbox.Ignored)}
	for i := range events {
		outcome, err := p.store(ctx, integration, &events[i], body, who)
		if err != nil {
			return err
		}
		p.deps.Received(string(outcome))
		if i == 0 {
			answer.ID, answer.Status = events[i].ID, string(outcome)
		}
	}
	return c.JSON(answer)
}

// sender is the integration that a key speaks for.
func (p *Product) sender(ctx context.Context, c *fiber.Ctx, principal keys.Principal) (*directory.Integration, error) {
	if principal.Integration == uuid.Nil {
		// Not looked up again where nothing changed: it is in memory.
		var err error
		if principal, err = p.deps.Directory.LookUp(ctx, c.Get(hub.HeaderKey)); err != nil {
			return nil, err
		}
	}
	if principal.Integration == uuid.Nil {
		return nil, unsigned()
	}
	integration, err := p.deps.Directory.Integration(ctx, principal.Integration)
	if err == nil && integration == nil {
		err = unsigned()
	}
	return integration, err
}

// unsigned answers a key that no peer has registered with: nothing can be signed.
func unsigned() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, hub.CodeInvalidSignature, "This key belongs to no integration, so that no signature can hold.")
}

// decode lets the connector verify and read the body; then our own rules are applied.
func (p *Product) decode(c *fiber.Ctx, integration *directory.Integration, body []byte) ([]hub.Event, error) {
	in := hub.Inbound{Header: make(http.Header, 8), Body: body}
	for name, value := range c.Request().Header.All() {
		in.Header.Add(string(name), string(value))
	}
	connection := integration.Connection(p.deps.Now())
	events, err := p.deps.Connectors(integration.Product).Decode(connection, in)
	if errors.Is(err, hub.ErrUnauthorized) {
		return nil, err
	}
	// The signature holds. A body that parsers read differently is refused before
	// anything else that may be wrong with it.
	if broken := httpx.CheckJSON(body, httpx.JSONRules{UniqueKeys: true}); broken != nil {
		return nil, broken
	}
	if err == nil && integration.Status == connect.Inactive {
		err = inactive()
	}
	return events, err
}

func (p *Product) checkAll(integration *directory.Integration, events []hub.Event) error {
	for i := range events {
		if err := p.check(integration, &events[i]); err != nil {
			return err
		}
	}
	return nil
}

// check applies the rules for events.
func (p *Product) check(integration *directory.Integration, e *hub.Event) error {
	if _, ok := hub.ParseEventID(e.ID); !ok {
		return hub.Invalid("body.id", `must be "evt_" and 16 lowercase hexadecimal digits`)
	}
	if e.Product != integration.Product && integration.Product != connect.Unnamed {
		return hub.Errorf(hub.ErrForbidden, "wrong_product", "This integration belongs to %s, and only its events are taken.", integration.Product)
	}
	switch age := p.deps.Now().Sub(e.Time); {
	case age > oldestEvent:
		return hub.Errorf(hub.ErrMalformed, "event_too_old", "The event is older than 30 days.")
	case age < -youngEvent:
		return hub.Errorf(hub.ErrMalformed, "event_in_future", "The event is more than 5 minutes ahead of our clock.")
	}
	e.TenantID, e.Environment = integration.TenantID, integration.Environment
	return nil
}

// store makes the event durable together with its effect.
func (p *Product) store(ctx context.Context, integration *directory.Integration, e *hub.Event, body []byte, who *about) (inbox.Outcome, error) {
	entry := p.entry(ctx, actionWebhook, who, http.StatusOK)
	return p.deps.Inbox.Store(ctx, inbox.Item{
		IntegrationID: integration.ID, Event: *e, Body: body, Hash: sha256.Sum256(body), Audit: entry,
		Known: hub.MatchesEventType(p.spec.Receives, e.Type),
	})
}
