package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic/internal/clinictest"
)

// A form that cannot be read is the client's mistake.
func TestBrokenForm(t *testing.T) {
	t.Parallel()
	clinic := clinictest.NewClinic(t)
	part := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nnome,telefone\r\n"
	for name, sent := range map[string][2]string{
		"no boundary":      {"multipart/form-data", part},
		"another boundary": {"multipart/form-data; boundary=c", part + "--b--\r\n"},
		"no end":           {"multipart/form-data; boundary=b", part},
		"empty":            {"multipart/form-data; boundary=b", ""},
	} {
		got := clinic.Call("POST", "/imports", sent[1], "Content-Type", sent[0])
		require.Equal(t, 400, got.Status, "%s: %s", name, got.Text)
		require.Equal(t, "malformed", got.Body["code"], name)
	}
}
