package httpx

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// What browsers are told. Names are in canonical form: they are set as they are.
var (
	nosniffName, nosniff = []byte(fiber.HeaderXContentTypeOptions), []byte("nosniff")
	cacheName, noStore   = []byte(fiber.HeaderCacheControl), []byte("no-store")
)

// corsHeaders are the request headers pages may send. Never X-Integration-Key: keys
// belong to servers, and a page that has one has leaked it.
const corsHeaders = "Authorization, Content-Type, Last-Event-ID, X-Environment, X-Request-Id"

// Headers is the middleware that tells browsers what they may do with answers:
// neither guess their type nor keep them (handlers of what may be kept set
// Cache-Control anew), and read them from pages of the hub's own publicURL only.
// Preflights are answered here, for every address.
func Headers(publicURL string) fiber.Handler {
	own := originOf(publicURL)
	return func(c *fiber.Ctx) error {
		header := &c.Response().Header
		safe(header)
		origin := c.Request().Header.Peek(fiber.HeaderOrigin)
		if len(origin) == 0 { // a server
			return c.Next()
		}
		header.Add(fiber.HeaderVary, fiber.HeaderOrigin)
		ours := own != "" && string(origin) == own
		if ours {
			header.Set(fiber.HeaderAccessControlAllowOrigin, own)
			header.Set(fiber.HeaderAccessControlExposeHeaders, "Retry-After, X-Request-Id")
		}
		if c.Method() != fiber.MethodOptions || len(c.Request().Header.Peek(fiber.HeaderAccessControlRequestMethod)) == 0 {
			return c.Next()
		}
		if ours {
			header.Set(fiber.HeaderAccessControlAllowMethods, "GET, POST, PUT, DELETE")
			header.Set(fiber.HeaderAccessControlAllowHeaders, corsHeaders)
			header.Set(fiber.HeaderAccessControlMaxAge, "600")
		}
		return c.SendStatus(fiber.StatusNoContent)
	}
}

func safe(header *fasthttp.ResponseHeader) {
	header.SetCanonical(nosniffName, nosniff)
	header.SetCanonical(cacheName, noStore)
}

// originOf is the origin of a URL as browsers send it; "" where it has none.
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

// AnswerUnknownMethods makes the app answer methods HTTP does not know like any
// other that an address does not know, a 405 in the one shape; by itself fiber
// answers them with plain text, before any handler. Call it before the app serves.
func AnswerUnknownMethods(app *fiber.App) {
	server := app.Server()
	known := app.Config().RequestMethods
	allowed := strings.Join(known, ", ")
	handle := server.Handler
	server.Handler = func(ctx *fasthttp.RequestCtx) {
		for _, method := range known {
			if string(ctx.Method()) == method { // compared without a copy
				handle(ctx)
				return
			}
		}
		c := app.AcquireCtx(ctx)
		defer app.ReleaseCtx(c)
		c.Set(fiber.HeaderAllow, allowed)
		_ = app.ErrorHandler(c, fiber.ErrMethodNotAllowed) // ours only fails where Problem cannot be written as JSON
	}
}
