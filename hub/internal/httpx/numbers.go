package httpx

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
)

// JSONFormats are huma's formats of bodies for an API that takes any JSON in places: there a
// number may be beyond the range of a double, such as 1e400, as in an event's data. huma decodes
// a body into Go's own types before it validates it, and would refuse all of it. A documented
// number has to be within the range: validation refuses what was left as a [json.Number].
func JSONFormats() map[string]huma.Format {
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshalJSON}
	return map[string]huma.Format{fiber.MIMEApplicationJSON: format, "json": format}
}

func unmarshalJSON(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	target, isAny := v.(*any)
	var number *json.UnmarshalTypeError
	if !isAny || !errors.As(err, &number) {
		return err
	}
	value, decodeErr := decodeAny(data)
	if decodeErr != nil {
		return err
	}
	*target = convertNumbers(value)
	return nil
}

// decodeAny decodes one JSON value; numbers become [json.Number]s.
func decodeAny(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// convertNumbers makes the numbers in a value doubles that are in their range.
func convertNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if double, err := value.Float64(); err == nil {
			return double
		}
	case []any:
		for i, item := range value {
			value[i] = convertNumbers(item)
		}
	case map[string]any:
		for name, member := range value {
			value[name] = convertNumbers(member)
		}
	}
	return value
}
