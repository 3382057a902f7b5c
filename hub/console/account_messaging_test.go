package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// "The messaging company's connections with their QR codes": what happens at the network is
// seen without a reload.
func TestChatConnectionsInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(cloud.Close)
	messaging := startHosting(t, products(), "HUB_CLOUD_API_URL="+cloud.URL).newAccount("messaging", "Oak Messages")
	messaging.ok(201, "POST", "/queue", object{"name": "Sales", "color": "#3b5bdb"})
	messaging.ok(201, "POST", "/queue", object{"name": "Support", "color": "#2b8a3e"})
	messaging.ok(201, "POST", "/sandbox/phones", object{"number": "5511900000001", "name": "Reception"})
	visited := messaging.visited()
	visited["token"], visited["number"] = messaging.token, "5511900000001"
	hubtest.RunInBrowser(t, "hub/console/browser/account-connections.mjs", visited)
	left := messaging.ok(200, "GET", "/whatsapp/2", nil)
	require.Equal(t, "cloud", left["driver"])
}

// A code that has expired is replaced by the next one without a reload.
func TestQRCodeRenewalInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	_, _, messaging := startAccounts(t)
	messaging.ok(201, "POST", "/whatsapp", object{"name": "Reception"})
	pool, err := pgxpool.New(t.Context(), string(messaging.console.options.Config.DatabaseURL))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = pool.Exec(t.Context(), `update messaging.connections set qr_expires_at = clock_timestamp() + interval '8 seconds'`)
	require.NoError(t, err)
	hubtest.RunInBrowser(t, "hub/console/browser/account-qrcode.mjs", messaging.visited())
}
