package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// An administrator makes a connection of a bridge in the console, scans its QR code with a phone,
// and sees it connected.
func TestBridgeConnectionInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	company, bridge := messagingtest.NewCompanyAlone(t), drivertest.NewBridge(t)
	const number = "5511900000001"
	phone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, _ := io.ReadAll(r.Body)
		id := messagingtest.ID(company.List("/whatsapp")[0])
		if string(code) != bridge.State(id)["qrcode"] {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(bridge.Report(t, id, "state", bridge.ChangeState(id, object{"status": "CONNECTED", "number": number})))
	}))
	t.Cleanup(phone.Close)
	hubtest.RunInBrowser(t, "hub/console/browser/account-bridge.mjs", object{
		"url": company.Hub.URL, "product": "messaging", "email": company.Email, "password": messagingtest.Password,
		"bridge": bridge.URL, "secret": drivertest.BridgeSecret, "phone": phone.URL, "number": number,
	})
	connected := company.List("/whatsapp")[0]
	require.Equal(t, []any{"CONNECTED", "bridge", number}, []any{connected["status"], connected["driver"], connected["number"]})
}
