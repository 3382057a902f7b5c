// Package reference serves an OpenAPI document and the page that displays it, in
// development.
package reference

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
)

// files are the page, its style and its script, which renders openapi.json. Nothing is
// loaded from other hosts.
//
//go:embed docs
var files embed.FS

// policy lets the page load only its own files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Mount serves /openapi.json and the page /docs below a path of the router; "" is its
// root. write is called once, at the first request.
func Mount(router fiber.Router, path string, write func() ([]byte, error)) error {
	document := sync.OnceValues(write)
	router.Get(path+"/openapi.json", func(c *fiber.Ctx) error {
		text, err := document()
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, "application/openapi+json")
		c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
		return c.Send(text)
	})
	for address, file := range map[string]struct{ name, mediaType string }{
		"/docs":          {"docs/index.html", fiber.MIMETextHTMLCharsetUTF8},
		"/docs/page.css": {"docs/page.css", "text/css; charset=utf-8"},
		"/docs/page.js":  {"docs/page.js", fiber.MIMETextJavaScriptCharsetUTF8},
	} {
		content, err := files.ReadFile(file.name)
		if err != nil {
			return fmt.Errorf("reading the reference page: %w", err)
		}
		text := strings.ReplaceAll(string(content), "{base}", path)
		router.Get(path+address, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, file.mediaType)
			c.Set(fiber.HeaderContentSecurityPolicy, policy)
			c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
			c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
			return c.SendString(text)
		})
	}
	return nil
}
