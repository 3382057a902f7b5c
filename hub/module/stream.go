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

// streamTime is how long a streamed answer may take, however slowly it is read.
const streamTime = 10 * time.Minute

// Stream answers with a body that is sent while it is written, for what may be too long
// to be held. Status and headers are set before; write is called after the handler has
// returned, with a context of its own. Where write fails or panics, the connection is cut,
// so that nobody takes a part for the whole; what it gives back is told to failed, unless
// whoever asked has gone.
func Stream(c huma.Context, write func(ctx context.Context, w io.Writer) error, failed func(error)) {
	request := humafiber.Unwrap(c).Context()
	conn := request.Conn()
	// The request's trail is read when the handler has returned.
	own, _ := WithAuditTrail(context.WithoutCancel(c.Context()))
	request.SetBodyStreamWriter(func(w *bufio.Writer) {
		ctx, cancel := context.WithTimeout(own, streamTime)
		defer cancel()
		// This is a goroutine of fasthttp's, which nobody else recovers.
		defer func() {
			if p := recover(); p != nil {
				_ = conn.Close()
				failed(fmt.Errorf("writing a streamed answer: panic: %v\n%s", p, debug.Stack()))
			}
		}()
		err := write(ctx, w)
		if w.Flush() != nil {
			return // whoever asked has gone, or is told something else
		}
		if err != nil {
			_ = conn.Close()
			failed(err)
		}
	})
}
