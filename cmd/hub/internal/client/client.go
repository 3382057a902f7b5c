// Package client calls the hub's HTTP API: typed requests, responses and errors, and the
// live tail. Every response also has the bytes that the hub sent, to be shown unchanged.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"integrationhub/hub"
)

// answerMax bounds one response, in bytes. A page of 200
// deliveries with payloads of 1 MiB stays below it.
const answerMax = 256 << 20

// callTimeout bounds one call, but not the live tail.
const callTimeout = 60 * time.Second

// Tokens returns the bearer token of an operator.
type Tokens interface {
	// Token returns a token that should be valid now.
	Token(ctx context.Context) (string, error)
	// Renew returns another token after the hub refused stale, or [ErrNoRenewal] if
	// there is nothing to renew it with.
	Renew(ctx context.Context, stale string) (string, error)
}

// ErrNoRenewal is returned by [Tokens] when a refused token cannot be replaced.
var ErrNoRenewal = errors.New("the token cannot be renewed")

// StaticToken is a token that is never renewed.
type StaticToken string

// Token implements [Tokens].
func (t StaticToken) Token(context.Context) (string, error) { return string(t), nil }

// Renew implements [Tokens].
func (t StaticToken) Renew(context.Context, string) (string, error) { return "", ErrNoRenewal }

// Client calls one hub. It is safe for concurrent use.
type Client struct {
	base   string // without a trailing slash
	http   *http.Client
	tokens Tokens // nil: no operator
	key    string // "": no tenant's key
	agent  string
}

// Options are the settings of a [Client].
type Options struct {
	Tokens Tokens // of an operator; may be nil
	Key    string // a tenant's key; used instead of Tokens where it is set
	Agent  string // User-Agent
}

// New returns a client of the hub at base, an absolute http(s) URL above /api/v1.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("not an absolute http(s) URL such as http://127.0.0.1:8080")
	}
	return &Client{
		base: strings.TrimRight(base, "/"),
		http: &http.Client{
			// A redirect would carry keys to another address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		tokens: o.Tokens,
		key:    o.Key,
		agent:  o.Agent,
	}, nil
}

// Base returns the address that the client calls, without a trailing slash.
func (c *Client) Base() string { return c.base }

// HasOperator reports whether the client calls with an operator's token.
func (c *Client) HasOperator() bool { return c.tokens != nil && c.key == "" }

// WithKey returns a client of the same hub that calls with a tenant's key.
func (c *Client) WithKey(key string) *Client {
	other := *c
	other.key = key
	return &other
}

// Reply is a response of the hub: its value and its bytes.
type Reply[T any] struct {
	Value T
	Raw   json.RawMessage // empty for responses without a body
}

// Page is one page of a list.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"` // nil on the last page
}

// PageQuery selects one page of a list.
type PageQuery struct {
	Limit  int    // items, 1–200; 0 = the hub's default
	Cursor string // "" = the first page
}

func (q PageQuery) addTo(v url.Values) {
	if q.Limit > 0 {
		v.Set("limit", fmt.Sprint(q.Limit))
	}
	setIf(v, "cursor", q.Cursor)
}

func setIf(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

// call is one request to the hub.
type call struct {
	method string
	path   string // below the base, beginning with /api/v1
	query  url.Values
	body   any         // nil: none
	header http.Header // more headers; may be nil
	public bool        // needs no credentials
}

// send makes the call and decodes its response into a T.
func send[T any](ctx context.Context, c *Client, request call) (Reply[T], error) {
	var reply Reply[T]
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.open(ctx, request)
	if err != nil {
		return reply, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerMax+1))
	if err != nil {
		return reply, &ConnectError{URL: c.base, Err: fmt.Errorf("reading the response: %w", err)}
	}
	if len(raw) > answerMax {
		return reply, &AnswerError{URL: c.base + request.path, Reason: "it is larger than 256 MiB"}
	}
	if resp.StatusCode == http.StatusNoContent || len(bytes.TrimSpace(raw)) == 0 {
		return reply, nil
	}
	reply.Raw = raw
	if err := json.Unmarshal(raw, &reply.Value); err != nil {
		return reply, &AnswerError{URL: c.base + request.path, Reason: "it is not the JSON that was expected: " + err.Error()}
	}
	return reply, nil
}

// open makes the call and returns its 2xx response; the caller closes the body. A response
// without [hub.HeaderHub] is a [NotHubError]. A refused operator's token is renewed once.
func (c *Client) open(ctx context.Context, request call) (*http.Response, error) {
	body, err := encode(request.body)
	if err != nil {
		return nil, err
	}
	authorization, token, err := c.authorization(ctx, request)
	if err != nil {
		return nil, err
	}
	for renewed := false; ; renewed = true {
		resp, err := c.sendOnce(ctx, request, body, authorization)
		if err != nil {
			return nil, err
		}
		isOK := resp.StatusCode >= 200 && resp.StatusCode < 300
		if isOK && !isFromHub(resp) {
			return nil, readNotHub(resp, c.base+request.path)
		}
		if isOK {
			return resp, nil
		}
		problem := readProblem(resp, c.base+request.path)
		if resp.StatusCode != http.StatusUnauthorized || token == "" || renewed {
			return nil, problem
		}
		token, err = c.tokens.Renew(ctx, token)
		if errors.Is(err, ErrNoRenewal) {
			return nil, problem
		}
		if err != nil {
			return nil, err
		}
		authorization = http.Header{"Authorization": {"Bearer " + token}}
	}
}

// authorization returns the header with the key or the token, and the operator's token.
func (c *Client) authorization(ctx context.Context, request call) (http.Header, string, error) {
	switch {
	case request.public:
		return nil, "", nil
	case c.key != "":
		return http.Header{hub.HeaderKey: {c.key}}, "", nil
	case c.tokens != nil:
		token, err := c.tokens.Token(ctx)
		if err != nil {
			return nil, "", err
		}
		return http.Header{"Authorization": {"Bearer " + token}}, token, nil
	default:
		return nil, "", ErrNotLoggedIn
	}
}

func (c *Client) sendOnce(ctx context.Context, request call, body []byte, authorization http.Header) (*http.Response, error) {
	address := c.base + request.path
	if len(request.query) > 0 {
		address += "?" + request.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, request.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.agent)
	for _, header := range []http.Header{request.header, authorization} {
		for name, values := range header {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, ctx.Err()
		}
		return nil, &ConnectError{URL: c.base, Err: withoutURL(err)}
	}
	return resp, nil
}

// encode writes a body as JSON without touching <, > and &.
func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query}
}

func post(path string, body any) call {
	return call{method: http.MethodPost, path: path, body: body}
}

// id escapes an id for a path.
func id(s string) string { return url.PathEscape(s) }

// Empty is a response without a body.
type Empty struct{}

func discard[T any](_ Reply[T], err error) error { return err }
