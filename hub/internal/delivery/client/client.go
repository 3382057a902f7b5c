// Package client posts webhooks: HTTP/1.1 with kept-alive connections, one
// absolute deadline, bounded reading, no redirects and no decompression. It
// trusts nothing a receiver sends.
//
// General clients do not fit: net/http costs several times the CPU; fasthttp's neither
// measures the phases of a request nor bounds, keeps and classifies responses as the delivery
// log needs it.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"time"
)

// Config sets a [Client] up. Zero fields take the value in brackets.
type Config struct {
	Dial           DialFunc      // opens connections; required
	TLS            *tls.Config   // roots and versions [the system's, TLS 1.2 and up]; names, ALPN and session cache are the client's
	Timeout        time.Duration // of a whole POST, from dialling to the response's last byte [10 s]
	MaxIdlePerHost int           // kept-alive connections of one scheme, host and port [64]
	MaxIdle        int           // kept-alive connections in all [1024]
	IdleTimeout    time.Duration // how long a connection is kept alive without use [30 s]
	MaxRead        int           // bytes of one response that are read, header included [64 KiB]
	KeepBody       int           // bytes of its body that are kept [4 KiB]
	UserAgent      string        // the User-Agent header [integrationhub]
}

// Client posts webhooks. It is safe for concurrent use.
type Client struct {
	cfg   Config
	tls   *tls.Config
	fixed string // headers that are the same in every request
	idle  *pool
	spare sync.Pool // of *exchange
}

// New returns a client; [Client.Close] ends it. It panics when cfg.Dial is nil: a
// default would go around the egress rules.
func New(cfg Config) *Client {
	if cfg.Dial == nil {
		panic("client: Config.Dial is required")
	}
	set(&cfg.Timeout, 10*time.Second)
	set(&cfg.MaxIdlePerHost, 64)
	set(&cfg.MaxIdle, 1024)
	set(&cfg.IdleTimeout, 30*time.Second)
	set(&cfg.MaxRead, 64<<10)
	set(&cfg.KeepBody, 4<<10)
	set(&cfg.UserAgent, "integrationhub")
	c := &Client{
		cfg: cfg,
		tls: &tls.Config{MinVersion: tls.VersionTLS12},
		// Strip what could end the header: the name may come from a setting.
		fixed: "User-Agent: " + strings.NewReplacer("\r", "", "\n", "").Replace(cfg.UserAgent) +
			"\r\nAccept-Encoding: identity\r\n",
		idle:  newPool(cfg.MaxIdlePerHost, cfg.MaxIdle, cfg.IdleTimeout),
		spare: sync.Pool{New: func() any { return new(exchange) }},
	}
	if cfg.TLS != nil {
		c.tls = cfg.TLS.Clone()
		c.tls.MinVersion = max(c.tls.MinVersion, tls.VersionTLS12)
	}
	c.tls.NextProtos = []string{"http/1.1"}
	c.tls.ClientSessionCache = tls.NewLRUClientSessionCache(cfg.MaxIdle)
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Close closes the idle connections and ends the client's goroutine. POSTs under
// way finish; later ones fail.
func (c *Client) Close() { c.idle.close() }

// exchange is the memory of one POST, reused by later ones.
type exchange struct {
	out []byte // the request's header and the first inlineBody bytes of its body
	in  reader
}

// Post sends one request and reads its response into resp. Any status, 3xx and
// 5xx included, is a nil error; so is one whose body was cut because it is longer
// than Config.MaxRead. Errors are *[Error] and classified by [KindOf]. A
// kept-alive connection that the peer closed before answering is replaced by a
// fresh one, once, within the same deadline.
//
// The header names Host, User-Agent, Accept-Encoding, Content-Length,
// Transfer-Encoding, Connection, TE, Trailer, Upgrade and Expect are the
// client's and refused. A context that can end costs a few allocations; one
// without Done costs none.
func (c *Client) Post(ctx context.Context, t *Destination, header []Header, body []byte, resp *Response) error {
	start := time.Now()
	resp.reset()
	x := c.spare.Get().(*exchange)
	end, err := c.post(ctx, t, header, body, resp, x, start.Add(c.cfg.Timeout))
	if end.IsZero() {
		end = time.Now()
	}
	resp.Phases.Total = end.Sub(start)
	x.in.src = nil // do not keep the connection alive
	c.spare.Put(x)
	return err
}

// post returns the time the response ended, where it is known.
func (c *Client) post(ctx context.Context, t *Destination, header []Header, body []byte, resp *Response,
	x *exchange, deadline time.Time,
) (end time.Time, err error) {
	if x.out, err = appendRequest(x.out[:0], t, c.fixed, header, len(body)); err != nil {
		return end, err
	}
	inline := min(len(body), inlineBody)
	x.out = append(x.out, body[:inline]...)
	body = body[inline:]

	if ctx.Err() != nil {
		return end, classify(ctx, stepConnect, ctx.Err())
	}
	if connection := c.checkout(t.key, deadline); connection != nil {
		resp.Phases.Reused = true
		end, err = c.run(ctx, connection, body, resp, x)
		if x.in.reads > 0 || KindOf(err) != KindReset {
			return end, err
		}
		resp.Phases = Phases{}
	}
	if c.idle.isClosed() {
		return end, &Error{Kind: KindCanceled, text: string(stepConnect) + ": the client is closed"}
	}
	connection, err := c.dial(ctx, t, deadline, &resp.Phases)
	if err != nil {
		return end, err
	}
	return c.run(ctx, connection, body, resp, x)
}

// checkout returns an idle connection that is reusable, with its deadline set,
// or nil.
func (c *Client) checkout(key string, deadline time.Time) *conn {
	for {
		connection := c.idle.get(key)
		if connection == nil {
			return nil
		}
		// The deadline first: one that has passed fails the probe.
		if connection.socket.SetDeadline(deadline) == nil && connection.isReusable() {
			return connection
		}
		connection.close()
	}
}

// run sends x.out and rest, reads the response, and keeps or closes the connection.
func (c *Client) run(ctx context.Context, connection *conn, rest []byte, resp *Response, x *exchange) (end time.Time, err error) {
	stop := watch(ctx, connection.socket)
	x.in.start(connection.stream, c.cfg.MaxRead)
	_, sendErr := connection.stream.Write(x.out)
	if sendErr == nil && len(rest) > 0 {
		_, sendErr = connection.stream.Write(rest)
	}
	sent := time.Now()
	var reusable bool
	current := stepSend
	err = sendErr
	if sendErr == nil || !timedOut(sendErr) {
		// A peer may answer and close without reading all of the request: that
		// answer counts.
		p := parser{in: &x.in, out: resp, maxBody: c.cfg.KeepBody}
		reusable, current, err = p.read()
		if sendErr != nil && err != nil && x.in.reads == 0 && alertOf(err) == nil {
			current, err = stepSend, sendErr
		}
	}
	if x.in.reads > 0 {
		resp.Phases.FirstByte = x.in.firstAt.Sub(sent)
	}
	inTime := stop()
	if err != nil {
		connection.close()
		return end, classify(ctx, current, err)
	}
	if end = x.in.firstAt; x.in.reads > 1 {
		end = time.Now()
	}
	if !reusable || !inTime || sendErr != nil {
		connection.close()
		return end, nil
	}
	connection.idleAt = end
	c.idle.put(connection)
	return end, nil
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
