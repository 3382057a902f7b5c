// Package console serves the web console of operators and of hosted products'
// administrators. Its pages are built from src/ into dist/ (make console) and embedded in the
// binary. README.md says how a screen is added.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
)

//go:embed all:dist
var files embed.FS

// Placeholders in index.html: the nonce of each answer, and the products that run here.
const (
	noncePlaceholder    = "HUB-CSP-NONCE"
	productsPlaceholder = "HUB-PRODUCTS"
)

// Product is a hosted product whose API lies below the hub's address, where pages may call it.
type Product struct {
	Name string
	Path string // of its base, such as /clinic
}

// policy allows the console's own files, and style elements with the nonce: Mantine writes the
// variables of its theme into one.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%[1]s'; connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// fingerprinted files change their name with their content.
const fingerprinted = "assets/"

// asset is a file of the build.
type asset struct {
	mediaType string
	plain     []byte
	gzipped   func() []byte
}

// Mount serves the console: its files, and to browsers its page at / and at every other path
// without a route. home serves / to other programs. Accounts of the products can log in. All
// other routes have to be mounted before.
func Mount(app *fiber.App, home fiber.Handler, products []Product) error {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		return fmt.Errorf("opening the console's files: %w", err)
	}
	assets, err := loadAssets(dist)
	if err != nil {
		return err
	}
	index, found := assets["index.html"]
	if !found {
		return fmt.Errorf("the console was not built: index.html is missing")
	}
	delete(assets, "index.html")
	page := bytes.ReplaceAll(index.plain, []byte(productsPlaceholder), []byte(listProducts(products)))
	owned := ownedSegments(app)
	app.Get("/assets/*", func(c *fiber.Ctx) error { return serveAsset(c, assets) })
	app.Get("/", func(c *fiber.Ctx) error {
		c.Vary(fiber.HeaderAccept)
		if !acceptsPages(c) {
			return home(c)
		}
		return servePage(c, page)
	})
	// A route of its own would make every unknown path one that knows GET only: 405 instead of 404.
	app.Use(func(c *fiber.Ctx) error {
		segment, _, _ := strings.Cut(strings.TrimPrefix(c.Path(), "/"), "/")
		if owned[segment] || !acceptsPages(c) || (c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead) {
			return c.Next()
		}
		return servePage(c, page)
	})
	return nil
}

// listProducts writes the products as the page's scripts read them: "clinic=/clinic notes=/n".
func listProducts(products []Product) string {
	list := make([]string, len(products))
	for i, product := range products {
		list[i] = product.Name + "=" + product.Path
	}
	return html.EscapeString(strings.Join(list, " "))
}

// ownedSegments returns the first segments of the paths that have routes: below them an
// unknown path is answered as it is without the console.
func ownedSegments(app *fiber.App) map[string]bool {
	owned := map[string]bool{"api": true, "assets": true, "docs": true, "openapi.json": true}
	for _, route := range app.GetRoutes(true) {
		segment, _, _ := strings.Cut(strings.TrimPrefix(route.Path, "/"), "/")
		if segment != "" && segment != "*" && !strings.HasPrefix(segment, ":") {
			owned[segment] = true
		}
	}
	return owned
}

// acceptsPages reports whether a browser asks for a page: whether Accept names HTML. A program
// that accepts any type (*/*) is not a browser.
func acceptsPages(c *fiber.Ctx) bool {
	return strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML)
}

func loadAssets(dist fs.FS) (map[string]asset, error) {
	assets := make(map[string]asset)
	err := fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(dist, name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		mediaType := mime.TypeByExtension(path.Ext(name))
		if known, ok := mediaTypes[path.Ext(name)]; ok {
			mediaType = known
		}
		assets[name] = asset{mediaType, content, sync.OnceValue(func() []byte { return compress(content) })}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the console's files: %w", err)
	}
	return assets, nil
}

// mediaTypes do not depend on the machine's list.
var mediaTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2", ".html": fiber.MIMETextHTMLCharsetUTF8,
}

// compress compresses a file at the highest level. Each file is compressed once.
func compress(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil // never for a buffer
	}
	return b.Bytes()
}

func serveAsset(c *fiber.Ctx, assets map[string]asset) error {
	file, found := assets[strings.TrimPrefix(c.Path(), "/")]
	if !found {
		return hub.NotFound("File")
	}
	if strings.HasPrefix(c.Path(), "/"+fingerprinted) {
		c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	c.Set(fiber.HeaderContentType, file.mediaType)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Vary(fiber.HeaderAcceptEncoding)
	compressed := file.gzipped()
	if c.AcceptsEncodings("gzip") == "gzip" && len(compressed) > 0 && len(compressed) < len(file.plain) {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(compressed)
	}
	return c.Send(file.plain)
}

// servePage serves the page with a nonce of its own.
func servePage(c *fiber.Ctx, page []byte) error {
	var random [18]byte
	_, _ = rand.Read(random[:]) // never fails
	nonce := base64.StdEncoding.EncodeToString(random[:])
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, fmt.Sprintf(policy, nonce))
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderXFrameOptions, "DENY")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	c.Vary(fiber.HeaderAccept)
	return c.Send(bytes.ReplaceAll(page, []byte(noncePlaceholder), []byte(nonce)))
}
