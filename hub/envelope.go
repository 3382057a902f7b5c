package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"
)

// ParseEnvelope reads an envelope (interface document 3), the reverse of
// [AppendEnvelope]; TenantID and Environment stay empty. Fields it does not know are
// left alone, and names count by their exact spelling. Data is a copy of its bytes.
// Errors: [ErrMalformed] for what is no JSON, [ErrInvalid] for a wrong field.
func ParseEnvelope(body []byte) (Event, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		var wrongType *json.UnmarshalTypeError
		if errors.As(err, &wrongType) {
			return Event{}, Invalid("body", "must be a JSON object")
		}
		return Event{}, Errorf(ErrMalformed, "malformed_json", "The body is not JSON.")
	}
	var e Event
	var at string
	for _, field := range []struct {
		name     string
		into     *string
		required bool
	}{
		{"id", &e.ID, true},
		{"product", &e.Product, true},
		{"event_type", &e.Type, true},
		{"timestamp", &at, true},
		{"correlation_id", &e.CorrelationID, false},
	} {
		if err := readString(fields, field.name, field.into); err != nil {
			return Event{}, err
		}
		if field.required && *field.into == "" {
			return Event{}, Invalid("body."+field.name, "is required")
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
	data := bytes.TrimSpace(fields["data"])
	if len(data) == 0 || data[0] != '{' {
		return Event{}, Invalid("body.data", "must be a JSON object")
	}
	e.Data = bytes.Clone(data)
	return e, nil
}

// readString takes a string out of an object; absent and null leave it as it is.
func readString(fields map[string]json.RawMessage, name string, into *string) error {
	raw, ok := fields[name]
	if !ok {
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
