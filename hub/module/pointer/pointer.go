// Package pointer converts between values and pointers, which are nil for what is absent.
package pointer

// ValueOrZero returns what a pointer points to, the zero value for nil.
func ValueOrZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}

// NilIfZero returns a pointer to a value, nil for the zero value: "" or 0.
func NilIfZero[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
