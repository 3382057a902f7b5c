package httpx

import (
	"bytes"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"

	"integrationhub/hub"
	"integrationhub/hub/internal/strictjson"
)

// MaxBody is the maximum length of a request body, in bytes. It must also be fiber's
// BodyLimit, which refuses longer bodies while they are read, chunked ones included.
const MaxBody = 1 << 20

// longTimeout is how long a request with a long body may take to arrive.
const longTimeout = 3 * time.Minute

// JSONBody returns the request's body as it was sent, after the checks that do not parse
// it: at most [MaxBody] (413), not compressed (415), declared as application/json or
// application/…+json (415). It is empty for a request without a body. The bytes are
// fiber's: copy what outlives the handler.
func JSONBody(c *fiber.Ctx) ([]byte, error) { return jsonBody(c, MaxBody) }

// jsonBody is [JSONBody] with another limit.
func jsonBody(c *fiber.Ctx, maxBytes int) ([]byte, error) {
	header := &c.Request().Header
	if len(header.Peek(fiber.HeaderContentEncoding)) > 0 {
		for _, value := range header.PeekAll(fiber.HeaderContentEncoding) {
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("identity")) {
				return nil, hub.Errorf(hub.ErrUnsupportedMediaType, "content_encoding_not_supported",
					"Send the body without compression: Content-Encoding is not supported.")
			}
		}
	}
	body := c.Request().Body()
	if len(body) > maxBytes {
		return nil, hub.Errorf(hub.ErrTooLarge, "too_large", "The body is longer than %d bytes.", maxBytes)
	}
	if len(body) == 0 || string(header.ContentType()) == fiber.MIMEApplicationJSON { // compared without a copy
		return body, nil
	}
	media := mediaType(header.ContentType())
	if !isJSON(string(media)) {
		return nil, hub.Errorf(hub.ErrUnsupportedMediaType, "unsupported_media_type",
			"Send the body as Content-Type: application/json.")
	}
	header.SetContentTypeBytes(media) // huma only accepts lower case
	return body, nil
}

// Body returns the middleware of JSON endpoints: [JSONBody], then [strictjson.Check]. Requests
// without a body pass; the endpoint decides whether it needs one.
func Body(rules strictjson.Rules) fiber.Handler {
	return func(c *fiber.Ctx) error {
		body, err := JSONBody(c)
		if err != nil {
			return err
		}
		if len(body) > 0 {
			if err := strictjson.Check(body, rules); err != nil {
				return err
			}
		}
		return c.Next()
	}
}

// CheckBody checks the JSON body of an operation: [JSONBody], with the operation's limit where
// that is longer, [strictjson.Check] and [CheckNulls]. A request without a body passes.
func CheckBody(c *fiber.Ctx, schemas huma.Registry, op *huma.Operation) error {
	body, err := jsonBody(c, max(MaxBody, int(op.MaxBodyBytes)))
	if err != nil || len(body) == 0 {
		return err
	}
	if err := strictjson.Check(body, strictjson.Rules{UniqueKeys: true}); err != nil {
		return err
	}
	return CheckNulls(schemas, op, body)
}

// mediaType returns a Content-Type in lower case and without parameters.
func mediaType(contentType []byte) []byte {
	media, _, _ := bytes.Cut(contentType, []byte(";"))
	return bytes.ToLower(bytes.TrimSpace(media))
}

// isJSON reports whether a media type is application/json or application/…+json.
func isJSON(media string) bool {
	if media == fiber.MIMEApplicationJSON {
		return true
	}
	subtype, ok := strings.CutPrefix(media, "application/")
	return ok && strings.HasSuffix(subtype, "+json") && len(subtype) > len("+json")
}
