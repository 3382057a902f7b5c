package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// book opens an organization on every day and books an appointment in a week. It returns the
// appointment's id.
func (a *account) book() string {
	a.console.t.Helper()
	const api = "/api/v1"
	made := func(path string, body object) string { return a.ok(201, "POST", api+path, body)["id"].(string) }
	service := made("/services", object{"name": "Cut", "duration_minutes": 30, "price": 80})
	professional := made("/professionals", object{"name": "Ana"})
	a.ok(200, "PUT", api+"/professionals/"+professional+"/services", object{"service_ids": []string{service}})
	for day := range 7 {
		made("/schedule-rules", object{"professional_id": professional, "day_of_week": day, "start_time": "09:00", "end_time": "12:00"})
	}
	client := made("/clients", object{"name": "Caio", "phone": "+5511987654321"})
	start := time.Now().AddDate(0, 0, 7).In(time.FixedZone("BRT", -3*60*60))
	start = time.Date(start.Year(), start.Month(), start.Day(), 10, 0, 0, 0, start.Location())
	return made("/appointments", object{"client_id": client, "professional_id": professional, "service_id": service, "start_at": start.Format(time.RFC3339)})
}

// The log of a scheduling account with rows: a connected peer, one delivered, one failed and sent
// again from the screen. The shell's search finds events of it.
func TestSchedulingLogInABrowser(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	scheduling := startHosting(t, products()).newAccount("scheduling", "Studio Bela")
	var open atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/open":
			open.Store(true)
		case strings.Contains(string(body), "appointment.cancelled") && !open.Load():
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":"the calendar is locked"}`)
		}
	}))
	t.Cleanup(receiver.Close)
	address := receiver.URL + "/hook"
	response, text := scheduling.console.call("POST", "/scheduling/api/v1/integrations/webhook/register", object{"webhook_url": address}, "X-Integration-Key", scheduling.key())
	require.Equal(t, 200, response.StatusCode, text)
	appointment := scheduling.book()
	scheduling.ok(200, "POST", "/api/v1/appointments/"+appointment+"/cancel", object{})
	require.Eventually(t, func() bool {
		tried := 0
		for _, item := range scheduling.items("/api/v1/integrations/webhook-logs") {
			if item.(object)["status_code"] != nil {
				tried++
			}
		}
		return tried == 2
	}, eventually, tick)
	visited := scheduling.visited()
	visited["receiver"], visited["server"] = address, receiver.URL
	visited["delivered"], visited["failed"] = "appointment.created", "appointment.cancelled"
	hubtest.RunInBrowser(t, "hub/console/browser/account-retry.mjs", visited)
	delivered := scheduling.items("/api/v1/integrations/webhook-logs?status=delivered")
	require.Len(t, delivered, 2)
}
