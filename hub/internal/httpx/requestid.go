package httpx

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// HeaderRequestID carries the id of a request, both ways.
const HeaderRequestID = "X-Request-Id"

// requestIDMax is the maximum length of an incoming id, in bytes.
const requestIDMax = 64

type requestIDKey struct{}

// RequestIDs returns the middleware that sets the id of every request: the client's own
// if it is valid (1–64 characters of A–Z a–z 0–9 _ -), else a new one. The id is set on
// the response and in the request's user context, where [RequestID] finds it.
func RequestIDs() fiber.Handler {
	return func(c *fiber.Ctx) error {
		ensureRequestID(c)
		return c.Next()
	}
}

// RequestID returns the id of the request of ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// ensureRequestID returns the request's id and sets it on the first call. Requests that
// the server refuses before any middleware runs get their id here too.
func ensureRequestID(c *fiber.Ctx) string {
	ctx := c.UserContext()
	if id := RequestID(ctx); id != "" {
		return id
	}
	id := c.Get(HeaderRequestID)
	if isValidRequestID(id) {
		id = strings.Clone(id) // fiber reuses the buffer behind it after the request
	} else {
		id = newRequestID()
	}
	c.SetUserContext(context.WithValue(ctx, requestIDKey{}, id))
	c.Set(HeaderRequestID, id)
	return id
}

func isValidRequestID(id string) bool {
	if id == "" || len(id) > requestIDMax {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

func newRequestID() string {
	var raw [12]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(raw[:])
}
