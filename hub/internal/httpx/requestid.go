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

// requestIDMax is the longest incoming id that is taken over, in bytes.
const requestIDMax = 64

type requestIDKey struct{}

// RequestIDs is the middleware that gives every request an id: the sender's own
// where it is sane (1–64 characters of A–Z a–z 0–9 _ -), else a new one. It is set
// on the answer and in the request's user context, where [RequestID] finds it.
func RequestIDs() fiber.Handler {
	return func(c *fiber.Ctx) error {
		ensureRequestID(c)
		return c.Next()
	}
}

// RequestID gives the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// ensureRequestID gives the request's id, choosing it on the first call. Requests
// that the server refuses before any middleware runs get theirs here as well.
func ensureRequestID(c *fiber.Ctx) string {
	ctx := c.UserContext()
	if id := RequestID(ctx); id != "" {
		return id
	}
	id := c.Get(HeaderRequestID)
	if saneRequestID(id) {
		id = strings.Clone(id) // fiber reuses the buffer behind it after the request
	} else {
		id = newRequestID()
	}
	c.SetUserContext(context.WithValue(ctx, requestIDKey{}, id))
	c.Set(HeaderRequestID, id)
	return id
}

func saneRequestID(id string) bool {
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
