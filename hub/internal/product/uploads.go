package product

import (
	"context"
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/internal/httpx"
)

// admissionTime is how long finding out who wants to send a long body may take.
const admissionTime = 5 * time.Second

// limitBodies lets operations have bodies as long as they say, where that is more than
// every other may have. It counts for users of the product.
func (p *Product) limitBodies(app *fiber.App, base string) error {
	longest := make(map[string]int)
	for path, item := range p.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Post, item.Put} {
			if op == nil || op.MaxBodyBytes <= httpx.MaxBody {
				continue
			}
			if strings.Contains(path, "{") {
				return fmt.Errorf("mounting %s: %s has a body limit of its own and a path with parameters", p.spec.Name, op.OperationID)
			}
			longest[op.Method+" "+base+path] = int(op.MaxBodyBytes)
		}
	}
	httpx.BodyLimits(app, longest, p.knows)
	return nil
}

// knows tells whether a user of the product sends a request, by its Authorization.
func (p *Product) knows(authorization string) bool {
	token, bearer := strings.CutPrefix(authorization, "Bearer ")
	if !bearer || !plainToken(token) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), admissionTime)
	defer cancel()
	_, err := p.instance.Authenticate(ctx, token)
	return err == nil
}

// checkForm refuses what is no form, and forms that are compressed: what they unpack
// to has no bounds.
func checkForm(c *fiber.Ctx) error {
	if encoding := c.Get(fiber.HeaderContentEncoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return hub.Errorf(hub.ErrMediaType, "content_encoding_not_supported", "Send the body without compression: Content-Encoding is not supported.")
	}
	if media, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType)); err != nil || media != fiber.MIMEMultipartForm {
		return hub.Errorf(hub.ErrMediaType, "unsupported_media_type", "Send the body as Content-Type: multipart/form-data.")
	}
	return nil
}
