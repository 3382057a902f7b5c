package directory

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// verifier is what a webhook pays for knowing who sent it: the look-up of its key and the
// check of the signature over 1 KiB, by the older of two secrets as during a rotation.
func (p *place) verifier() (verify func() error) {
	_, plain := p.key(nil)
	require.True(p.t, p.use(plain))
	body := []byte(`{"data":{"text":"` + strings.Repeat("x", 1000) + `"}}`)
	c := hub.Connection{Secrets: []string{"whsec_" + uuid.NewString(), "whsec_" + uuid.NewString()}}
	header, err := hub.Connection{Secrets: c.Secrets[1:]}.SignedHeader("evt_0123456789abcdef", body)
	require.NoError(p.t, err)
	in := hub.Inbound{Header: http.Header{hub.HeaderSignature: header[hub.HeaderSignature]}, Body: body}
	ctx := p.t.Context()
	return func() error {
		if _, err := p.directory.Key(ctx, plain); err != nil {
			return err
		}
		return c.VerifySignature(in)
	}
}

func BenchmarkVerify(b *testing.B) {
	verify := newPlace(b).verifier()
	b.ReportAllocs()
	for b.Loop() {
		if err := verify(); err != nil {
			b.Fatal(err)
		}
	}
}
