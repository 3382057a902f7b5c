package hub_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// The current secret is the first; a connection without secrets has none.
func TestConnectionSecret(t *testing.T) {
	t.Parallel()
	require.Empty(t, hub.Connection{}.Secret())
	require.Equal(t, "new", hub.Connection{Secrets: []string{"new", "old"}}.Secret())
}

func TestVerifySignature(t *testing.T) {
	t.Parallel()
	c := hub.Connection{Secrets: []string{vectorSecret, "old"}}
	body := []byte(vectorBody)
	for name, values := range map[string][]string{"the current secret": {vectorHex}, "the previous secret": {hub.SignBody("old", body)}} {
		require.NoError(t, c.VerifySignature(hub.Inbound{Header: http.Header{hub.HeaderSignature: values}, Body: body}), name)
	}
	for name, values := range map[string][]string{
		"missing": nil, "repeated": {vectorHex, vectorHex}, "of another secret": {hub.SignBody("other", body)}, "none": {""},
	} {
		err := c.VerifySignature(hub.Inbound{Header: http.Header{hub.HeaderSignature: values}, Body: body})
		require.ErrorIs(t, err, hub.ErrUnauthorized, name)
		var hubErr *hub.Error
		require.ErrorAs(t, err, &hubErr)
		require.Equal(t, hub.CodeInvalidSignature, hubErr.Code)
	}
}

// X-Webhook-Signature is by the current secret, webhook-signature by all that are not empty.
func TestSignedHeader(t *testing.T) {
	t.Parallel()
	body := []byte(vectorBody)
	c := hub.Connection{Key: "cli_live_key", Secrets: []string{vectorSecret, "", "old"}, Now: time.Unix(vectorTime, 0)}
	header, err := c.SignedHeader(vectorID, body)
	require.NoError(t, err)
	want := http.Header{}
	for name, value := range map[string]string{
		"Content-Type": "application/json", hub.HeaderKey: "cli_live_key", hub.HeaderSignature: vectorHex, hub.HeaderStdID: vectorID,
		hub.HeaderStdTimestamp: "1767323045", hub.HeaderStdSignature: vectorV1 + " " + hub.SignStandard("old", vectorID, vectorTime, body),
	} {
		want.Set(name, value)
	}
	require.Equal(t, want, header)

	c.Key = ""
	header, err = c.SignedHeader(vectorID, body)
	require.NoError(t, err)
	require.NotContains(t, header, hub.HeaderKey, "an endpoint has no key")

	for _, secrets := range [][]string{nil, {"", "old"}} {
		c.Secrets = secrets
		_, err = c.SignedHeader(vectorID, body)
		require.ErrorIs(t, err, hub.ErrInvalid)
	}
}

func TestCheckUsable(t *testing.T) {
	t.Parallel()
	require.NoError(t, hub.Status{Product: "clinic", Active: true}.CheckUsable("clinic"))
	for code, status := range map[string]hub.Status{
		hub.CodeUnexpectedProduct: {Product: "messaging", Active: true}, hub.CodePeerNotActive: {Product: "clinic"},
	} {
		var hubErr *hub.Error
		require.ErrorAs(t, status.CheckUsable("clinic"), &hubErr)
		require.Equal(t, code, hubErr.Code)
		require.ErrorIs(t, hubErr, hub.ErrInvalid)
	}
}

// The error of an unexpected product names the one that answered, if that can be a name.
func TestUnexpectedProductIsNamed(t *testing.T) {
	t.Parallel()
	for answered, want := range map[string]struct {
		detail     string
		extensions hub.Extensions
	}{
		"messaging":             {"The product messaging responds at this address, not clinic.", hub.Extensions{"answered": "messaging"}},
		"":                      {"Something else than clinic responds at this address.", nil},
		"<b>":                   {"Something else than clinic responds at this address.", nil},
		strings.Repeat("a", 41): {"Something else than clinic responds at this address.", nil},
	} {
		var hubErr *hub.Error
		require.ErrorAs(t, hub.Status{Product: answered, Active: true}.CheckUsable("clinic"), &hubErr)
		require.Equal(t, want.detail, hubErr.Detail)
		require.Equal(t, want.extensions, hubErr.Extensions)
	}
}

// errors.Is finds the kind of an error, and its cause if there is one.
func TestErrorUnwraps(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	plain := hub.Errorf(hub.ErrConflict, "taken", "It is taken.")
	require.Equal(t, []error{hub.ErrConflict}, plain.Unwrap())
	require.Equal(t, "It is taken.", plain.Error())
	caused := hub.Errorf(hub.ErrConflict, "taken", "It is taken.").WithCause(cause)
	require.ErrorIs(t, caused, hub.ErrConflict)
	require.ErrorIs(t, caused, cause)
	require.Equal(t, "It is taken.: cause", caused.Error())
}
