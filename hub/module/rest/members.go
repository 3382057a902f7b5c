package rest

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// PublicError is an error of UnmarshalJSON whose message is shown to the API's caller.
type PublicError interface {
	error
	PublicMessage() string
}

// nullProblem is the message about a null where a value is needed.
const nullProblem = "must not be null"

// Optional is a member of a body that may be absent. Null is invalid: see [Nullable].
type Optional[T any] struct {
	Set     bool // present in the body
	Value   T
	problem string // why the value is invalid; "" = valid
}

// UnmarshalJSON records an invalid value for [Optional.Resolve], which knows its location.
func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	*o = Optional[T]{}
	if string(b) == "null" {
		o.problem = nullProblem
		return nil
	}
	o.Set, o.problem = true, decodeMember(b, &o.Value)
	return nil
}

// Schema returns the schema of T.
func (Optional[T]) Schema(r huma.Registry) *huma.Schema { return schemaOf[T](r) }

// Resolve reports an invalid value.
func (o *Optional[T]) Resolve(_ huma.Context, path *huma.PathBuffer) []error {
	return memberErrors(o.problem, path)
}

// HasValue reports whether the value is present.
func (o Optional[T]) HasValue() bool { return o.Set }

// ApplyTo sets target to the value. It does nothing if the value is absent.
func (o Optional[T]) ApplyTo(target *T) {
	if o.Set {
		*target = o.Value
	}
}

// Pointer returns the value, or nil if it is absent.
func (o Optional[T]) Pointer() *T {
	if !o.Set {
		return nil
	}
	return &o.Value
}

// MarshalJSON encodes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Pointer()) }

// Nullable is a member of a body that may be absent, null or have a value. What null
// means is part of its description.
type Nullable[T any] struct {
	Set     bool // present in the body
	Null    bool
	Value   T
	problem string // why the value is invalid; "" = valid
}

// UnmarshalJSON records an invalid value for [Nullable.Resolve], which knows its location.
func (n *Nullable[T]) UnmarshalJSON(b []byte) error {
	*n = Nullable[T]{Set: true, Null: string(b) == "null"}
	if !n.Null {
		n.problem = decodeMember(b, &n.Value)
	}
	return nil
}

// Schema returns the schema of T, or null.
func (Nullable[T]) Schema(r huma.Registry) *huma.Schema { return orNull(schemaOf[T](r)) }

// Resolve reports an invalid value.
func (n *Nullable[T]) Resolve(_ huma.Context, path *huma.PathBuffer) []error {
	return memberErrors(n.problem, path)
}

// HasValue reports whether the value is present and not null.
func (n Nullable[T]) HasValue() bool { return n.Set && !n.Null }

// ApplyTo sets target to the value, or to nil for null. It does nothing if the value is
// absent.
func (n Nullable[T]) ApplyTo(target **T) {
	if n.Set {
		*target = n.Pointer()
	}
}

// ApplyOrZero sets target to the value, or to its zero value for null. It does nothing if
// the value is absent.
func (n Nullable[T]) ApplyOrZero(target *T) {
	if n.Set {
		*target = n.Value
	}
}

// Pointer returns the value, or nil if it is absent or null.
func (n Nullable[T]) Pointer() *T {
	if !n.HasValue() {
		return nil
	}
	return &n.Value
}

// MergeInto replaces the value of an earlier body; null removes it.
func (n Nullable[T]) MergeInto(earlier *Nullable[T]) {
	if n.Set {
		if *earlier = (Nullable[T]{}); !n.Null {
			*earlier = n
		}
	}
}

// MarshalJSON encodes the value, or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Pointer()) }

var (
	_ huma.ResolverWithPath = (*Optional[int])(nil)
	_ huma.SchemaProvider   = Optional[int]{}
	_ huma.ResolverWithPath = (*Nullable[int])(nil)
	_ huma.SchemaProvider   = Nullable[int]{}
)

// schemaOf returns the schema of T. A list is not nullable.
func schemaOf[T any](r huma.Registry) *huma.Schema {
	schema := r.Schema(reflect.TypeFor[T](), true, "")
	schema.Nullable = false
	return schema
}

// decodeMember decodes the value of a member. It returns why the value is invalid, or "".
func decodeMember(b []byte, value any) (problem string) {
	err := json.Unmarshal(b, value)
	if err == nil {
		return ""
	}
	var publicErr PublicError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &publicErr):
		return publicErr.PublicMessage()
	case errors.As(err, &mismatch) && jsonTypeNames[mismatch.Type.Kind()] != "":
		return "expected " + jsonTypeNames[mismatch.Type.Kind()]
	}
	return "does not have the documented form"
}

// jsonTypeNames are the JSON names of Go kinds.
var jsonTypeNames = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer"}

// memberErrors returns the error of a member with a problem.
func memberErrors(problem string, path *huma.PathBuffer) []error {
	if problem == "" {
		return nil
	}
	return []error{&huma.ErrorDetail{Location: path.String(), Message: problem}}
}
