package product

import (
	"bytes"
	"context"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
	"integrationhub/hub/module/rest"
)

// admissionTimeout bounds authenticating a caller before its long body is read.
const admissionTimeout = 5 * time.Second

// longBody is the limit of an operation that takes bodies over [httpx.MaxBody].
type longBody struct {
	path      []string // segments; {id} matches any
	maxBytes  int
	adminOnly bool // only administrators may call the operation
}

// findLongBodies returns the limits of a product's operations that take bodies over
// [httpx.MaxBody].
func findLongBodies(basePath string, document *huma.OpenAPI) []longBody {
	var limits []longBody
	for path, item := range document.Paths {
		if op := item.Post; op != nil && op.MaxBodyBytes > httpx.MaxBody {
			limits = append(limits, longBody{strings.Split(basePath+path, "/"), int(op.MaxBodyBytes), rest.Access(op.Security).Credentials().Admin})
		}
	}
	return limits
}

// matches reports whether a path is the operation's.
func (l longBody) matches(path string) bool {
	segments := strings.Split(path, "/")
	return slices.EqualFunc(l.path, segments, func(pattern, segment string) bool {
		return pattern == segment || strings.HasPrefix(pattern, "{") && segment != ""
	})
}

// AdmitLongBody returns, before a request's body is read, how long it may be if that is
// more than [httpx.MaxBody]. Only authenticated users of the product get such a limit, and
// only for operations that take long bodies: strangers must not make the hub hold them.
func (p *Product) AdmitLongBody(method, path, authorization string) httpx.Admission {
	i := slices.IndexFunc(p.longBodies, func(l longBody) bool { return l.matches(path) })
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	if i < 0 || method != fiber.MethodPost || !bearer || !isTokenText(token) {
		return httpx.Admission{}
	}
	limit := p.longBodies[i]
	ctx, cancel := context.WithTimeout(context.Background(), admissionTimeout)
	defer cancel()
	caller, err := p.instance.Authenticate(ctx, token)
	if err != nil {
		return httpx.Admission{}
	}
	return httpx.Admission{MaxBytes: limit.maxBytes, AdminOnly: limit.adminOnly && !caller.Admin}
}

// checkForm returns a check that a body is a form of a media type and not compressed: a
// compressed form has no bound on its size.
func checkForm(mediaType string) func(*fiber.Ctx) error {
	return func(c *fiber.Ctx) error {
		if encoding := c.Get(fiber.HeaderContentEncoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
			return hub.Errorf(hub.ErrUnsupportedMediaType, "content_encoding_not_supported", "Send the body without compression: Content-Encoding is not supported.")
		}
		contentType := c.Request().Header.ContentType()
		if name, _, err := mime.ParseMediaType(string(contentType)); err != nil || name != mediaType {
			return hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type", "Send the body as Content-Type: %s.", mediaType)
		}
		if trimmed := bytes.TrimLeft(contentType, " \t"); !bytes.HasPrefix(trimmed, []byte(mediaType)) { // the form parser compares case
			c.Request().Header.SetContentType(mediaType + string(trimmed[len(mediaType):]))
		}
		return nil
	}
}
