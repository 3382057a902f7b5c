package moduletest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module"
)

// HostCapture wraps a product and captures its [module.Host] for the test.
type HostCapture struct {
	module.Module
	Host *module.Host
}

// Open implements [module.Module].
func (l HostCapture) Open(ctx context.Context, host module.Host) (module.Instance, error) {
	*l.Host = host
	return l.Module.Open(ctx, host)
}

// ForgeToken returns a token with changed header members and claims, signed by sign.
func ForgeToken(t *testing.T, token string, header, claims map[string]any, sign func(text string) string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	for i, change := range []map[string]any{header, claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		require.NoError(t, err)
		var members map[string]any
		require.NoError(t, json.Unmarshal(raw, &members))
		maps.Copy(members, change)
		raw, err = json.Marshal(members)
		require.NoError(t, err)
		parts[i] = base64.RawURLEncoding.EncodeToString(raw)
	}
	text := parts[0] + "." + parts[1]
	return text + "." + sign(text)
}
