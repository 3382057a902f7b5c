package connectortest

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// connectionTo returns the connection with its peer at an address.
func (c Case) connectionTo(address string) hub.Connection {
	connection := clone(c.Connection)
	connection.URL, connection.WebhookURL = address, ""
	return connection
}

// unreachablePeers returns the ways in which a peer does not answer.
func unreachablePeers() map[string]struct {
	err  error
	kind error
	code string
} {
	secretive := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://peer.example/?phone=%2B5511", Err: err}
	}
	return map[string]struct {
		err  error
		kind error
		code string
	}{
		"refused":       {secretive(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), hub.ErrPeer, hub.CodePeerUnreachable},
		"deadline":      {secretive(context.DeadlineExceeded), hub.ErrPeerTimeout, hub.CodePeerTimeout},
		"timeout":       {secretive(&net.DNSError{IsTimeout: true}), hub.ErrPeerTimeout, hub.CodePeerTimeout},
		"the Doer's no": {hub.Errorf(hub.ErrPeer, "egress", "Not there."), hub.ErrPeer, "egress"},
	}
}

// checkProbe probes a peer that answers in every way.
func checkProbe(t *testing.T, c Case) {
	if c.Status == nil {
		status, err := c.Connector.Probe(t.Context(), forbiddenDoer{t}, c.Connection)
		require.NoError(t, err)
		require.NoError(t, status.CheckUsable(c.Connection.Product))
		return
	}
	validStatus := c.Status(c.Connection.Product, true)
	s := startStandIn(t, respondWith(200, validStatus))
	for _, slash := range []string{"", "/"} {
		status, err := c.Connector.Probe(s.ctx(), s, c.connectionTo(s.base+slash))
		require.NoError(t, err)
		require.NoError(t, status.CheckUsable(c.Connection.Product))
		require.Equal(t, c.Connection.Product, status.Product)
		require.Empty(t, status.URL, "nothing else responded")
	}
	s.requireBodiesClosed(t, "good")
	for _, request := range s.recorded() {
		require.Equal(t, http.MethodGet, request.method)
		require.Equal(t, c.StatusPath, request.path)
		require.Empty(t, request.query)
		require.Contains(t, headerValues(request.header), c.Connection.Key, "the key goes with it, in a header")
	}

	for code, body := range map[string]string{
		hub.CodeUnexpectedProduct: c.Status("somebody-else", true),
		hub.CodePeerNotActive:     c.Status(c.Connection.Product, false),
	} {
		if body == "" { // this peer cannot say so
			continue
		}
		s := startStandIn(t, respondWith(200, body))
		status, err := c.Connector.Probe(s.ctx(), s, c.connectionTo(s.base))
		require.NoError(t, err, "what the peer said is not the connector's to judge")
		c.requireError(t, status.CheckUsable(c.Connection.Product), hub.ErrInvalid, code)
	}

	rows := append(invalidResponses(), nonJSONResponses()...)
	rows = append(rows, faultyResponse{"404", echoHeader(404), hub.ErrPeer, hub.CodePeerFailed}, faultyResponse{"410", echoHeader(410), hub.ErrPeer, hub.CodePeerFailed},
		faultyResponse{"long and good", respondWith(200, validStatus+strings.Repeat(" ", hub.MaxResponseBytes)), hub.ErrPeer, hub.CodePeerResponse})
	c.checkFaultyResponses(t, rows, func(ctx context.Context, do hub.Doer, connection hub.Connection) error {
		_, err := c.Connector.Probe(ctx, do, connection)
		return err
	})
}

func headerValues(header http.Header) string {
	var all []string
	for _, list := range header {
		all = append(all, list...)
	}
	return strings.Join(all, "\n")
}

// checkFaultyResponses makes a call against every row, against unreachable peers, and with a context that
// has ended.
func (c Case) checkFaultyResponses(t *testing.T, rows []faultyResponse, call func(context.Context, hub.Doer, hub.Connection) error) {
	t.Helper()
	for _, row := range rows {
		s := startStandIn(t, row.answer)
		before := c.connectionTo(s.base)
		connection := clone(before)
		err := call(s.ctx(), s, connection)
		require.Error(t, err, row.name)
		require.ErrorIs(t, err, row.kind, row.name)
		c.requireError(t, err, row.kind, row.code)
		s.requireBodiesClosed(t, row.name)
		require.Equal(t, before, connection, "the connection was changed")
	}
	for name, unreachable := range unreachablePeers() {
		err := call(t.Context(), failingDoer{unreachable.err}, c.connectionTo("https://peer.example"))
		require.Error(t, err, name)
		c.requireError(t, err, unreachable.kind, unreachable.code)
		require.NotContains(t, err.Error(), "phone=", "an error repeats the address")
	}
	s := startStandIn(t, respondWith(200, "{}"))
	ended, end := context.WithCancel(s.ctx())
	end()
	require.Error(t, call(ended, s, c.connectionTo(s.base)))
	require.Empty(t, s.recorded())
	c.requireError(t, call(s.ctx(), forbiddenDoer{t}, c.connectionTo("https://peer.example/\x7f")), hub.ErrInvalid, "")
}

// checkRegister connects to the stand-in, where the connector knows how to.
func checkRegister(t *testing.T, c Case) {
	registrar, ok := c.Connector.(hub.Registrar)
	if !ok {
		return
	}
	r := hub.Registration{
		ID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), Product: c.Connection.LocalProduct, Environment: hub.Live,
		WebhookURL: "https://hub.example/clinic/api/v1/integrations/webhook",
		Secret:     "whsec_cmVnaXN0ZXJlZCBzZWNyZXQ=", Key: "cli_live_registered", Events: []string{"message.received"}, Features: []string{"patient.search"},
	}
	s := startStandIn(t, respondWith(200, "{}"))
	for range 2 {
		_, err := registrar.Register(s.ctx(), s, c.connectionTo(s.base), r)
		require.NoError(t, err)
		require.NoError(t, registrar.Unregister(s.ctx(), s, c.connectionTo(s.base)))
	}
	s.requireBodiesClosed(t, "register")
	requests := s.recorded()
	require.NotEmpty(t, requests)
	require.Contains(t, string(requests[0].body), r.WebhookURL)
	for i, request := range requests {
		require.NotContains(t, request.query, r.Secret)
		require.NotContains(t, request.path, r.Key)
		if half := len(requests) / 2; i < half {
			require.Equal(t, request.body, requests[half+i].body, "the same again, byte for byte")
		}
	}
	c.checkFaultyResponses(t, append(invalidResponses(), faultyResponse{"404", echoHeader(404), hub.ErrPeer, hub.CodePeerFailed}), func(ctx context.Context, do hub.Doer, connection hub.Connection) error {
		registered, err := registrar.Register(ctx, do, connection, r)
		require.NotContains(t, errorText(err), r.Secret)
		require.NotContains(t, errorText(err), r.Key)
		if err != nil {
			require.Zero(t, registered)
		}
		return err
	})
	c.checkFaultyResponses(t, invalidResponses(), registrar.Unregister)
	for _, status := range []int{204, 404} {
		s := startStandIn(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		require.NoError(t, registrar.Unregister(s.ctx(), s, c.connectionTo(s.base)), "status %d", status)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// checkActions makes every call of the Spec.
func checkActions(t *testing.T, c Case) {
	caller, ok := c.Connector.(hub.PeerCaller)
	if !ok {
		return
	}
	for _, name := range []string{"", "/", "search", "search/", "search/../status", "search/a?b=c", "action/a b", "action/%2e", "delete/all", "//peer.example/x"} {
		_, err := caller.Call(t.Context(), forbiddenDoer{t}, c.connectionTo("https://peer.example"), hub.Call{Name: name})
		c.requireError(t, err, hub.ErrInvalid, "")
	}
	for _, name := range c.Connector.Spec().Calls {
		name = strings.ReplaceAll(name, "*", "any-thing")
		call := hub.Call{Name: name, Query: url.Values{"phone": {"+5511999990000"}}, Body: json.RawMessage(`{"phone":"+5511999990000"}`)}
		s := startStandIn(t, respondWith(200, `{"found": true}`))
		answer, err := caller.Call(s.ctx(), s, c.connectionTo(s.base), call)
		require.NoError(t, err, name)
		require.JSONEq(t, `{"found":true}`, string(answer))
		require.Equal(t, url.Values{"phone": {"+5511999990000"}}, call.Query)
		request := s.recorded()[0]
		require.NotContains(t, request.query, c.Connection.Key)
		if strings.HasPrefix(name, "search/") {
			require.Equal(t, http.MethodGet, request.method)
			require.Equal(t, "phone=%2B5511999990000", request.query)
		} else {
			require.Equal(t, http.MethodPost, request.method)
			require.JSONEq(t, string(call.Body), string(request.body))
		}
		rows := append(invalidResponses(), nonJSONResponses()...)
		rows = append(rows,
			faultyResponse{"400", echoHeader(400), hub.ErrInvalid, "peer_refused"},
			faultyResponse{"404", respondWith(404, `{"code":"unknown_phone"}`), hub.ErrNotFound, "unknown_phone"},
			faultyResponse{"409", respondWith(409, `{"code":"Slot!"}`), hub.ErrConflict, "peer_refused"},
			faultyResponse{"422", echoHeader(422), hub.ErrInvalid, ""})
		rows = withoutResponse(rows, "body []") // a response like any other
		c.checkFaultyResponses(t, rows, func(ctx context.Context, do hub.Doer, connection hub.Connection) error {
			_, err := caller.Call(ctx, do, connection, call)
			return err
		})
	}
}

func withoutResponse(rows []faultyResponse, name string) []faultyResponse {
	remaining := rows[:0]
	for _, row := range rows {
		if row.name != name {
			remaining = append(remaining, row)
		}
	}
	return remaining
}
