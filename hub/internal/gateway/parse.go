package gateway

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"integrationhub/hub"
	"integrationhub/hub/internal/directory"
	"integrationhub/hub/internal/eventtype"
	"integrationhub/hub/internal/outbox"
	"integrationhub/hub/internal/strictjson"
)

// Bounds of a publication's fields, in bytes.
const (
	maxType        = 128
	maxCorrelation = 200
	maxOrderingKey = 200
	maxIdempotency = 200
	maxBatch       = 500 // events of one batch
)

// parseEvent reads one publication. location is its place in the body, "body" or
// "body.events[3]". The checks of its data take from the request's allowance. The data is a part
// of body: copy it before the body goes.
func parseEvent(ctx context.Context, key *directory.Key, body []byte, location string, allowance *eventtype.Allowance) (*outbox.Publication, error) {
	p := &outbox.Publication{Key: key, Allowance: allowance, TenantID: key.TenantID, Environment: key.Environment, Product: key.Product, Location: location}
	err := strictjson.VisitMembers(body, strictjson.Rules{UniqueKeys: true}, func(name, value []byte) error {
		var err error
		switch string(name) {
		case "event_type":
			p.Type, err = parseString(value, location+".event_type", maxType)
		case "data":
			if value[0] != '{' {
				return hub.Invalid(location+".data", "must be a JSON object")
			}
			p.Data = value
		case "correlation_id":
			if string(value) != "null" {
				p.CorrelationID, err = parseString(value, location+".correlation_id", maxCorrelation)
			}
		case "ordering_key":
			if string(value) != "null" {
				p.OrderingKey, err = parseOrderingKey(value, location+".ordering_key")
			}
		case "id":
			if string(value) == "null" {
				return nil
			}
			if p.ID, err = parseString(value, location+".id", maxType); err != nil {
				return err
			}
			bits, ok := hub.ParseEventID(p.ID)
			if !ok {
				return hub.Invalid(location+".id", `must be "evt_" and 16 hexadecimal digits`)
			}
			p.ID = hub.FormatEventID(bits)
		default:
			return hub.Invalid(location, "has a field that is not known: the fields are event_type, data, correlation_id, ordering_key and id")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	switch {
	case p.Type == "":
		return nil, hub.Invalid(location+".event_type", "is required")
	case !hub.ValidEventType(p.Type):
		return nil, hub.Invalid(location+".event_type", "must be words of letters, digits, _ and - joined by dots, such as appointment.created")
	case strings.HasPrefix(p.Type, hub.ReservedTypes):
		return nil, hub.Invalid(location+".event_type", "must not begin with "+hub.ReservedTypes+": these are the hub's own events")
	case p.Data == nil:
		return nil, hub.Invalid(location+".data", "is required")
	}
	if p.ID != "" {
		p.IdempotencyKey = p.ID
		p.BodyHash = hub.HashEvent(body, p.ID)
	}
	if key.Validation != nil {
		if p.Violations, err = key.Validation.Check(ctx, key.TenantID, p.Type, p.Data, allowance); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// parseOrderingKey reads an ordering key.
func parseOrderingKey(value []byte, location string) (string, error) {
	key, err := parseString(value, location, maxOrderingKey)
	if err == nil && key == "" {
		err = hub.Invalid(location, "must not be empty; leave it out for an event without order")
	}
	return key, err
}

// parseBatch reads {"events":[…]}.
func parseBatch(ctx context.Context, key *directory.Key, body []byte) ([]*outbox.Publication, error) {
	var events []json.RawMessage
	hasEvents := false
	err := strictjson.VisitMembers(body, strictjson.Rules{UniqueKeys: true}, func(name, value []byte) error {
		if string(name) != "events" {
			return hub.Invalid("body", "has a field that is not known: the only field is events")
		}
		hasEvents = true
		if value[0] != '[' {
			return hub.Invalid("body.events", "must be an array")
		}
		return json.Unmarshal(value, &events)
	})
	switch {
	case err != nil:
		return nil, err
	case !hasEvents || len(events) == 0:
		return nil, hub.Invalid("body.events", "must have at least one event")
	case len(events) > maxBatch:
		return nil, hub.Invalid("body.events", "must have at most "+strconv.Itoa(maxBatch)+" events")
	}
	publications := make([]*outbox.Publication, len(events))
	seen, allowance := make(map[string]bool), &eventtype.Allowance{}
	for i, raw := range events {
		location := "body.events[" + strconv.Itoa(i) + "]"
		if raw[0] != '{' {
			return nil, hub.Invalid(location, "must be a JSON object")
		}
		if publications[i], err = parseEvent(ctx, key, raw, location, allowance); err != nil {
			return nil, err
		}
		if id := publications[i].ID; id != "" {
			if seen[id] {
				return nil, hub.Invalid(location+".id", "occurs twice in this batch")
			}
			seen[id] = true
		}
	}
	return publications, nil
}

// parseString returns a JSON string whose syntax was checked before.
func parseString(value []byte, location string, longest int) (string, error) {
	if value[0] != '"' {
		return "", hub.Invalid(location, "must be a string")
	}
	text := string(value[1 : len(value)-1])
	if strings.IndexByte(text, '\\') >= 0 {
		if err := json.Unmarshal(value, &text); err != nil {
			return "", hub.Invalid(location, "must be a string")
		}
	}
	if len(text) > longest {
		return "", hub.Invalid(location, "must have at most "+strconv.Itoa(longest)+" bytes")
	}
	return text, nil
}
