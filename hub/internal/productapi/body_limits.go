package productapi

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
	"integrationhub/hub/module"
	"integrationhub/hub/module/rest"
)

// admissionTimeout bounds authenticating a caller before its long body is read.
const admissionTimeout = 5 * time.Second

// longBody is the limit of an operation that takes bodies over [httpx.MaxBody].
type longBody struct {
	path      pathPattern
	maxBytes  int
	adminOnly bool // only administrators may call the operation
	isOpen    bool // no credentials are needed
}

// findLongBodies returns the limits of a product's operations that take bodies over
// [httpx.MaxBody].
func findLongBodies(basePath string, document *huma.OpenAPI) []longBody {
	var limits []longBody
	for path, item := range document.Paths {
		if op := item.Post; op != nil && op.MaxBodyBytes > httpx.MaxBody {
			accepted := rest.Access(op.Security).Credentials()
			limits = append(limits, longBody{newPathPattern(basePath + path), int(op.MaxBodyBytes), accepted.Admin, accepted.None})
		}
	}
	return limits
}

// pathPattern is the path of an operation by segments; {id} matches any.
type pathPattern []string

func newPathPattern(path string) pathPattern { return strings.Split(path, "/") }

// matches reports whether a path is the operation's.
func (p pathPattern) matches(path string) bool {
	return slices.EqualFunc(p, strings.Split(path, "/"), func(pattern, segment string) bool {
		return pattern == segment || strings.HasPrefix(pattern, "{") && segment != ""
	})
}

// AdmitLongBody returns, before a request's body is read, how long it may be if that is
// more than [httpx.MaxBody], for operations that take long bodies. Authenticated users of the
// product get such a limit. Strangers get it for operations without credentials, and
// have little room: they must not make the hub hold long bodies.
func (p *Product) AdmitLongBody(method, path, authorization string) httpx.Admission {
	i := slices.IndexFunc(p.longBodies, func(l longBody) bool { return l.path.matches(path) })
	if i < 0 || method != fiber.MethodPost {
		return httpx.Admission{}
	}
	limit := p.longBodies[i]
	if limit.isOpen {
		return httpx.Admission{MaxBytes: limit.maxBytes, Open: true}
	}
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	if !bearer || !isTokenText(token) {
		return httpx.Admission{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), admissionTimeout)
	defer cancel()
	caller, err := p.instance.Authenticate(ctx, token)
	if err != nil {
		return httpx.Admission{}
	}
	return httpx.Admission{MaxBytes: limit.maxBytes, AdminOnly: limit.adminOnly && !caller.Admin, Tenant: caller.TenantID}
}

// ErrorAdapterOf returns the error adapter of the operation of a path, or nil if it has
// none or takes no forms: the server refuses a form that it cannot read before the request
// is routed.
func (p *Product) ErrorAdapterOf(method, path string) module.ErrorAdapter {
	i := slices.IndexFunc(p.formErrors, func(f formErrors) bool { return method == fiber.MethodPost && f.path.matches(path) })
	if i < 0 {
		return nil
	}
	return p.formErrors[i].adapter
}

// formErrors adapts the errors of an operation that takes forms.
type formErrors struct {
	path    pathPattern
	adapter module.ErrorAdapter
}

// findFormErrors returns the operations that take forms and have an error adapter.
func findFormErrors(basePath string, document *huma.OpenAPI) []formErrors {
	var list []formErrors
	for path, item := range document.Paths {
		if op := item.Post; op != nil && op.RequestBody != nil && op.RequestBody.Content[fiber.MIMEMultipartForm] != nil {
			if adapter, ok := op.Metadata[module.MetadataErrorAdapter].(module.ErrorAdapter); ok {
				list = append(list, formErrors{newPathPattern(basePath + path), adapter})
			}
		}
	}
	return list
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
