package server

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"

	"integrationhub/hub"
	"integrationhub/hub/config"
	"integrationhub/hub/internal/httpx"
)

// Deadlines and sizes of a connection.
const (
	readTimeout = 30 * time.Second // of a whole request: slow senders are cut
	idleTimeout = 75 * time.Second // longer than common load balancers keep connections
	headerBytes = 16 << 10
)

// probes answers the calls of operators' machinery.
type probes struct {
	storage *storage
	ready   atomic.Bool
	version string
}

// newApp makes the HTTP server with what every request goes through; publicURL is
// where its pages are, uploads has room for the long bodies of all of a process's servers.
func newApp(publicURL string, log *slog.Logger, p *probes, uploads *httpx.Uploads) *fiber.App {
	app := fiber.New(fiber.Config{
		AppName: "hub", DisableStartupMessage: true, BodyLimit: httpx.MaxBody, ReadBufferSize: headerBytes,
		ReadTimeout: readTimeout, IdleTimeout: idleTimeout, ErrorHandler: uploads.Errors(httpx.ErrorHandler(log)),
		// fiber reuses its buffers; huma's handlers keep strings of the request.
		Immutable: true,
	})
	httpx.AnswerUnknownMethods(app)
	app.Use(httpx.RequestIDs(), httpx.Headers(publicURL), recovered(log), p.draining, uploads.Handler)
	return app
}

// recovered turns a panic into a 500 and a log line with the stack.
func recovered(log *slog.Logger) fiber.Handler {
	return func(c *fiber.Ctx) (err error) {
		defer func() {
			if panicked := recover(); panicked != nil {
				err = fmt.Errorf("handling %s %s: panic: %v", c.Method(), c.Route().Path, panicked)
				log.Error("a handler panicked", "panic", fmt.Sprint(panicked), "route", c.Route().Path,
					"request_id", httpx.RequestID(c.UserContext()), "stack", stack())
			}
		}()
		return c.Next()
	}
}

// draining asks clients of a stopping hub to open their next connection elsewhere.
func (p *probes) draining(c *fiber.Ctx) error {
	err := c.Next()
	if !p.ready.Load() {
		c.Response().Header.SetConnectionClose()
	}
	return err
}

// health tells that the process lives, whatever it depends on.
func (p *probes) health(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok", "version": p.version})
}

// readiness tells whether requests should come here: not before the start is done,
// not while stopping, not while the database is away. Redis is told of, not asked for.
func (p *probes) readiness(c *fiber.Ctx) error {
	if !p.ready.Load() {
		return unready("stopping", "The hub is starting or stopping.")
	}
	ctx, cancel := contextFor(c, 2*time.Second)
	defer cancel()
	if err := p.storage.api.Ping(ctx); err != nil {
		return unready("database_unavailable", "The database does not answer.").WithCause(err)
	}
	redis := "ok"
	if err := p.storage.redis.Ping(ctx).Err(); err != nil {
		redis = "unavailable"
	}
	return c.JSON(fiber.Map{"status": "ready", "database": "ok", "redis": redis})
}

// dependencies tells whether the database and Redis answer.
func (p *probes) dependencies(ctx context.Context) (database, redis bool) {
	return p.storage.api.Ping(ctx) == nil, p.storage.redis.Ping(ctx).Err() == nil
}

func unready(code, detail string) *hub.Error {
	e := hub.Errorf(hub.ErrUnavailable, code, "%s", detail)
	e.RetryAfter = time.Second
	return e
}

// serveMetrics mounts /metrics: open in development, else for the bearer of the
// token, or without one for loopback.
func serveMetrics(app *fiber.App, cfg config.Config, e *engine) {
	handler := adaptor.HTTPHandler(e.metrics.Handler())
	token := cfg.MetricsToken.Reveal()
	app.Get("/metrics", func(c *fiber.Ctx) error {
		switch {
		case !cfg.IsProduction():
		case token != "":
			given := strings.TrimPrefix(c.Get(fiber.HeaderAuthorization), "Bearer ")
			if subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
				return hub.Errorf(hub.ErrUnauthorized, "unauthorized", "Send the metrics token as Authorization: Bearer.")
			}
		case !c.Context().RemoteIP().IsLoopback():
			return hub.Errorf(hub.ErrForbidden, "loopback_only", "Set HUB_METRICS_TOKEN to read metrics from elsewhere.")
		}
		return handler(c)
	})
}

// listen opens the hub's address.
func listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", addr, err)
	}
	return httpx.Linger(listener), nil
}
