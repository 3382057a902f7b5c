package module

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humafiber"
)

// How long a streamed response may take. A long file that is read slowly may take more than the
// queries that make one; when even that time is over, the connection is closed.
const (
	streamTimeout = 10 * time.Minute // of the context
	streamEnd     = time.Hour
)

// Stream sends a response body while write produces it, for bodies that are too long for
// memory. Set status and headers before. write is called after the handler has returned,
// with a context of its own. If write fails or panics, the connection is closed, so that
// a truncated body is not mistaken for a complete one, and onError is called. onError is
// not called if the client has disconnected. For HEAD, write is not called.
func Stream(c huma.Context, write func(ctx context.Context, w io.Writer) error, onError func(error)) {
	request := humafiber.Unwrap(c).Context()
	if request.IsHead() {
		request.Response.Header.SetContentLength(-1) // of unknown length, as the body of GET
		return
	}
	conn := request.Conn()
	// The hub reads the request's audit trail when the handler returns: write needs its own.
	streamCtx, _ := WithAuditTrail(context.WithoutCancel(c.Context()))
	request.SetBodyStreamWriter(func(w *bufio.Writer) {
		ctx, cancel := context.WithTimeout(streamCtx, streamTimeout)
		defer cancel()
		end := time.AfterFunc(streamEnd, func() { _ = conn.Close() })
		defer end.Stop()
		// This is fasthttp's goroutine, which has no recover.
		defer func() {
			if p := recover(); p != nil {
				_ = conn.Close()
				onError(fmt.Errorf("writing a streamed response: panic: %v\n%s", p, debug.Stack()))
			}
		}()
		err := write(ctx, w)
		if w.Flush() != nil {
			return // the client has disconnected
		}
		if err != nil {
			_ = conn.Close()
			onError(err)
		}
	})
}
