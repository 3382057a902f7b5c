package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/common/types"

	"integrationhub/hub"
)

const trueValue = types.True

// Event is an event as filters see it. Its data is decoded at most once, and only if a filter
// is evaluated. It is safe for concurrent use.
type Event struct {
	envelope func() (*Envelope, error)
}

// Envelope is the variable event of an expression.
type Envelope struct {
	ID            string         `cel:"id"`
	Product       string         `cel:"product"`
	Type          string         `cel:"type"`
	Timestamp     time.Time      `cel:"timestamp"`
	CorrelationID string         `cel:"correlation_id"`
	Data          map[string]any `cel:"data"`
}

// NewEvent returns an event. Its data must not change while filters are evaluated.
func NewEvent(e hub.Event) *Event {
	return &Event{envelope: sync.OnceValues(func() (*Envelope, error) {
		data, err := decode(e.Data)
		if err != nil {
			return nil, err
		}
		return &Envelope{ID: e.ID, Product: e.Product, Type: e.Type, Timestamp: e.Time.UTC(), CorrelationID: e.CorrelationID, Data: data}, nil
	})}
}

// decode reads an event's data. Numbers without a fraction are integers.
func decode(raw []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var data map[string]any
	if err := decoder.Decode(&data); err != nil {
		return nil, errors.New("the event's data is no JSON object")
	}
	for name, value := range data {
		data[name] = withNumbers(value)
	}
	return data, nil
}

// withNumbers returns a decoded value with numbers of Go's types. It changes lists and
// objects in place.
func withNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		return number(string(value))
	case []any:
		for i := range value {
			value[i] = withNumbers(value[i])
		}
	case map[string]any:
		for name, member := range value {
			value[name] = withNumbers(member)
		}
	}
	return value
}

// number returns a JSON number as an integer if it is written as one and fits, else as a
// double.
func number(text string) any {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n
		}
	}
	n, _ := strconv.ParseFloat(text, 64) // one that is too large is infinite
	return n
}
