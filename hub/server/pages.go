package server

import (
	"bytes"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/module"
)

// pageTime is the deadline of a page.
const pageTime = 30 * time.Second

// mountPage serves a product's page at the hub's root. A path that ends in a slash
// includes everything below it. The handler has the client's address in
// [module.ClientIP] and takes a place with [module.EnterPage].
func mountPage(app *fiber.App, path string, trusted []netip.Prefix, enter module.EnterFunc, page http.Handler) {
	serve := func(c *fiber.Ctx) error {
		ctx, cancel := contextFor(c, pageTime)
		defer cancel()
		ctx = module.WithPlaces(module.WithClientIP(ctx, httpx.ClientIP(c, trusted)), enter)
		// Copies, because the server reuses its buffers for other requests.
		r, err := http.NewRequestWithContext(ctx, c.Method(), strings.Clone(c.OriginalURL()), bytes.NewReader(bytes.Clone(c.Body())))
		if err != nil || !strings.HasPrefix(r.URL.Path, "/") {
			return hub.Errorf(hub.ErrMalformed, "malformed", "The address cannot be read.")
		}
		r.RequestURI, r.Host, r.RemoteAddr = r.URL.RequestURI(), string(c.Context().Host()), c.Context().RemoteAddr().String()
		for name, value := range c.Request().Header.All() {
			r.Header.Add(string(name), string(value))
		}
		w := &pageWriter{header: make(http.Header), status: http.StatusOK}
		page.ServeHTTP(w, r)
		for name, values := range w.header {
			if name != fiber.HeaderVary {
				c.Response().Header.Del(name) // the default of all responses
			}
			for _, value := range values {
				c.Response().Header.Add(name, value)
			}
		}
		return c.Status(w.status).Send(w.body.Bytes())
	}
	app.All(strings.TrimSuffix(path, "/"), serve)
	if strings.HasSuffix(path, "/") {
		app.All(path+"*", serve)
	}
}

// pageWriter buffers a page until it is complete: a panic becomes a 500 instead of half a
// page.
type pageWriter struct {
	header http.Header
	body   bytes.Buffer
	status int
	begun  bool
}

// Header implements [http.ResponseWriter].
func (w *pageWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *pageWriter) WriteHeader(status int) {
	if !w.begun {
		w.status, w.begun = status, true
	}
}

// Write implements [http.ResponseWriter].
func (w *pageWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.body.Write(b)
}
