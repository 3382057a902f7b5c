package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Environment separates production data from sandbox data; the two never mix.
type Environment string

// The two environments. A key's prefix names its environment: sch_live_…, sch_test_….
const (
	Live Environment = "live"
	Test Environment = "test"
)

// Valid reports whether e is one of the two environments.
func (e Environment) Valid() bool { return e == Live || e == Test }

// Event is one fact that a product publishes, without its envelope.
type Event struct {
	ID            string          // "evt_" + 16 lowercase hex digits
	TenantID      uuid.UUID       // the tenant it happened in
	Environment   Environment     //
	Product       string          // sending product
	Type          string          // e.g. "appointment.created"
	Time          time.Time       // when it happened; sent as UTC with a trailing Z
	CorrelationID string          // omitted from the envelope if empty
	Data          json.RawMessage // JSON object, byte for byte as published
	Priority      Priority        // of its deliveries; not part of the envelope
	OrderingKey   string          // what it is about, up to 200 bytes: ordered receivers get the events of one key in order; not part of the envelope
}

// ProductHub is the product of the hub's own events and emails. No other product may have
// this name.
const ProductHub = "hub"

// ErasedPayload replaces an erased payload.
const ErasedPayload = `{"erased":true}`

// eventIDPrefix begins every event id. See "Webhook envelope" in
// docs/interfaces/clinic.md.
const eventIDPrefix = "evt_"

// NewEventID returns a random event id of 64 bits.
func NewEventID() string {
	return FormatEventID(rand.Uint64()) //nolint:gosec // ids are unique, not secret
}

// FormatEventID formats the 64 bits of an event id as "evt_" and 16 hex digits.
func FormatEventID(bits uint64) string {
	var raw [8]byte
	for i := range raw {
		raw[i] = byte(bits >> (56 - 8*i))
	}
	out := make([]byte, len(eventIDPrefix)+16)
	copy(out, eventIDPrefix)
	hex.Encode(out[len(eventIDPrefix):], raw[:])
	return string(out)
}

// ParseEventID returns the 64 bits of an event id, whose hex digits may be uppercase. ok
// is false for any other text.
func ParseEventID(id string) (bits uint64, ok bool) {
	if len(id) != len(eventIDPrefix)+16 || id[:len(eventIDPrefix)] != eventIDPrefix {
		return 0, false
	}
	for _, c := range []byte(id[len(eventIDPrefix):]) {
		switch {
		case '0' <= c && c <= '9':
			bits = bits<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			bits = bits<<4 | uint64(c-'a'+10)
		case 'A' <= c && c <= 'F':
			bits = bits<<4 | uint64(c-'A'+10)
		default:
			return 0, false
		}
	}
	return bits, true
}

// HashEvent returns the SHA-256 of an event as it was received, with its id in lowercase
// wherever the body has it. Bodies that differ only in how they spell the id are equal.
func HashEvent(body []byte, id string) [sha256.Size]byte {
	lower := []byte(strings.ToLower(id))
	normalized := body
	for from := 0; ; {
		i := bytes.Index(normalized[from:], []byte(eventIDPrefix))
		if i < 0 || from+i+len(lower) > len(normalized) {
			return sha256.Sum256(normalized)
		}
		found := normalized[from+i : from+i+len(lower)]
		if !bytes.Equal(found, lower) && bytes.EqualFold(found, lower) {
			if &normalized[0] == &body[0] {
				normalized = bytes.Clone(body)
			}
			copy(normalized[from+i:], lower)
		}
		from += i + len(eventIDPrefix)
	}
}

// EnvelopeTimeFormat is the timestamp layout of the envelope: ISO 8601, UTC, trailing Z.
const EnvelopeTimeFormat = "2006-01-02T15:04:05Z"

// AppendEnvelope appends the envelope of e: id, product, event_type, timestamp,
// correlation_id unless it is empty, data. The bytes of e.Data are copied unchanged.
// The result is what is signed, stored and sent.
func AppendEnvelope(dst []byte, e Event) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendJSONString(dst, e.ID)
	dst = append(dst, `,"product":`...)
	dst = appendJSONString(dst, e.Product)
	dst = append(dst, `,"event_type":`...)
	dst = appendJSONString(dst, e.Type)
	dst = append(dst, `,"timestamp":"`...)
	dst = e.Time.UTC().AppendFormat(dst, EnvelopeTimeFormat)
	dst = append(dst, '"')
	if e.CorrelationID != "" {
		dst = append(dst, `,"correlation_id":`...)
		dst = appendJSONString(dst, e.CorrelationID)
	}
	dst = append(dst, `,"data":`...)
	if len(e.Data) == 0 {
		dst = append(dst, `{}`...)
	} else {
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// appendJSONString appends s as a JSON string, with a fast path for plain ASCII.
func appendJSONString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, err := json.Marshal(s)
			if err != nil { // cannot happen: every string marshals
				return strconv.AppendQuote(dst, s)
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// ReservedTypes begins the types of the hub's own events, such as hub.ping.
const ReservedTypes = "hub."

// ValidEventType reports whether s is one or more words joined by dots. A word has
// ASCII letters, digits, "_" and "-".
func ValidEventType(s string) bool {
	wordEmpty := true
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			if wordEmpty {
				return false
			}
			wordEmpty = true
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
			wordEmpty = false
		default:
			return false
		}
	}
	return !wordEmpty
}
