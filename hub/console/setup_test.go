package console_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/clinic"
	"integrationhub/connectors/all"
	"integrationhub/hub/config"
	"integrationhub/hub/hubtest"
	"integrationhub/hub/module"
	"integrationhub/hub/server"
	"integrationhub/messaging"
	"integrationhub/scheduling"
)

const (
	adminEmail    = "ana@example.com"
	adminPassword = "the administrator's password"
)

type object = map[string]any

// console is a running hub with the console.
type console struct {
	t          *testing.T
	url, token string
	options    server.Options
	running    *server.Server
}

// products are the hosted products whose administrators the console serves.
func products() []module.Module {
	return []module.Module{scheduling.New(), messaging.New(), clinic.New()}
}

// start runs a hub; settings are as in the environment.
func start(t *testing.T, settings ...string) *console {
	t.Helper()
	return startHosting(t, nil, settings...)
}

// startHosting runs a hub that hosts products.
func startHosting(t *testing.T, modules []module.Module, settings ...string) *console {
	t.Helper()
	cfg, _, err := config.Load(config.Sources{Environ: append([]string{
		"HUB_KEY_RATE=0", "HUB_TRUSTED_PROXIES=127.0.0.0/8", "HUB_ADMIN_EMAIL=" + adminEmail, "HUB_ADMIN_PASSWORD=" + adminPassword,
		"HUB_MASTER_KEY=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)),
	}, settings...)})
	require.NoError(t, err)
	cfg.Listen, cfg.DataDir, cfg.ShutdownGrace = "127.0.0.1:0", t.TempDir(), time.Second
	cfg.DatabaseURL, cfg.RedisURL = config.Secret(hubtest.DatabaseURL(t)), config.Secret(hubtest.RedisURL(t))
	c := &console{t: t, options: server.Options{
		Config: cfg, Connectors: all.List(), Modules: modules, Version: "test", Log: slog.New(slog.DiscardHandler), PasswordHashMemory: hubtest.PasswordHashMemory,
	}}
	c.run()
	t.Cleanup(func() { c.running.Stop() })
	return c
}

// run starts the hub, at an address that it chooses.
func (c *console) run() {
	c.t.Helper()
	running, err := server.Start(context.Background(), c.options)
	require.NoError(c.t, err)
	c.running, c.url = running, running.URL()
	local, err := config.ReadLocal(c.options.Config.DataDir)
	require.NoError(c.t, err)
	c.token = local.Token
}

// restart stops the hub and starts it on the same database.
func (c *console) restart() {
	c.t.Helper()
	c.running.Stop()
	c.run()
}

// answer is what came back, without its body.
type answer struct {
	StatusCode int
	Header     http.Header
}

// call sends a request as an administrator, or with headers as they are given.
func (c *console) call(method, path string, body any, headers ...string) (answer, string) {
	c.t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		require.NoError(c.t, err)
	}
	request, err := http.NewRequest(method, c.url+path, bytes.NewReader(text))
	require.NoError(c.t, err)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	require.NoError(c.t, err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	return answer{response.StatusCode, response.Header}, string(got)
}

// ok calls the API and requires a status.
func (c *console) ok(status int, method, path string, body any, headers ...string) object {
	c.t.Helper()
	if len(headers) == 0 {
		headers = []string{"Authorization", "Bearer " + c.token}
	}
	response, text := c.call(method, "/api/v1"+path, body, headers...)
	require.Equal(c.t, status, response.StatusCode, "%s %s: %s", method, path, text)
	if !strings.HasPrefix(text, "{") {
		return nil
	}
	return c.parse(text)
}

// parse reads a JSON object.
func (c *console) parse(text string) object {
	c.t.Helper()
	var parsed object
	require.NoError(c.t, json.Unmarshal([]byte(text), &parsed))
	return parsed
}

// shop is a tenant with an endpoint.
type shop struct {
	tenant, key, endpoint string
	receiver              string // its address
}

// refusedData is the data of order.refused, with numbers that JavaScript would change.
var refusedData = json.RawMessage(`{"order":77,"note":"it's late","big":1152921504606846977,"dec":0.1234567890123456789012345,"exp":1e40,"neg":-0,"list":[]}`)

// shop makes a tenant with an endpoint whose receiver answers 200, and 500 to
// order.refused. It publishes events and waits until each was tried.
func (c *console) shop(events int) shop {
	c.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte("order.refused")) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":"the stock is locked"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	c.t.Cleanup(receiver.Close)
	c.ok(201, "POST", "/products", object{"name": "shop", "prefix": "shop"})
	tenant := c.ok(201, "POST", "/tenants", object{"product": "shop", "name": "Corner Bakery"})["id"].(string)
	key := c.ok(201, "POST", "/keys", object{"tenant_id": tenant, "environment": "live"})["api_key"].(string)
	endpoint := c.ok(201, "POST", "/endpoints", object{"tenant_id": tenant, "url": receiver.URL + "/hook", "event_types": []string{"*"}, "description": "Warehouse"})["id"].(string)
	for sent := 0; sent < events; sent += 50 {
		var batch []object
		for i := sent; i < min(sent+50, events); i++ {
			batch = append(batch, object{"event_type": "order.created", "data": object{"order": i}})
		}
		c.ok(202, "POST", "/events/batch", object{"events": batch}, "X-Integration-Key", key)
	}
	c.ok(202, "POST", "/events", object{"event_type": "order.refused", "correlation_id": "order-77", "data": refusedData}, "X-Integration-Key", key)
	require.Eventually(c.t, func() bool {
		refused := c.ok(200, "GET", "/deliveries?event_type=order.refused", nil)["items"].([]any)
		delivered := c.ok(200, "GET", fmt.Sprintf("/deliveries?status=delivered&limit=%d", min(events, 200)), nil)["items"].([]any)
		return len(refused) == 1 && refused[0].(object)["status_code"] != nil && len(delivered) == min(events, 200)
	}, time.Minute, 50*time.Millisecond)
	return shop{tenant, key, endpoint, receiver.URL}
}

// visited is what the scripts need to know.
func (c *console) visited() object {
	return object{"url": c.url, "email": adminEmail, "password": adminPassword}
}
