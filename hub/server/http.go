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

// healthHandlers answer health checks.
type healthHandlers struct {
	storage         *storage
	database, redis dependency
	ready           atomic.Bool
	version         string
}

// newApp returns the HTTP server with the middleware of all requests. publicURL is the
// origin of its pages; uploads and formats are shared by all servers of the process. Each
// response 429 calls onLimited.
func newApp(publicURL string, log *slog.Logger, p *healthHandlers, uploads *httpx.Uploads, formats *httpx.ErrorFormats, onLimited func()) *fiber.App {
	app := fiber.New(fiber.Config{
		AppName: "hub", DisableStartupMessage: true, BodyLimit: httpx.MaxBody, ReadBufferSize: headerBytes,
		ReadTimeout: readTimeout, IdleTimeout: idleTimeout, ErrorHandler: uploads.ErrorHandler(formats.ErrorHandler(log)),
		// fiber reuses its buffers; huma's handlers keep strings of the request.
		Immutable: true,
	})
	httpx.AnswerUnknownMethods(app)
	app.Use(countLimited(onLimited), httpx.RequestIDs(), httpx.Headers(publicURL), recoverPanics(log), p.closeWhileDraining, uploads.Handler)
	return app
}

// countLimited calls count for each request that is answered 429.
func countLimited(count func()) fiber.Handler {
	return func(c *fiber.Ctx) error {
		err := c.Next()
		status := c.Response().StatusCode()
		if err != nil {
			problem, _ := httpx.ProblemOf(err, "")
			status = problem.Status
		}
		if status == fiber.StatusTooManyRequests {
			count()
		}
		return err //nolint:wrapcheck // the error handler's
	}
}

func (s *Server) countLimited() { s.engine.metrics.CountLimited() }

// recoverPanics turns a panic into a 500 and a log line with the stack.
func recoverPanics(log *slog.Logger) fiber.Handler {
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

// closeWhileDraining closes connections of a stopping hub after each response, so that
// clients connect to another one.
func (p *healthHandlers) closeWhileDraining(c *fiber.Ctx) error {
	err := c.Next()
	if !p.ready.Load() {
		c.Response().Header.SetConnectionClose()
	}
	return err
}

// health answers that the process is alive, without checking its dependencies.
func (p *healthHandlers) health(c *fiber.Ctx) error {
	return c.JSON(fiber.Map{"status": "ok", "version": p.version})
}

// readiness answers whether this process takes requests: not while stopping, or while the database
// is down. During the start nothing is served. The state of Redis is only reported.
func (p *healthHandlers) readiness(c *fiber.Ctx) error {
	if !p.ready.Load() {
		return unready("stopping", "The hub is stopping.")
	}
	databaseErr, redisErr := p.ping(c.UserContext())
	if databaseErr != nil {
		return unready("database_unavailable", "The database does not respond.").WithCause(databaseErr)
	}
	redis := "ok"
	if redisErr != nil {
		redis = "unavailable"
	}
	return c.JSON(fiber.Map{"status": "ready", "database": "ok", "redis": redis})
}

// dependencies reports whether the database and Redis answer.
func (p *healthHandlers) dependencies(ctx context.Context) (database, redis bool) {
	databaseErr, redisErr := p.ping(ctx)
	return databaseErr == nil, redisErr == nil
}

// ping asks the database and Redis at once, each within its limit.
func (p *healthHandlers) ping(ctx context.Context) (databaseErr, redisErr error) {
	redisAnswer := p.redis.probe(func() error {
		limited, cancel := context.WithTimeout(context.Background(), redisPing)
		defer cancel()
		return p.storage.redis.Ping(limited).Err()
	})
	databaseAnswer := p.database.probe(func() error {
		limited, cancel := context.WithTimeout(context.Background(), databasePing)
		defer cancel()
		return p.storage.api.Ping(limited)
	})
	return databaseAnswer.await(ctx, databasePing), redisAnswer.await(ctx, redisPing)
}

func unready(code, detail string) *hub.Error {
	e := hub.Errorf(hub.ErrUnavailable, code, "%s", detail)
	e.RetryAfter = time.Second
	return e
}

// serveMetrics mounts /metrics. It is public in development. In production it needs the
// configured token; if there is none, it only answers on loopback.
func serveMetrics(app *fiber.App, cfg config.Config, e *engine) {
	handler := adaptor.HTTPHandler(e.metrics.Handler())
	token := cfg.MetricsToken.Reveal()
	app.Get("/metrics", func(c *fiber.Ctx) error {
		switch {
		case !cfg.IsProduction():
		case token != "":
			presented := strings.TrimPrefix(c.Get(fiber.HeaderAuthorization), "Bearer ")
			if subtle.ConstantTimeCompare([]byte(presented), []byte(token)) != 1 {
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
