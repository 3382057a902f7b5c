package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// ParseEnvelope reads an envelope (interface document 3), the reverse of
// [AppendEnvelope]; TenantID and Environment stay empty. Fields it does not know are
// left alone, and names count by their exact spelling. Data is a copy of its bytes.
// Errors: [ErrMalformed] for what is no JSON, [ErrInvalid] for a wrong field.
func ParseEnvelope(body []byte) (Event, error) {
	if !json.Valid(body) {
		return Event{}, Errorf(ErrMalformed, "malformed_json", "The body is not JSON.")
	}
	body = bytes.TrimLeft(body, space)
	if body[0] != '{' {
		return Event{}, Invalid("body", "must be a JSON object")
	}
	fields := envelopeFields(body)
	var e Event
	var at string
	for i, into := range [...]*string{&e.ID, &e.Product, &e.Type, &at, &e.CorrelationID} {
		if err := readString(fields[i], envelopeNames[i], into); err != nil {
			return Event{}, err
		}
		if *into == "" && into != &e.CorrelationID {
			return Event{}, Invalid("body."+envelopeNames[i], "is required")
		}
	}
	if _, ok := ParseEventID(e.ID); !ok {
		return Event{}, Invalid("body.id", `must be "evt_" and 16 lowercase hexadecimal digits`)
	}
	when, err := time.Parse(time.RFC3339, at)
	e.Time = when.UTC()
	if err != nil || e.Time.Year() < 1 || e.Time.Year() > 9999 { // a zone may lead out of the years that can be written
		return Event{}, Invalid("body.timestamp", "must be a time such as 2026-01-02T03:04:05Z")
	}
	data := fields[len(fields)-1]
	if len(data) == 0 || data[0] != '{' {
		return Event{}, Invalid("body.data", "must be a JSON object")
	}
	e.Data = bytes.Clone(data)
	return e, nil
}

// envelopeNames are an envelope's fields; data is the last.
var envelopeNames = [...]string{"id", "product", "event_type", "timestamp", "correlation_id", "data"}

// space is what may stand between the tokens of JSON.
const space = " \t\r\n"

// envelopeFields finds the values of an envelope's fields in a valid JSON object, as
// they stand there. Of a field that is there twice the last one counts.
func envelopeFields(object []byte) (fields [len(envelopeNames)][]byte) {
	rest := bytes.TrimLeft(object[1:], space)
	for rest[0] != '}' {
		end := valueEnd(rest)
		name := rest[1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			var plain string
			if json.Unmarshal(rest[:end], &plain) == nil {
				name = []byte(plain)
			}
		}
		rest = bytes.TrimLeft(rest[end:], space+":")
		end = valueEnd(rest)
		for i, known := range envelopeNames {
			if string(name) == known {
				fields[i] = rest[:end]
			}
		}
		rest = bytes.TrimLeft(rest[end:], space+",")
	}
	return fields
}

// valueEnd is where the first value ends in valid JSON.
func valueEnd(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
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
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 { // of what the value stands in
				return i
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// readString reads a string; absent and null leave it as it is.
func readString(raw []byte, name string, into *string) error {
	if raw == nil {
		return nil
	}
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) { // as nearly all are; it is valid JSON already
		*into = string(raw[1 : len(raw)-1])
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return Invalid("body."+name, "must be a string")
	}
	return nil
}

// DeriveEventID makes an event id from the name of an event at a peer whose ids have
// another form: the same one for the same name, so that duplicates are still seen.
// Names of different peers need not differ.
func DeriveEventID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return FormatEventID(binary.BigEndian.Uint64(sum[:8]))
}
