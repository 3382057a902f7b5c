package api

import (
	"embed"
	"fmt"

	"github.com/gofiber/fiber/v2"
)

// docsFiles is the reference page: a page, a style and a script that draw it from
// /openapi.json. Nothing comes from elsewhere.
//
//go:embed docs
var docsFiles embed.FS

// docsPolicy lets the reference page load only its own files.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serveDocs serves the reference page and /openapi.json, where they are wanted.
func (a *API) serveDocs(app *fiber.App) error {
	if !a.deps.Docs {
		return nil
	}
	app.Get("/openapi.json", func(c *fiber.Ctx) error {
		document, err := a.document()
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, "application/openapi+json")
		c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
		return c.Send(document)
	})
	for path, file := range map[string]struct{ name, mediaType string }{
		"/docs":          {"docs/index.html", fiber.MIMETextHTMLCharsetUTF8},
		"/docs/page.css": {"docs/page.css", "text/css; charset=utf-8"},
		"/docs/page.js":  {"docs/page.js", fiber.MIMETextJavaScriptCharsetUTF8},
	} {
		content, err := docsFiles.ReadFile(file.name)
		if err != nil {
			return fmt.Errorf("reading the reference page: %w", err)
		}
		app.Get(path, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, file.mediaType)
			c.Set(fiber.HeaderContentSecurityPolicy, docsPolicy)
			c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
			c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
			return c.Send(content)
		})
	}
	return nil
}
