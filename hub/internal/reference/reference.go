// Package reference writes OpenAPI documents as they are published, and serves them with the
// page that displays them, in development.
package reference

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"html"
	"io"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"
)

// files are the page, its style and script, and the library that renders openapi.json (see
// docs/README.md). Nothing is loaded from other hosts.
//
//go:embed docs
var files embed.FS

// policy lets the page load only files and call only operations of its own origin. Styles in
// the page are allowed: the library sets style attributes and adds style elements without a
// nonce. Scripts are not.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Link leads to a reference.
type Link struct{ Title, URL string }

// Page is a document with the page that displays it.
type Page struct {
	Path  string                 // that /openapi.json and /docs lie below; "" is the root
	Title string                 // of the API
	Write func() ([]byte, error) // returns the document; it is called once, at the first request
	Links func() []Link          // to all references, this one too; nil = none
}

// Mount serves the document and the page.
func Mount(router fiber.Router, p Page) error {
	document := sync.OnceValues(p.Write)
	router.Get(p.Path+"/openapi.json", func(c *fiber.Ctx) error {
		text, err := document()
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, "application/openapi+json")
		c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
		return c.Send(text)
	})
	index, err := files.ReadFile("docs/index.html")
	if err != nil {
		return fmt.Errorf("reading the reference page: %w", err)
	}
	router.Get(p.Path+"/docs", func(c *fiber.Ctx) error {
		setHeaders(c, fiber.MIMETextHTMLCharsetUTF8)
		return c.SendString(strings.NewReplacer("{base}", p.Path, "{title}", html.EscapeString(p.Title), "{links}", p.writeLinks()).Replace(string(index)))
	})
	for name, mediaType := range map[string]string{"page.css": "text/css; charset=utf-8", "page.js": fiber.MIMETextJavaScriptCharsetUTF8} {
		content, err := files.ReadFile("docs/" + name)
		if err != nil {
			return fmt.Errorf("reading the reference page: %w", err)
		}
		router.Get(p.Path+"/docs/"+name, func(c *fiber.Ctx) error {
			setHeaders(c, mediaType)
			return c.Send(content)
		})
	}
	router.Get(p.Path+"/docs/scalar.js", sendLibrary)
	return nil
}

// writeLinks returns the links to all references as HTML.
func (p Page) writeLinks() string {
	if p.Links == nil {
		return ""
	}
	var text strings.Builder
	for _, link := range p.Links() {
		current := ""
		if link.Title == p.Title {
			current = ` aria-current="page"`
		}
		fmt.Fprintf(&text, `<a href="%s"%s>%s</a>`, html.EscapeString(link.URL), current, html.EscapeString(link.Title))
	}
	return text.String()
}

func setHeaders(c *fiber.Ctx, mediaType string) {
	c.Set(fiber.HeaderContentType, mediaType)
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
}

// sendLibrary sends the library as it is stored, compressed, or decompressed to clients that
// do not accept that.
func sendLibrary(c *fiber.Ctx) error {
	compressed, err := files.ReadFile("docs/scalar.js.gz")
	if err != nil {
		return fmt.Errorf("reading the reference page: %w", err)
	}
	setHeaders(c, fiber.MIMETextJavaScriptCharsetUTF8)
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if c.AcceptsEncodings("gzip") == "gzip" {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(compressed)
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return fmt.Errorf("decompressing the reference page: %w", err)
	}
	script, err := io.ReadAll(reader)
	if err != nil {
		return fmt.Errorf("decompressing the reference page: %w", err)
	}
	return c.Send(script)
}
