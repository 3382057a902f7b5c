// Package gateway receives events from products. It is the hot path: a raw fiber
// handler that checks the key, its limit and the body in one pass and answers
// when the event is durable.
package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/internal/keys"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/internal/tracing"
)

// KeyFinder finds API keys.
type KeyFinder interface {
	Key(ctx context.Context, presented string) (*directory.Key, error)
}

// Limiter counts a request against a key's limit, sets the RateLimit headers and returns a
// hub.ErrRateLimited once the limit is reached.
type Limiter interface {
	Count(c *fiber.Ctx, key *directory.Key) error
}

// Publisher makes events durable.
type Publisher interface {
	PublishAll(ctx context.Context, publications []*outbox.Publication) ([]outbox.Result, error)
}

// Gateway serves the publishing calls.
type Gateway struct {
	finder    KeyFinder
	limiter   Limiter
	publisher Publisher
	tracer    *tracing.Tracer
}

// New returns a gateway; a nil tracer traces nothing.
func New(finder KeyFinder, limiter Limiter, publisher Publisher, tracer *tracing.Tracer) *Gateway {
	return &Gateway{finder: finder, limiter: limiter, publisher: publisher, tracer: tracer}
}

// startSpan starts the span of a publication; nil if nothing is traced.
func (g *Gateway) startSpan(c *fiber.Ctx) *tracing.Span {
	if g.tracer == nil {
		return nil
	}
	header := &c.Request().Header
	return g.tracer.StartPublication(header.Peek("traceparent"), header.Peek("tracestate"))
}

// Publish serves POST /api/v1/events: 202 {"id","deliveries"} after the commit, 200
// with the first result if the same id or Idempotency-Key and body came before.
func (g *Gateway) Publish(c *fiber.Ctx) error {
	span := g.startSpan(c)
	err := g.publish(c, span)
	span.End(err)
	return err
}

func (g *Gateway) publish(c *fiber.Ctx, span *tracing.Span) error {
	key, body, err := g.authorizeAndReadBody(c)
	if err != nil {
		return err
	}
	p, err := parseEvent(c.UserContext(), key, body, "body", &eventtype.Allowance{})
	if err != nil {
		return err
	}
	publications := []*outbox.Publication{p}
	if err := setIdempotencyKeys(c, publications, body); err != nil {
		return err
	}
	p.Trace = span.Parent()
	span.SetEvents(p.Product, p.Type, 1)
	results, err := g.publisher.PublishAll(span.InContext(c.UserContext()), publications)
	if err != nil {
		return err
	}
	setWarning(c, publications)
	span.SetAccepted(results[0].ID, results[0].Deliveries)
	status := fiber.StatusAccepted
	if results[0].Duplicate {
		status = fiber.StatusOK
	}
	return respond(c, status, appendResult(make([]byte, 0, 64), results[0]))
}

// PublishBatch serves POST /api/v1/events/batch: all events or none; 200 with the
// first result where all of them came before, with the same ids or Idempotency-Key.
func (g *Gateway) PublishBatch(c *fiber.Ctx) error {
	span := g.startSpan(c)
	err := g.publishBatch(c, span)
	span.End(err)
	return err
}

func (g *Gateway) publishBatch(c *fiber.Ctx, span *tracing.Span) error {
	key, body, err := g.authorizeAndReadBody(c)
	if err != nil {
		return err
	}
	publications, err := parseBatch(c.UserContext(), key, body)
	if err != nil {
		return err
	}
	if err := setIdempotencyKeys(c, publications, body); err != nil {
		return err
	}
	if parent := span.Parent(); parent != nil {
		for _, p := range publications {
			p.Trace = parent
		}
		span.SetEvents(key.Product, "", len(publications))
	}
	results, err := g.publisher.PublishAll(span.InContext(c.UserContext()), publications)
	if err != nil {
		return err
	}
	setWarning(c, publications)
	status := fiber.StatusOK
	response := append(make([]byte, 0, 16+56*len(results)), `{"items":[`...)
	for i, result := range results {
		if i > 0 {
			response = append(response, ',')
		}
		response = appendResult(response, result)
		if !result.Duplicate {
			status = fiber.StatusAccepted
		}
	}
	return respond(c, status, append(response, `]}`...))
}

// authorizeAndReadBody checks the key, its rate and its scope, and reads the body.
func (g *Gateway) authorizeAndReadBody(c *fiber.Ctx) (*directory.Key, []byte, error) {
	key, err := g.finder.Key(c.UserContext(), c.Get(hub.HeaderKey))
	if err != nil {
		return nil, nil, err
	}
	if err := g.limiter.Count(c, key); err != nil {
		return nil, nil, err
	}
	if !keys.Allows(key.Scopes, keys.ScopePublish) {
		return nil, nil, hub.Errorf(hub.ErrForbidden, "missing_scope", "This key lacks the scope %s; issue a key that has it.", keys.ScopePublish)
	}
	body, err := httpx.JSONBody(c)
	return key, body, err
}

// setIdempotencyKeys sets the publications' keys from the Idempotency-Key header. An id in
// the body takes precedence. The first event without an id gets the header as its key, so
// that another body under it is a conflict; later ones get it with their index.
func setIdempotencyKeys(c *fiber.Ctx, publications []*outbox.Publication, body []byte) error {
	given := c.Request().Header.PeekAll("Idempotency-Key")
	if len(given) == 0 {
		return nil
	}
	header := given[0]
	if len(bytes.TrimSpace(header)) == 0 { // as of a variable that is not set: the call would not be safe to repeat
		return hub.Invalid("header.Idempotency-Key", "must not be empty: leave the header out, or give a key")
	}
	if len(header) > maxIdempotency {
		return hub.Invalid("header.Idempotency-Key", "must have at most "+strconv.Itoa(maxIdempotency)+" characters")
	}
	for _, b := range header {
		if b < 0x20 || b > 0x7e {
			return hub.Invalid("header.Idempotency-Key", "must be printable ASCII")
		}
	}
	hash, name, first := sha256.Sum256(body), string(header), true
	for i, p := range publications {
		if p.IdempotencyKey != "" {
			continue
		}
		p.IdempotencyKey, p.BodyHash = "key:"+name, hash
		if !first {
			p.IdempotencyKey = "batch:" + strconv.Itoa(i) + ":" + name
		}
		first = false
	}
	return nil
}

func appendResult(dst []byte, r outbox.Result) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, r.ID...)
	dst = append(dst, `","deliveries":`...)
	dst = strconv.AppendInt(dst, int64(r.Deliveries), 10)
	return append(dst, '}')
}

func respond(c *fiber.Ctx, status int, body []byte) error {
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Response().SetStatusCode(status)
	c.Response().SetBodyRaw(body)
	return nil
}
