package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/keys"
)

// listen opens the live tail and returns a channel of its messages, which is closed when
// the tail ends.
func (b *bundle) listen(query string, headers ...string) <-chan map[string]string {
	b.t.Helper()
	return b.listenAs(b.support, query, headers...)
}

func (b *bundle) listenAs(token, query string, headers ...string) <-chan map[string]string {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/api/v1/events/stream?"+query, nil)
	require.NoError(b.t, err)
	if keys.Check(token) == nil {
		request.Header.Set(hub.HeaderKey, token)
	} else {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := hubtest.HTTPClient.Do(request) //nolint:bodyclose // where it is read
	require.NoError(b.t, err)
	require.Equal(b.t, 200, response.StatusCode)
	require.Equal(b.t, "text/event-stream", response.Header.Get("Content-Type"))
	require.Equal(b.t, "no-store", response.Header.Get("Cache-Control"))
	require.NotEmpty(b.t, response.Header.Get("X-Request-Id"))
	messages := make(chan map[string]string, 100)
	go func() {
		defer close(messages)
		defer func() { _ = response.Body.Close() }()
		message := map[string]string{}
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if name, value, found := strings.Cut(lines.Text(), ": "); found && name != "" {
				message[name] = value
			} else if lines.Text() == "" && len(message) > 0 {
				messages <- message
				message = map[string]string{}
			}
		}
	}()
	opening, _ := b.receive(messages)
	require.Equal(b.t, map[string]string{"retry": "1000"}, opening, "it opens with how soon to come back")
	return messages
}

// receive waits for a tail's next message or its end.
func (b *bundle) receive(messages <-chan map[string]string) (message map[string]string, open bool) {
	b.t.Helper()
	select {
	case message, open = <-messages:
		return message, open
	case <-time.After(soon):
		require.Fail(b.t, "the tail says nothing")
		return nil, false
	}
}

// next returns the next delivery of a tail.
func (b *bundle) next(messages <-chan map[string]string) map[string]any {
	b.t.Helper()
	message, open := b.receive(messages)
	require.True(b.t, open, "the tail ended")
	require.Equal(b.t, "delivery", message["event"])
	var item map[string]any
	require.NoError(b.t, json.Unmarshal([]byte(message["data"]), &item))
	require.Regexp(b.t, "^"+item["id"].(string)+`@\d{16}$`, message["id"])
	require.Equal(b.t, itemFields, fieldsOf(item))
	item["position"] = message["id"]
	return item
}

func TestLiveTail(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	everything, some := b.listen(""), b.listen("event_type=c.d&product=shop&status=delivered&tenant_id="+b.tenant[0].String())
	first := b.publish(b.live[0], "a.b", "{}")
	seen := b.next(everything)
	require.Equal(t, []any{first, "delivered", 200.0}, []any{seen["event_id"], seen["status"], seen["status_code"]})
	b.settled(first, "delivered")
	b.clock.Advance(time.Second) // ids are ordered by it
	second := b.publish(b.live[0], "c.d", "{}")
	require.Equal(t, second, b.next(everything)["event_id"])
	require.Equal(t, second, b.next(some)["event_id"], "only what the filter matches")

	// A client that reconnects receives what it missed.
	late := b.listen("", "Last-Event-ID", seen["position"].(string))
	require.Equal(t, second, b.next(late)["event_id"])
	missed := b.listen("event_type=none", "Last-Event-ID", seen["position"].(string))

	b.engine.halt()
	for _, tail := range []<-chan map[string]string{everything, some, late, missed} {
		message, open := b.receive(tail)
		require.False(t, open, "the hub stops, the tail ends: %v", message)
	}
}

func TestLiveTailAccess(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.refused(401, "unauthorized", "GET", "/events/stream", "", "")
	b.refused(403, "missing_scope", "GET", "/events/stream", b.live[0], "")
	b.refused(401, "invalid_token", "GET", "/events/stream", "garbage", "")
	b.refused(401, "unauthorized", "GET", "/events/stream?access_token="+b.admin, "", "")
	for _, odd := range []string{"evt_0123456789abcdef", "7", uuid.NewString() + "@", uuid.NewString() + "@-1", uuid.NewString() + "@9223372036854775807", "@1"} {
		b.refused(422, "validation_failed", "GET", "/events/stream", b.support, "", "Last-Event-ID", odd)
	}
	b.refused(422, "validation_failed", "GET", "/events/stream?status=delivered&status_code=two", b.support, "", "Last-Event-ID", uuid.NewString())
	require.Equal(t, 200, b.call("GET", "/events/stream", b.support, "").status)
	require.Equal(t, 200, b.call("GET", "/events/stream", b.local, "").status)
}

// A tail ends with what authorized it, and others go on.
func TestLiveTailEndsWithItsAuthorization(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	b.endpoint(b.live[0], anywhere)
	operator := func(email string) (id, token string, change func(role, more string)) {
		made := b.ok(201, "POST", "/operators", b.admin, `{"email":"`+email+`","name":"N","role":"admin","password":"`+adminPassword+`"}`)
		id = made["id"].(string)
		return id, b.login(email, adminPassword)["access_token"].(string), func(role, more string) {
			b.ok(200, "PUT", "/operators/"+id, b.admin, `{"email":"`+email+`","name":"N","role":"`+role+`"`+more+`}`)
		}
	}
	_, disabledToken, disable := operator("disabled@example.com")
	_, demotedToken, demote := operator("demoted@example.com")
	deletedID, deletedToken, _ := operator("deleted@example.com")
	_, newPasswordToken, setPassword := operator("password@example.com")
	_, loggedOutToken, _ := operator("logout@example.com")
	_, renamedToken, rename := operator("renamed@example.com")
	ending := []<-chan map[string]string{}
	for _, token := range []string{disabledToken, demotedToken, deletedToken, newPasswordToken, loggedOutToken} {
		ending = append(ending, b.listenAs(token, ""))
	}
	goesOn, local := b.listenAs(renamedToken, ""), b.listenAs(b.local, "")
	disable("admin", `,"disabled":true`)
	demote("support", "")
	b.ok(204, "DELETE", "/operators/"+deletedID, b.admin, "")
	setPassword("admin", `,"password":"another password"`)
	b.ok(204, "POST", "/auth/logout", loggedOutToken, "")
	rename("admin", "")
	for i, tail := range ending {
		message, open := b.receive(tail)
		require.False(t, open, "%d: %v", i, message)
	}
	require.Equal(t, 200, b.call("GET", "/events/stream", demotedToken, "").status, "with its new rights")
	published := b.publish(b.live[0], "a.b", "{}")
	require.Equal(t, published, b.next(goesOn)["event_id"])
	require.Equal(t, published, b.next(local)["event_id"])

	b.clock.Advance(31 * time.Minute) // the access token expires
	_, open := b.receive(goesOn)
	require.False(t, open)
}
