package product

import (
	"bytes"
	"context"
	"fmt"
	"mime"
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
	maxBytes  int
	adminOnly bool // only administrators may call the operation
}

// findLongBodies returns the limits of a product's operations that take bodies over
// [httpx.MaxBody], by path.
func findLongBodies(product, basePath string, document *huma.OpenAPI) (map[string]longBody, error) {
	limits := make(map[string]longBody)
	for path, item := range document.Paths {
		op := item.Post
		if op == nil || op.MaxBodyBytes <= httpx.MaxBody {
			continue
		}
		if strings.Contains(path, "{") {
			return nil, fmt.Errorf("mounting %s: %s has a body limit of its own and a path with parameters", product, op.OperationID)
		}
		limits[basePath+path] = longBody{int(op.MaxBodyBytes), rest.Access(op.Security).Credentials().Admin}
	}
	return limits, nil
}

// AdmitLongBody returns, before a request's body is read, how long it may be if that is
// more than [httpx.MaxBody]. Only authenticated users of the product get such a limit, and
// only for operations that take long bodies: strangers must not make the hub hold them.
func (p *Product) AdmitLongBody(method, path, authorization string) httpx.Admission {
	limit := p.longBodies[path]
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	if limit.maxBytes == 0 || method != fiber.MethodPost || !bearer || !isTokenText(token) {
		return httpx.Admission{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), admissionTimeout)
	defer cancel()
	caller, err := p.instance.Authenticate(ctx, token)
	if err != nil {
		return httpx.Admission{}
	}
	return httpx.Admission{MaxBytes: limit.maxBytes, AdminOnly: limit.adminOnly && !caller.Admin}
}

// checkForm returns a check that a body is a readable form of a media type and not
// compressed: a compressed form has no bound on its size.
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
		if mediaType == fiber.MIMEMultipartForm {
			if _, err := c.MultipartForm(); err != nil {
				return hub.Errorf(hub.ErrMalformed, "malformed", "The form cannot be read: it must have a boundary, as its Content-Type says, and end with it.")
			}
		}
		return nil
	}
}
