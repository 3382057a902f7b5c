package connectortest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// checkSignatures tries every way a signature can be wrong.
func checkSignatures(t *testing.T, c Case) {
	out, err := c.Connector.Encode(c.Connection, c.Events[0])
	require.NoError(t, err)
	body := out.Body
	value := c.signedInbound(body).Header.Get(c.SignatureHeader)
	require.NotEmpty(t, value, "Sign sets SignatureHeader")
	_, err = c.Connector.Decode(c.Connection, c.signedInbound(body))
	require.NoError(t, err, "the genuine request")

	for name, values := range forgeries(value) {
		in := c.signedInbound(body)
		delete(in.Header, http.CanonicalHeaderKey(c.SignatureHeader))
		for _, v := range values {
			in.Header.Add(c.SignatureHeader, v)
		}
		events, err := c.Connector.Decode(c.Connection, in)
		require.Empty(t, events, name)
		c.require401(t, name, err)
	}

	other := clone(c.Connection)
	other.Secrets = []string{"whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldA=="}
	refused := map[string]struct {
		connection hub.Connection
		in         hub.Inbound
	}{
		"another integration's secret": {c.Connection, hub.Inbound{Header: c.Sign(other, body), Body: body}},
		"our secret for another":       {other, c.signedInbound(body)},
		"a byte more":                  {c.Connection, hub.Inbound{Header: c.Sign(c.Connection, body), Body: append(bytes.Clone(body), ' ')}},
		"re-encoded":                   {c.Connection, hub.Inbound{Header: c.Sign(c.Connection, body), Body: reencode(t, body)}},
		"no body":                      {c.Connection, hub.Inbound{Header: c.Sign(c.Connection, body)}},
		"no headers":                   {c.Connection, hub.Inbound{Body: body}},
		"no JSON and not signed":       {c.Connection, hub.Inbound{Header: c.Sign(c.Connection, body), Body: []byte("{")}},
	}
	for _, secrets := range [][]string{nil, {""}} { // nothing to check with is nothing that holds
		none := clone(c.Connection)
		none.Secrets = secrets
		in := hub.Inbound{Header: c.Sign(none, body), Body: body}
		events, err := c.Connector.Decode(none, in)
		require.Empty(t, events)
		c.require401(t, "no secret", err)
	}
	for name, row := range refused {
		events, err := c.Connector.Decode(row.connection, row.in)
		require.Empty(t, events, name)
		c.require401(t, name, err)
	}

	rotating := clone(c.Connection)
	rotating.Secrets = []string{other.Secrets[0], c.Connection.Secret()}
	for _, signer := range []hub.Connection{other, c.Connection} {
		_, err = c.Connector.Decode(rotating, hub.Inbound{Header: c.Sign(signer, body), Body: body})
		require.NoError(t, err, "both secrets hold during a rotation")
	}

	for _, body := range []string{"", "{", "null", "[]", `"text"`, "{}", `{"id":7}`, doubled(body)} {
		events, err := c.Connector.Decode(c.Connection, c.signedInbound([]byte(body)))
		require.Empty(t, events, "signed, and still not an event: %q", body)
		require.True(t, errors.Is(err, hub.ErrMalformed) || errors.Is(err, hub.ErrInvalid), "%q: %v", body, err)
		require.NotErrorIs(t, err, hub.ErrUnauthorized, "%q", body)
	}
}

// require401 requires the error of invalid signatures.
func (c Case) require401(t *testing.T, name string, err error) {
	t.Helper()
	require.Error(t, err, name)
	require.ErrorIs(t, err, hub.ErrUnauthorized, name)
	c.requireError(t, err, hub.ErrUnauthorized, "")
}

// forgeries are values of the signature's header that must be refused.
func forgeries(value string) map[string][]string {
	prefix, digits, found := strings.Cut(value, "=")
	if !found || digits == "" {
		prefix, digits = "", value
	}
	return map[string][]string{
		"missing":         nil,
		"empty":           {""},
		"sha1=":           {"sha1=" + digits},
		"another prefix":  {"x" + value},
		"prefix only":     {prefix + "="},
		"uppercase":       {strings.ToUpper(value)},
		"uppercase hex":   {prefix + "=" + strings.ToUpper(digits)},
		"truncated":       {value[:len(value)-1]},
		"first half":      {value[:len(value)/2]},
		"longer":          {value + "0"},
		"comma":           {value + "," + value},
		"space":           {value + " " + value},
		"two lines":       {value, value},
		"two, one forged": {value, strings.ToUpper(value)},
		"forged and true": {strings.ToUpper(value), value},
		"padded":          {" " + value},
		"zeros":           {prefix + "=" + strings.Repeat("0", len(digits))},
		"without prefix":  {withoutPrefix(value)},
		"no ASCII":        {value[:len(value)-1] + "é"},
		"very long":       {strings.Repeat(value, 1000)},
	}
}

// withoutPrefix takes off what stands before the first "=", or one character.
func withoutPrefix(value string) string {
	if _, digits, found := strings.Cut(value, "="); found && digits != "" {
		return digits
	}
	return value[1:]
}

// reencode is the same JSON in other bytes.
func reencode(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, body, "", " "))
	require.NotEqual(t, string(body), out.String())
	return out.Bytes()
}

// doubled is the body twice, one after the other.
func doubled(body []byte) string { return string(body) + string(body) }
