package hub_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

const (
	vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID     = "evt_0123456789abcdef"
	vectorTime   = 1767323045
	vectorBody   = `{"id":"evt_0123456789abcdef","product":"clinic","event_type":"patient.created","timestamp":"2026-01-02T03:04:05Z","data":{}}`
	vectorHex    = "sha256=ecdddc7b5363587dc6ba21d1809cec7f99e84a1783123d46208b1cf98a774dee"
	vectorV1     = "v1,0QTXu38W3CSVTai1IV0OElizYSBDflh4cbsEXbZFsdg="
)

func TestSignatureVector(t *testing.T) {
	t.Parallel()
	require.Equal(t, vectorHex, hub.SignBody(vectorSecret, []byte(vectorBody)))
	require.Equal(t, vectorV1, hub.SignStandard(vectorSecret, vectorID, vectorTime, []byte(vectorBody)))

	envelope := hub.AppendEnvelope(nil, hub.Event{
		ID: vectorID, Product: "clinic", Type: "patient.created",
		Time: time.Unix(vectorTime, 0), Data: []byte(`{}`),
	})
	require.Equal(t, vectorBody, string(envelope))
}

func TestVerifyBody(t *testing.T) {
	t.Parallel()
	body := []byte(vectorBody)
	require.True(t, hub.VerifyBody(vectorHex, body, "other", vectorSecret))
	for name, signature := range map[string]string{
		"missing":   "",
		"no prefix": vectorHex[len("sha256="):],
		"sha1":      "sha1=" + vectorHex[len("sha256="):],
		"uppercase": "sha256=ECDDDC7B5363587DC6BA21D1809CEC7F99E84A1783123D46208B1CF98A774DEE",
		"truncated": vectorHex[:len(vectorHex)-1],
		"two":       vectorHex + "," + vectorHex,
	} {
		require.False(t, hub.VerifyBody(signature, body, vectorSecret), name)
	}
	require.False(t, hub.VerifyBody(vectorHex, append(body, ' '), vectorSecret))
	require.False(t, hub.VerifyBody(vectorHex, body))
	require.False(t, hub.VerifyBody(hub.SignBody("", body), body, "", vectorSecret), "an empty secret is never valid")
}

func TestVerifyStandard(t *testing.T) {
	t.Parallel()
	body, now := []byte(vectorBody), time.Unix(vectorTime, 0)
	verify := func(signatures string, now time.Time) bool {
		return hub.VerifyStandard(signatures, vectorID, "1767323045", body, now, "old", vectorSecret)
	}
	require.True(t, verify("v1,AAAA "+vectorV1, now))
	require.True(t, verify(vectorV1, now.Add(hub.StandardTolerance)))
	require.False(t, verify(vectorV1, now.Add(hub.StandardTolerance+time.Second)))
	require.False(t, verify(vectorV1, now.Add(-hub.StandardTolerance-time.Second)))
	require.False(t, verify("v1,AAAA", now))
	require.False(t, hub.VerifyStandard(vectorV1, vectorID, "soon", body, now, vectorSecret))
	require.False(t, hub.VerifyStandard(hub.SignStandard("", vectorID, vectorTime, body), vectorID, "1767323045", body, now, ""))
}

func FuzzVerifyStandard(f *testing.F) {
	f.Add(vectorV1, vectorID, "1767323045", []byte(vectorBody), vectorSecret)
	f.Fuzz(func(t *testing.T, signatures, id, timestamp string, body []byte, secret string) {
		hub.VerifyStandard(signatures, id, timestamp, body, time.Unix(vectorTime, 0), secret)
		require.Equal(t, secret != "", hub.VerifyBody(hub.SignBody(secret, body), body, secret))
		require.False(t, hub.VerifyBody(hub.SignBody(secret, body), append(body, 0), secret))
	})
}
