package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"integrationhub/hub"
	"integrationhub/hub/internal/egress"
)

const (
	headerTimeout   = 15 * time.Second // of a download, and what its body has beside its bytes
	minDownloadRate = 128 << 10        // bytes per second
	maxBodyTime     = 10 * time.Minute
)

// errDownloadTimeout is why a download was given up.
var errDownloadTimeout = fmt.Errorf("the file does not arrive in time: %w", context.DeadlineExceeded)

// downloader is the client of [NewDownloader].
type downloader struct{ doer }

// Do implements [hub.Doer].
func (d *downloader) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(headerTimeout, func() { cancel(errDownloadTimeout) })
	answer, err := d.doer.Do(req.WithContext(ctx))
	if err != nil {
		timer.Stop()
		err = withRefusal(withCause(ctx, err))
		cancel(nil)
		return nil, err
	}
	body := &timedBody{body: answer.Body, ctx: ctx, cancel: cancel, timer: timer, begin: time.Now()}
	body.extend()
	answer.Body = body
	return answer, nil
}

// withCause returns why a download was given up, if it was; else the error itself.
func withCause(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errDownloadTimeout) {
		return errDownloadTimeout
	}
	return err
}

// withRefusal returns a [hub.ErrInvalid] (url_not_allowed) for a request to an address that the egress
// rules refuse; else the error itself. What a name leads to is not said.
func withRefusal(err error) error {
	var unreachable *egress.UnreachableError
	if errors.As(err, &unreachable) && unreachable.Refused && unreachable.Literal {
		return hub.Errorf(hub.ErrInvalid, "url_not_allowed", "The address must not lead into a private or reserved network.").WithCause(err)
	}
	return err
}

// timedBody ends a download whose bytes do not come fast enough.
type timedBody struct {
	body   io.ReadCloser
	ctx    context.Context //nolint:containedctx // the request's, which ends with the body
	cancel context.CancelCauseFunc
	timer  *time.Timer
	begin  time.Time
	read   int64
}

// extend sets the end of the download by the bytes that have been read.
func (b *timedBody) extend() {
	allowed := min(headerTimeout+time.Duration(b.read)*time.Second/minDownloadRate, maxBodyTime)
	b.timer.Reset(allowed - time.Since(b.begin))
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.read += int64(n); n > 0 && b.ctx.Err() == nil {
		b.extend()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = withCause(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *timedBody) Close() error {
	err := b.body.Close()
	b.timer.Stop()
	b.cancel(nil)
	return err
}
