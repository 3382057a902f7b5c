package sessions_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/driver/drivertest"
	"integrationhub/messaging/internal/messagingtest"
)

// QR codes are replaced independently: bridges that do not answer do not hold up others.
func TestQRCodesAreReplacedAtOnce(t *testing.T) {
	t.Parallel()
	const connections = 3
	company, bridge := messagingtest.NewCompanyAlone(t), drivertest.NewBridge(t)
	var hanging atomic.Int64
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	defer release()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"call":"stop"`)) {
			hanging.Add(1)
			select {
			case <-answer:
			case <-r.Context().Done(): // the hub did not wait
			}
			hanging.Add(-1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		bridge.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for i := range connections {
		company.OK(201, "POST", "/whatsapp", object{"name": fmt.Sprintf("Reception %d", i), "driver": "bridge", "bridge": object{"url": server.URL + "/hub", "secret": drivertest.BridgeSecret}})
	}
	// Each code is the last that nobody scanned: the job ends the session at the bridge.
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `update connections set retries = 2, qr_expires_at = now() - interval '1 second'`)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- company.Hub.Job("qr-codes").Run(t.Context(), nil) }()
	require.Eventually(t, func() bool { return hanging.Load() == connections }, 20*time.Second, time.Millisecond, "the bridges are called at the same time")
	release()
	require.NoError(t, <-done)
	for _, connection := range company.List("/whatsapp") {
		require.Equal(t, "DISCONNECTED", connection["status"])
	}
}

// Connections whose QR codes cannot be replaced come after all others, and are tried again after
// a minute.
func TestFailedQRCodesWait(t *testing.T) {
	t.Parallel()
	company := messagingtest.NewCompanyAt(t, time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))
	path := messagingtest.Path("/whatsapp", company.OK(201, "POST", "/whatsapp", object{"name": "Reception"}))
	current := func() (code string) {
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select qrcode from connections where name = 'Reception'`).Scan(&code))
		return code
	}
	before := current()
	// The driver of 300 connections is not there: more than a run of the job looks at.
	_, err := company.Hub.Host.Pool.Exec(t.Context(), `insert into connections (company_id, name, driver, status, qrcode, qr_expires_at)
		select company_id, 'Gone ' || n, 'gone', 'qrcode', 'code', qr_expires_at - interval '1 second' from connections, generate_series(1, 300) n where id = $1`, path[len("/whatsapp/"):])
	require.NoError(t, err)
	company.Hub.Clock.Advance(61 * time.Second)
	for range 4 {
		company.RunJob("qr-codes")
	}
	require.NotEqual(t, before, current())
	failed := func() (n int) {
		require.NoError(t, company.Hub.Host.Pool.QueryRow(t.Context(), `select count(*) from connection_leases where renewal_failed_at = $1`, company.Hub.Clock.Now()).Scan(&n))
		return n
	}
	require.Equal(t, 300, failed())
	company.Hub.Clock.Advance(59 * time.Second)
	company.RunJob("qr-codes")
	require.Zero(t, failed(), "they are not tried again yet")
	company.Hub.Clock.Advance(time.Second)
	company.RunJob("qr-codes")
	require.Positive(t, failed())
}
