package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/messagingtest"
)

// An account that may not send stops its connection: its messages wait, and none is tried in
// vain, until people have it started again. The network says so in its answer, or later.
func TestCloudAccountMayNotSend(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	path := messagingtest.Path("/whatsapp", c.connection)
	state := func() []any {
		connection := c.Get(path)
		return []any{connection["status"], connection["lastError"]}
	}
	start := func() {
		c.OK(200, "POST", messagingtest.Path("/whatsappsession", c.connection), nil)
		require.Equal(t, []any{"CONNECTED", nil}, state())
	}
	c.api.RespondWith(func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(object{"error": object{"code": 131042, "message": "Business eligibility payment issue"}})
	})
	first := c.send("First")
	require.Equal(t, "queued", first["status"])
	require.Equal(t, []any{"DISCONNECTED", "Business eligibility payment issue"}, state())
	c.As("").Refused(400, "ERR_WAPP_NOT_INITIALIZED", "POST", "/api/messages/send", object{"number": cloudContact, "body": "Second"}, "apikey", c.token)
	c.OK(201, "POST", "/schedules", object{"body": "Scheduled", "sendAt": c.Hub.Clock.Now().Add(time.Minute), "contactId": first["contactId"]})
	c.Advance(time.Hour)
	for _, job := range []string{"schedules", "outbox", "unreachable-connections"} {
		c.RunJob(job)
	}
	require.Len(t, c.api.Sent(), c.calls+1)
	require.Equal(t, []any{0.0, nil}, c.state(first))
	c.api.RespondWith(nil)
	start()
	c.FlushOutbox()
	require.Equal(t, []any{1.0, nil}, c.state(first))
	require.Eventually(t, func() bool { c.RunJob("schedules"); c.FlushOutbox(); return len(c.api.Sent()) == c.calls+3 }, time.Minute, 10*time.Millisecond)

	// The report of a message that failed for the account.
	report := func(at time.Time) {
		status := fmt.Sprintf(`"statuses":[{"id":"wamid.sent%d","status":"failed","timestamp":"%d","errors":[{"code":131031,"title":"Account has been locked"}]}]`, c.calls+3, at.Unix())
		answer := deliver(c.Company, c.connection, cloudSecret, cloudWebhook(cloudPhone, status))
		require.Equal(t, 200, answer.Status, answer.Text)
	}
	c.Hub.Clock.Advance(time.Minute)
	report(c.Hub.Clock.Now())
	require.Equal(t, []any{"DISCONNECTED", "Account has been locked"}, state())
	c.Hub.Clock.Advance(time.Minute)
	start()
	report(c.Hub.Clock.Now().Add(-time.Minute))
	require.Equal(t, "CONNECTED", state()[0], "the report is older than the start")
}

// The API's webhooks have up to 3 MB.
func TestLongCloudWebhook(t *testing.T) {
	t.Parallel()
	company, _ := newCloudCompany(t, time.Time{})
	connection := company.OK(201, "POST", "/whatsapp", object{"name": "Official", "driver": "cloud", "cloud": cloudAccount()})
	body := cloudWebhook(cloudPhone, cloudText("wamid.in1", cloudContact, `"Hi"`, time.Now()))
	long := func(bytes int) string { return body + strings.Repeat(" ", bytes-len(body)) }
	require.Equal(t, 401, deliver(company, connection, "another", long(3<<20)).Status)
	answer := deliver(company, connection, cloudSecret, long(3<<20))
	require.Equal(t, 200, answer.Status, answer.Text)
	require.Len(t, company.Tickets(""), 1)
	require.Equal(t, 413, deliver(company, connection, cloudSecret, long(4<<20+1)).Status)
	require.Equal(t, 413, company.Call("POST", "/contacts", long(3<<20)).Status, "no other operation")
}

// A call that has begun is not cut off when the job that made it has no time left.
func TestCloudCallOutlivesItsJob(t *testing.T) {
	t.Parallel()
	c := newCloudChat(t)
	c.api.RespondWith(func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprint(w, `{"error":{"code":130429,"message":"Rate limit hit"}}`)
	})
	queued := c.send("Later")
	called, goOn := make(chan struct{}, 1), make(chan struct{})
	c.api.RespondWith(func(w http.ResponseWriter) {
		called <- struct{}{}
		<-goOn
		_, _ = fmt.Fprint(w, `{"messages":[{"id":"wamid.slow"}]}`)
	})
	c.Hub.Clock.Advance(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Hub.Job("outbox").Run(ctx, nil) }()
	<-called
	cancel()
	close(goOn)
	<-done
	c.FlushOutbox() // the hub's own run may have been first
	require.Equal(t, []any{1.0, nil}, c.state(queued))
	require.Equal(t, "CONNECTED", c.Get(messagingtest.Path("/whatsapp", c.connection))["status"])
}
