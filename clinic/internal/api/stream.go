package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/danielgtaylor/huma/v2"

	"integrationhub/hub/module"
)

// streamWriter writes a response body while it reads the data.
type streamWriter func(ctx context.Context, w io.Writer) error

// streamBody returns a response body that is streamed.
func (a *API) streamBody(op huma.Operation, media string, write streamWriter) func(huma.Context) {
	return func(c huma.Context) {
		c.SetHeader("Content-Type", media)
		module.Stream(c, write, func(err error) {
			a.host.Log.Error("streaming a response failed", "operation", op.OperationID, "error", err)
		})
	}
}

// jsonArrayWriter writes the elements of a JSON array.
type jsonArrayWriter struct {
	w           io.Writer
	hasElements bool // the next one needs a comma
}

func (s *jsonArrayWriter) add(value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing an export: %w", err)
	}
	if s.hasElements {
		raw = append([]byte(","), raw...)
	}
	s.hasElements = true
	_, err = s.w.Write(raw)
	return err
}

func addElement[T any](s *jsonArrayWriter) func(T) error {
	return func(element T) error { return s.add(element) }
}

// writeOpenObject writes a JSON object without its closing brace.
func writeOpenObject(w io.Writer, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		_, err = w.Write(bytes.TrimSuffix(raw, []byte("}")))
	}
	return err
}
