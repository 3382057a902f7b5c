package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// ParseEnvelope parses a webhook envelope, the reverse of [AppendEnvelope]. TenantID
// and Environment stay empty, and the id is in lowercase. Unknown fields are ignored, and names are
// case-sensitive. Data is a copy. Errors: [ErrMalformed] for invalid JSON,
// [ErrInvalid] for an invalid field. See "Webhook envelope" in
// docs/interfaces/clinic.md.
func ParseEnvelope(body []byte) (Event, error) {
	if !json.Valid(body) {
		return Event{}, Errorf(ErrMalformed, "malformed_json", "The body is not JSON.")
	}
	body = bytes.TrimLeft(body, whitespace)
	if body[0] != '{' {
		return Event{}, Invalid("body", "must be a JSON object")
	}
	fields := envelopeFields(body)
	var e Event
	var timestamp string
	for i, target := range [...]*string{&e.ID, &e.Product, &e.Type, &timestamp, &e.CorrelationID} {
		if err := parseString(fields[i], envelopeNames[i], target); err != nil {
			return Event{}, err
		}
		if *target == "" && target != &e.CorrelationID {
			return Event{}, Invalid("body."+envelopeNames[i], "is required")
		}
	}
	bits, ok := ParseEventID(e.ID)
	if !ok {
		return Event{}, Invalid("body.id", `must be "evt_" and 16 hexadecimal digits`)
	}
	e.ID = FormatEventID(bits)
	parsed, err := time.Parse(time.RFC3339, timestamp)
	e.Time = parsed.UTC()
	if err != nil || e.Time.Year() < 1 || e.Time.Year() > 9999 { // the offset may move it out of RFC 3339's years
		return Event{}, Invalid("body.timestamp", "must be a time such as 2026-01-02T03:04:05Z")
	}
	data := fields[len(fields)-1]
	if len(data) == 0 || data[0] != '{' {
		return Event{}, Invalid("body.data", "must be a JSON object")
	}
	e.Data = bytes.Clone(data)
	return e, nil
}

// envelopeNames are the fields of an envelope; data is the last.
var envelopeNames = [...]string{"id", "product", "event_type", "timestamp", "correlation_id", "data"}

// whitespace is what JSON allows between tokens.
const whitespace = " \t\r\n"

// envelopeFields returns the raw values of an envelope's fields in a valid JSON
// object. The last value of a repeated field wins.
func envelopeFields(object []byte) (fields [len(envelopeNames)][]byte) {
	rest := bytes.TrimLeft(object[1:], whitespace)
	for rest[0] != '}' {
		end := valueEnd(rest)
		name := rest[1 : end-1]
		if bytes.ContainsRune(name, '\\') {
			var unescaped string
			if json.Unmarshal(rest[:end], &unescaped) == nil {
				name = []byte(unescaped)
			}
		}
		rest = bytes.TrimLeft(rest[end:], whitespace+":")
		end = valueEnd(rest)
		for i, envelopeName := range envelopeNames {
			if string(name) == envelopeName {
				fields[i] = rest[:end]
			}
		}
		rest = bytes.TrimLeft(rest[end:], whitespace+",")
	}
	return fields
}

// valueEnd returns the end of the first value in the rest of a valid JSON object.
func valueEnd(raw []byte) int {
	depth := 0
	for i := 0; ; i++ { // the object ends behind the value
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of what the value stands in
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
}

// parseString parses a JSON string into target. It leaves target unchanged if the
// value is absent or null.
func parseString(raw []byte, name string, target *string) error {
	if raw == nil {
		return nil
	}
	if raw[0] == '"' && !bytes.ContainsRune(raw, '\\') && utf8.Valid(raw) { // the usual case, without a second parse
		*target = string(raw[1 : len(raw)-1])
		return nil
	}
	if err := json.Unmarshal(raw, target); err != nil {
		return Invalid("body."+name, "must be a string")
	}
	return nil
}

// DeriveEventID derives an event id from a peer's own id of the event. Equal ids give
// equal event ids, so that duplicates are detected. Event ids are unique per peer, not
// across peers.
func DeriveEventID(peerID string) string {
	sum := sha256.Sum256([]byte(peerID))
	return FormatEventID(binary.BigEndian.Uint64(sum[:8]))
}
