package productapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"integrationhub/hub"
	"integrationhub/hub/internal/connect"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/inbox"
	"integrationhub/hub/internal/integration"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/metrics"
	"integrationhub/hub/internal/strictjson"
	"integrationhub/hub/module"
)

// Ages of events that are accepted. Event ids are kept for longer than maxEventAge, so
// that no event is accepted twice.
const (
	maxEventAge  = 30 * 24 * time.Hour
	maxClockSkew = 5 * time.Minute // of a peer's clock that is ahead of ours
)

// receiveWebhook accepts an event of a peer. It is the hot path: a raw fiber handler that
// answers when the event and its effect are durable.
func (p *Product) receiveWebhook(c *fiber.Ctx) error {
	info := &requestInfo{clientIP: httpx.ClientIP(c, p.deps.TrustedProxies), isUnverified: true}
	err := p.acceptWebhook(c, info)
	if err == nil {
		return nil
	}
	problem, _ := httpx.ProblemOf(err, "")
	outcome := metrics.OutcomeRefused
	if problem.Status >= http.StatusInternalServerError {
		outcome = metrics.OutcomeFailed
	}
	p.deps.OnReceived(outcome)
	problem.RequestID = httpx.RequestID(c.UserContext())
	p.logRefusal(c.UserContext(), info.webhook, problem, err)
	if info.isKnown {
		c.Status(problem.Status)                                   // for the audit entry; the error's own answer follows
		_ = p.recordAudit(c.UserContext(), c, actionWebhook, info) // it logs its own failure
	}
	return err
}

func (p *Product) acceptWebhook(c *fiber.Ctx, info *requestInfo) error {
	ctx := c.UserContext()
	principal, err := p.principalFor(ctx, c, c.Get(hub.HeaderKey))
	if principal.KeyID != uuid.Nil {
		info.key, info.isKnown = &principal, true
		info.caller = module.Caller{TenantID: principal.TenantID, Environment: principal.Environment}
	}
	if err != nil {
		return err
	}
	body, err := httpx.JSONBody(c)
	if err != nil {
		return err
	}
	body = bytes.Clone(body) // it outlives this handler in the commit
	var peer *integration.Peer
	var events []hub.Event
	err = p.withRefresh(ctx, func() (err error) {
		if peer, err = p.senderOf(ctx, c, principal); err != nil {
			return err
		}
		info.resourceID = peer.ID.String()
		events, err = p.decode(c, peer, body, info)
		if !info.isUnverified {
			info.webhook = &signedWebhook{peer: peer, body: body, events: events}
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.checkEvents(peer, events); err != nil {
		return err
	}
	info.webhook.isLogged = true
	answer := ReceivedEvent{Received: true, Status: string(inbox.Ignored)}
	for i := range events {
		outcome, err := p.storeEvent(ctx, peer, &events[i], body, info)
		if err != nil {
			return err
		}
		p.deps.OnReceived(string(outcome))
		if i == 0 {
			answer.ID, answer.Status = events[i].ID, string(outcome)
			p.learnProduct(ctx, peer, events[i].Product)
		}
	}
	return c.JSON(answer)
}

// learnProduct sets the product of a peer that has not named its own to that of its first
// accepted event. A failure is logged: the next event brings the product again.
func (p *Product) learnProduct(ctx context.Context, peer *integration.Peer, product string) {
	if peer.Product != connect.UnnamedProduct {
		return
	}
	learned, err := p.deps.Connect.LearnProduct(ctx, peer.Integration, p.spec.Name, product)
	if err == nil && learned {
		p.deps.Log.InfoContext(ctx, "a peer named its product", "integration_id", peer.ID, "product", product)
		err = p.deps.Directory.Refresh(ctx)
	}
	if err != nil {
		p.deps.Log.WarnContext(ctx, "the product of a peer was not stored", "integration_id", peer.ID, "error", err)
	}
}

// senderOf returns the integration that a key is bound to.
func (p *Product) senderOf(ctx context.Context, c *fiber.Ctx, principal keys.Principal) (*integration.Peer, error) {
	if principal.Integration == uuid.Nil {
		// The caller may have refreshed the configuration since the principal was found.
		var err error
		if principal, err = p.deps.Directory.LookUp(ctx, c.Get(hub.HeaderKey)); err != nil {
			return nil, err
		}
	}
	if principal.Integration == uuid.Nil {
		return nil, errUnbound()
	}
	peer, err := p.deps.Directory.Integration(ctx, principal.Integration)
	if err == nil && peer == nil {
		err = errUnbound()
	}
	return peer, err
}

// errUnbound answers a key that no peer has registered with: it has no webhook secret.
func errUnbound() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, hub.CodeInvalidSignature, "This key belongs to no integration, so there is no secret to verify with. Register first: POST …/integrations/webhook/register.")
}

// decode lets the connector verify the signature and parse the body.
func (p *Product) decode(c *fiber.Ctx, peer *integration.Peer, body []byte, info *requestInfo) ([]hub.Event, error) {
	in := hub.Inbound{Header: make(http.Header, 8), Body: body}
	for name, value := range c.Request().Header.All() {
		in.Header.Add(string(name), string(value))
	}
	connection := peer.Connection(p.deps.Now())
	events, err := p.deps.Connectors(peer.Product).Decode(connection, in)
	if errors.Is(err, hub.ErrUnauthorized) {
		return nil, err
	}
	info.isUnverified = false
	// The signature is valid. A body that parsers read differently is refused before any
	// other fault it may have.
	if jsonErr := strictjson.Check(body, strictjson.Rules{UniqueKeys: true}); jsonErr != nil {
		return nil, jsonErr
	}
	if err == nil && peer.Status == integration.StatusInactive {
		err = errInactive()
	}
	return events, err
}

func (p *Product) checkEvents(peer *integration.Peer, events []hub.Event) error {
	for i := range events {
		if err := p.checkEvent(peer, &events[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkEvent checks an event's id, product and age, and sets its tenant and environment.
func (p *Product) checkEvent(peer *integration.Peer, event *hub.Event) error {
	bits, ok := hub.ParseEventID(event.ID)
	if !ok {
		return hub.Invalid("body.id", `must be "evt_" and 16 hexadecimal digits`)
	}
	event.ID = hub.FormatEventID(bits)
	if event.Product != peer.Product && peer.Product != connect.UnnamedProduct {
		return hub.Errorf(hub.ErrForbidden, "wrong_product", "This integration belongs to %s, and only its events are taken.", peer.Product)
	}
	switch age := p.deps.Now().Sub(event.Time); {
	case age > maxEventAge:
		return hub.Errorf(hub.ErrMalformed, "event_too_old", "The event is older than 30 days.")
	case age < -maxClockSkew:
		return hub.Errorf(hub.ErrMalformed, "event_in_future", "The event is more than 5 minutes ahead of our clock.")
	}
	event.TenantID, event.Environment = peer.TenantID, peer.Environment
	return nil
}

// storeEvent stores the event together with its effect in the product.
func (p *Product) storeEvent(ctx context.Context, peer *integration.Peer, event *hub.Event, body []byte, info *requestInfo) (inbox.Outcome, error) {
	entry := p.auditEntry(ctx, actionWebhook, info, http.StatusOK)
	return p.deps.Inbox.Store(ctx, inbox.Item{
		IntegrationID: peer.ID, Event: *event, Body: body, Hash: hub.HashEvent(body, event.ID), Audit: entry,
		IsHandled: hub.MatchesEventType(p.spec.Receives, event.Type),
	})
}
