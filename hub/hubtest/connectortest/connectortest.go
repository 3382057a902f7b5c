// Package connectortest is the conformance suite of connectors. It checks the contract of
// [hub.Connector]. A connector's test passes a [Case] to [Run], and to [Fuzz] if the
// connector receives events.
package connectortest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// Case is a connector with test data about its peer.
type Case struct {
	Connector hub.Connector
	// Connection has a Key if the peer uses keys, and at least one secret. For HTTP calls
	// the suite sets URL to its fake peer.
	Connection hub.Connection
	// Events are the events to send: at least one for every entry of Spec.Sends.
	Events []hub.Event
	// AfterRoundTrip returns the expected event after encoding and decoding; nil: the same
	// event. TenantID and Environment are not compared.
	AfterRoundTrip func(hub.Event) hub.Event
	// Sign returns the headers of an authentic request of the peer with a body. Its
	// signature is in SignatureHeader.
	Sign            func(c hub.Connection, body []byte) http.Header
	SignatureHeader string
	// StatusPath is the path of Probe's request below URL, and Status returns the response.
	// Status returns "" for a status that this peer cannot express; the suite skips it.
	// Nil: Probe makes no request.
	StatusPath string
	Status     func(product string, active bool) string
	// Files are the connector's own sources; nil: the .go files of the working
	// directory.
	Files []string
}

// Run checks a connector against the contract.
func Run(t *testing.T, c Case) {
	t.Helper()
	require.NotEmpty(t, c.Events, "the case has no events to send")
	require.NotEmpty(t, c.Connection.Secret(), "the case has no secret")
	for _, part := range []struct {
		name string
		run  func(*testing.T, Case)
	}{
		{"spec", checkSpec},
		{"round trip", checkRoundTrip},
		{"encode", checkEncode},
		{"signatures", checkSignatures},
		{"purity", checkPurity},
		{"source", checkSource},
		{"probe", checkProbe},
		{"register", checkRegister},
		{"act", checkActions},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, c)
		})
	}
}

// signedInbound returns an authentic request of the peer.
func (c Case) signedInbound(body []byte) hub.Inbound {
	return hub.Inbound{Header: c.Sign(c.Connection, body), Body: body}
}

// secrets returns the values that must not appear in errors.
func (c Case) secrets() []string {
	list := append([]string{c.Connection.Key}, c.Connection.Secrets...)
	for _, field := range c.Connector.Spec().Fields {
		if field.Secret {
			list = append(list, c.Connection.Config[field.Key])
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// requireError requires a [*hub.Error] of a kind without secrets.
func (c Case) requireError(t *testing.T, err, kind error, code string) {
	t.Helper()
	var hubErr *hub.Error
	require.ErrorAs(t, err, &hubErr)
	require.ErrorIs(t, err, kind)
	if code != "" {
		require.Equal(t, code, hubErr.Code)
	}
	require.NotEmpty(t, hubErr.Code)
	require.NotEmpty(t, hubErr.Detail)
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", hubErr), fmt.Sprintf("%#v", hubErr.Fields)} {
		for _, secret := range c.secrets() {
			require.NotContains(t, text, secret, "an error shows a secret")
		}
	}
}

// clone copies a connection with everything it points to.
func clone(c hub.Connection) hub.Connection {
	c.Secrets, c.Config = slices.Clone(c.Secrets), maps.Clone(c.Config)
	return c
}

// checkRoundTrip encodes and decodes again.
func checkRoundTrip(t *testing.T, c Case) {
	for _, e := range c.Events {
		out, err := c.Connector.Encode(c.Connection, e)
		require.NoError(t, err, e.Type)
		got, err := c.Connector.Decode(c.Connection, hub.Inbound{Header: out.Header, Body: out.Body})
		require.NoError(t, err, e.Type)
		require.Len(t, got, 1)
		want := e
		if c.AfterRoundTrip != nil {
			want = c.AfterRoundTrip(e)
		}
		require.Equal(t, withoutReceiver(want), withoutReceiver(got[0]))
		if len(want.Data) > 0 {
			require.JSONEq(t, string(want.Data), string(got[0].Data))
		}
	}
}

// withoutReceiver removes what the hub sets, and what is compared otherwise.
func withoutReceiver(e hub.Event) hub.Event {
	e.TenantID, e.Environment, e.Data = [16]byte{}, "", nil
	e.Time = e.Time.UTC().Truncate(time.Second)
	return e
}

// checkEncode looks at the requests.
func checkEncode(t *testing.T, c Case) {
	for _, e := range c.Events {
		out, err := c.Connector.Encode(c.Connection, e)
		require.NoError(t, err, e.Type)
		require.Contains(t, out.Header.Get("Content-Type"), "json")
		requireCanonical(t, out.Header)
		for _, secret := range c.secrets() {
			require.NotContains(t, out.URL, secret, "secrets do not belong into addresses")
			require.NotContains(t, string(out.Body), secret)
		}

		later := clone(c.Connection)
		later.Now = later.Now.Add(time.Hour)
		later.Secrets = append([]string{"whsec_bmV3IHNlY3JldCBvZiBhIHJvdGF0aW9u"}, later.Secrets...)
		repeated, err := c.Connector.Encode(later, e)
		require.NoError(t, err)
		require.Equal(t, string(out.Body), string(repeated.Body), "every attempt carries the same bytes, whatever secret and time")
		got, err := c.Connector.Decode(later, hub.Inbound{Header: repeated.Header, Body: repeated.Body})
		require.NoError(t, err, "signed with the current secret")
		require.Len(t, got, 1)
	}
	if !hub.MatchesEventType(c.Connector.Spec().Sends, "nobody.sends_this") {
		e := c.Events[0]
		e.Type = "nobody.sends_this"
		_, err := c.Connector.Encode(c.Connection, e)
		c.requireError(t, err, hub.ErrInvalid, "")
	}
	unsigned := clone(c.Connection)
	for _, secrets := range [][]string{nil, {}, {""}} {
		unsigned.Secrets = secrets
		_, err := c.Connector.Encode(unsigned, c.Events[0])
		c.requireError(t, err, hub.ErrInvalid, "")
	}
}

func requireCanonical(t *testing.T, header http.Header) {
	t.Helper()
	for name, values := range header {
		require.Equal(t, http.CanonicalHeaderKey(name), name, "set headers with Header.Set")
		require.Len(t, values, 1, name)
		require.NotContains(t, values[0], "\n", name)
		require.NotContains(t, values[0], "\r", name)
	}
}

// Fuzz feeds a connector what peers may send, genuinely signed and not: it must
// never panic, answer only with the errors that Decode may have, and give only
// events that can be stored.
func Fuzz(f *testing.F, c Case) {
	for _, e := range c.Events {
		out, err := c.Connector.Encode(c.Connection, e)
		require.NoError(f, err)
		f.Add(out.Body, true)
		f.Add(out.Body[:len(out.Body)/2], true)
		f.Add(out.Body, false)
	}
	for _, body := range []string{"", "null", "[]", `""`, "{}", `{"id":null}`, `[[[[[[`, `{"data":{"data":{}}}`, "\xff\xfe", strings.Repeat("[", 10_001)} {
		f.Add([]byte(body), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, signed bool) {
		in := hub.Inbound{Header: http.Header{}, Body: bytes.Clone(body)}
		if signed {
			in = c.signedInbound(in.Body)
		}
		events, err := c.Connector.Decode(c.Connection, in)
		require.Equal(t, body, in.Body, "Decode changed the body")
		if err != nil {
			require.Empty(t, events)
			require.True(t, errors.Is(err, hub.ErrUnauthorized) || signed && (errors.Is(err, hub.ErrMalformed) || errors.Is(err, hub.ErrInvalid)), err)
			return
		}
		require.True(t, signed, "accepted without a signature")
		for _, e := range events {
			require.NotEmpty(t, e.Product)
			if e.Time.Year() < 1 || e.Time.Year() > 9999 {
				continue // too old or too far ahead for the hub
			}
			repeated, err := hub.ParseEnvelope(hub.AppendEnvelope(nil, e))
			require.NoError(t, err)
			require.Equal(t, withoutReceiver(e), withoutReceiver(repeated))
		}
	})
}
