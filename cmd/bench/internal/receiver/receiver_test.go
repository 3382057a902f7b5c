package receiver

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"integrationhub/cmd/bench/internal/benchtest"
	"integrationhub/cmd/bench/internal/payload"
	"integrationhub/cmd/bench/internal/records"
	"integrationhub/hub"
)

// deliverTo posts event n to an endpoint as a service would.
func deliverTo(t *testing.T, base, endpoint, secret string, n uint64) int {
	t.Helper()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	body, _ := payload.AppendEvent(nil, n, 5, 64, 0)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetRequestURI(base + "/hook/" + endpoint)
	req.Header.Set(hub.HeaderStdID, hub.FormatEventID(n))
	req.Header.Set(hub.HeaderSignature, hub.SignBody(secret, body))
	req.SetBody(body)
	require.NoError(t, fasthttp.Do(req, resp))
	return resp.StatusCode()
}

func record(t *testing.T, base string) []records.Arrival {
	t.Helper()
	_, raw, err := fasthttp.Get(nil, base+"/control/record")
	require.NoError(t, err)
	arrivals, err := records.Read[records.Arrival](raw)
	require.NoError(t, err)
	return arrivals
}

func TestReceiverFailsFirstAttempts(t *testing.T) {
	t.Parallel()
	r := New(Options{FailFirst: 0.1, FailStatus: 503})
	base := benchtest.ServeHTTP(t, r.Handle)
	const events = 1000
	refused := make(map[uint64]bool)
	for n := range uint64(events) {
		if deliverTo(t, base, "0", "", n) != 200 {
			refused[n] = true
		}
	}
	require.InDelta(t, 100, len(refused), 10)
	for n := range refused {
		require.Equal(t, 503, deliverTo(t, base, "1", "", n), "every endpoint has its own first attempt")
		require.Equal(t, 200, deliverTo(t, base, "0", "", n))
		require.Equal(t, 200, deliverTo(t, base, "1", "", n))
	}
	delivered := 0
	for _, a := range record(t, base) {
		require.Equal(t, a.ID, a.Number)
		require.EqualValues(t, 5, a.SentAt)
		require.Positive(t, a.ArrivedAt)
		if a.Delivered() {
			delivered++
		}
	}
	require.Equal(t, events+len(refused), delivered)
	require.EqualValues(t, delivered, r.delivered.Load())
	_, _, err := fasthttp.Get(nil, base+"/control/reset")
	require.NoError(t, err)
	require.Empty(t, record(t, base))
}

func TestReceiverChecksSignatures(t *testing.T) {
	t.Parallel()
	r := New(Options{VerifyEvery: 2})
	base := benchtest.ServeHTTP(t, r.Handle)
	r.SetSecrets([]string{"whsec_a", "whsec_b"})
	deliverTo(t, base, "1", "whsec_b", 2)
	deliverTo(t, base, "1", "whsec_a", 4)
	deliverTo(t, base, "1", "whsec_a", 5) // not one of those that are checked
	var got []uint16
	for _, a := range record(t, base) {
		got = append(got, a.Signature)
	}
	require.Equal(t, []uint16{records.SignatureValid, records.SignatureInvalid, records.SignatureUnchecked}, got)
}

func TestReceiverKeepsMoreThanOneChunk(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	base := benchtest.ServeHTTP(t, r.Handle)
	for n := range uint64(chunkSize + 5) {
		r.Record(records.Arrival{Number: n, Status: 200})
	}
	arrivals := record(t, base)
	require.Len(t, arrivals, chunkSize+5)
	require.EqualValues(t, chunkSize+4, arrivals[chunkSize+4].Number)
}
