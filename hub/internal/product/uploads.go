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

// admissionTime is how long finding out who wants to send a long body may take.
const admissionTime = 5 * time.Second

// longBody is how long a body may be, in bytes, and whether only administrators may send
// it.
type longBody struct {
	most  int
	admin bool
}

// longBodies are the paths of the operations that take bodies over [httpx.MaxBody],
// and how long those may be.
func longBodies(product, base string, document *huma.OpenAPI) (map[string]longBody, error) {
	limits := make(map[string]longBody)
	for path, item := range document.Paths {
		op := item.Post
		if op == nil || op.MaxBodyBytes <= httpx.MaxBody {
			continue
		}
		if strings.Contains(path, "{") {
			return nil, fmt.Errorf("mounting %s: %s has a body limit of its own and a path with parameters", product, op.OperationID)
		}
		limits[base+path] = longBody{int(op.MaxBodyBytes), rest.Access(op.Security).Credentials().Admin}
	}
	return limits, nil
}

// LongBody tells, before a request's body is read, how long it may be where that is
// more than [httpx.MaxBody]: an operation takes such bodies and a user of the product
// who may call it sends it. For all others nothing: nobody unknown makes the hub hold
// that much.
func (p *Product) LongBody(method, path, authorization string) httpx.Admission {
	long := p.long[path]
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	if long.most == 0 || method != fiber.MethodPost || !bearer || !plainToken(token) {
		return httpx.Admission{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), admissionTime)
	defer cancel()
	caller, err := p.instance.Authenticate(ctx, token)
	if err != nil {
		return httpx.Admission{}
	}
	return httpx.Admission{Most: long.most, AdminOnly: long.admin && !caller.Admin}
}

// checkForm refuses what is no form of a media type, and forms that are compressed:
// what they unpack to has no bounds.
func checkForm(media string) func(*fiber.Ctx) error {
	return func(c *fiber.Ctx) error {
		if encoding := c.Get(fiber.HeaderContentEncoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
			return hub.Errorf(hub.ErrUnsupportedMediaType, "content_encoding_not_supported", "Send the body without compression: Content-Encoding is not supported.")
		}
		given := c.Request().Header.ContentType()
		if name, _, err := mime.ParseMediaType(string(given)); err != nil || name != media {
			return hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type", "Send the body as Content-Type: %s.", media)
		}
		if rest := bytes.TrimLeft(given, " \t"); !bytes.HasPrefix(rest, []byte(media)) { // what reads the form compares case
			c.Request().Header.SetContentType(media + string(rest[len(media):]))
		}
		return nil
	}
}
