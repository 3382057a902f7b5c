package directory

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// BenchmarkVerify is what a webhook pays for knowing who sent it: the look-up of its key
// and the check of the signature over 1 KiB. The goal is 30 µs.
func BenchmarkVerify(b *testing.B) {
	p := newPlace(b)
	_, plain := p.key(nil)
	require.True(b, p.use(plain))
	body := []byte(`{"data":{"text":"` + strings.Repeat("x", 1000) + `"}}`)
	c := hub.Connection{Secrets: []string{"whsec_" + uuid.NewString(), "whsec_" + uuid.NewString()}}
	header, err := hub.Connection{Secrets: c.Secrets[1:]}.SignedHeader("evt_0123456789abcdef", body) // as during a rotation
	require.NoError(b, err)
	in := hub.Inbound{Header: http.Header{hub.HeaderSignature: header[hub.HeaderSignature]}, Body: body}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.directory.Key(b.Context(), plain); err != nil {
			b.Fatal(err)
		}
		if err := c.Verify(in); err != nil {
			b.Fatal(err)
		}
	}
}
