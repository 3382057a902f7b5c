package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/internal/registry"
	"integrationhub/hub/module"
)

// Headers that operators set for a product's webhook stay while its host stays: those of another
// host must not see them.
func TestWebhookHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	present := registry.Endpoint{URL: "https://a.example.com/x", Headers: map[string]string{"Authorization": "***"}}
	for url, removes := range map[string]bool{
		"https://a.example.com/y": false, "https://A.example.com/": false,
		"https://a.example.com:8443/x": true, "https://b.example.com/x": true, "http://a.example.com/x": true,
	} {
		state := endpointState(module.WebhookSettings{URL: url}, present)
		require.Equal(t, removes, state.Headers != nil, url)
		require.Empty(t, state.Headers)
	}
}
