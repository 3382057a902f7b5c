package httpx

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"integrationhub/hub"
)

// Headers of every response. Names are in canonical form, so that they are set unchanged.
var (
	nosniffName, nosniff = []byte(fiber.HeaderXContentTypeOptions), []byte("nosniff")
	cacheName, noStore   = []byte(fiber.HeaderCacheControl), []byte("no-store")
	hubName, hubVersion  = []byte(hub.HeaderHub), []byte(hub.APIVersion)
)

// corsHeaders are the request headers that pages may send. X-Integration-Key is never
// among them: keys belong to servers, and a page that holds one has leaked it.
const corsHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Access-Reason, X-Environment, X-Request-Id"

// exposedHeaders are the response headers that pages may read, beside those that browsers
// always show.
const exposedHeaders = "Link, RateLimit-Limit, RateLimit-Policy, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id, X-Total-Count"

// Headers returns the middleware that sets headers. [hub.HeaderHub] shows that a hub
// responds. Browsers neither guess the type of a response nor store it (handlers may
// override Cache-Control), and only pages of the hub's own publicURL read it. CORS preflights are answered here, for every path.
func Headers(publicURL string) fiber.Handler {
	ownOrigin := originOf(publicURL)
	return func(c *fiber.Ctx) error {
		header := &c.Response().Header
		setFixedHeaders(header)
		origin := c.Request().Header.Peek(fiber.HeaderOrigin)
		if len(origin) == 0 { // not a browser
			return c.Next()
		}
		header.Add(fiber.HeaderVary, fiber.HeaderOrigin)
		sameOrigin := ownOrigin != "" && string(origin) == ownOrigin
		if sameOrigin {
			header.Set(fiber.HeaderAccessControlAllowOrigin, ownOrigin)
			header.Set(fiber.HeaderAccessControlExposeHeaders, exposedHeaders)
		}
		if c.Method() != fiber.MethodOptions || len(c.Request().Header.Peek(fiber.HeaderAccessControlRequestMethod)) == 0 {
			return c.Next()
		}
		if sameOrigin {
			header.Set(fiber.HeaderAccessControlAllowMethods, "GET, POST, PUT, DELETE")
			header.Set(fiber.HeaderAccessControlAllowHeaders, corsHeaders)
			header.Set(fiber.HeaderAccessControlMaxAge, "600")
		}
		return c.SendStatus(fiber.StatusNoContent)
	}
}

// setFixedHeaders sets the headers that every response has: who responds, and that
// browsers neither guess its type nor store it.
func setFixedHeaders(header *fasthttp.ResponseHeader) {
	header.SetCanonical(hubName, hubVersion)
	header.SetCanonical(nosniffName, nosniff)
	header.SetCanonical(cacheName, noStore)
}

// originOf returns the origin of a URL as browsers send it, "" if it has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return strings.ToLower(u.Scheme) + "://" + host
}

// AnswerUnknownMethods has the app answer unknown HTTP methods with a 405 [Problem], and HEAD
// wherever it answers GET, as RFC 9110 wants. fiber itself answers unknown methods with plain
// text, before any handler. Call it before the app serves.
func AnswerUnknownMethods(app *fiber.App) {
	server := app.Server()
	methods := app.Config().RequestMethods
	allowed := strings.Join(methods, ", ")
	handle := server.Handler
	server.Handler = func(ctx *fasthttp.RequestCtx) {
		if ctx.IsHead() {
			answerHead(ctx, handle)
			return
		}
		for _, method := range methods {
			if string(ctx.Method()) == method { // compared without a copy
				handle(ctx)
				allowHead(ctx)
				return
			}
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		c.Set(fiber.HeaderAllow, allowed)
		_ = app.ErrorHandler(c, fiber.ErrMethodNotAllowed) // ours only fails where Problem cannot be written as JSON
	}
}

// allowHead names HEAD beside GET where a response says which methods a path knows.
func allowHead(ctx *fasthttp.RequestCtx) {
	if ctx.Response.StatusCode() != fiber.StatusMethodNotAllowed {
		return
	}
	allowed := string(ctx.Response.Header.Peek(fiber.HeaderAllow))
	if strings.Contains(allowed, fiber.MethodGet) && !strings.Contains(allowed, fiber.MethodHead) {
		ctx.Response.Header.Set(fiber.HeaderAllow, strings.Replace(allowed, fiber.MethodGet, fiber.MethodGet+", "+fiber.MethodHead, 1))
	}
}

// answerHead answers HEAD as GET where no route answers it itself. The server leaves out the
// body, and keeps its length. A body that is streamed is closed: its end would follow the header.
func answerHead(ctx *fasthttp.RequestCtx, handle fasthttp.RequestHandler) {
	handle(ctx)
	if ctx.Response.StatusCode() != fiber.StatusMethodNotAllowed || !strings.Contains(string(ctx.Response.Header.Peek(fiber.HeaderAllow)), fiber.MethodGet) {
		return
	}
	ctx.Response.Reset()
	ctx.ResetUserValues()
	ctx.Request.Header.SetMethod(fiber.MethodGet)
	handle(ctx)
	ctx.Request.Header.SetMethod(fiber.MethodHead)
	if ctx.Response.IsBodyStream() {
		_ = ctx.Response.CloseBodyStream()
		ctx.Response.ResetBody()
	}
}
