package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigPrint(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{
		"HUB_MASTER_KEY": masterKey, "HUB_ADMIN_PASSWORD": "canary-password", "HUB_METRICS_TOKEN": "canary-of-the-metrics",
		"HUB_DATABASE_URL": "postgres://hub:canary-database@db.example.com/hub?sslpassword=canary-parameter",
		"HUB_REDIS_URL":    "redis://:canary-redis@redis.example.com:6379/0",
	}
	c := newCLI(t)
	file := c.write("hub.yaml", "listen: 127.0.0.1:9001\nkey_rate: 7-H\negress_allow: [10.1.0.0/16, 10.2.0.0/16]\n")
	c = c.among(secrets).with("HUB_KEY_RATE", "8-H")
	for _, format := range []string{"table", "json"} {
		got := c.run("config", "print", "--config", file, "--data-dir", "elsewhere", "-o", format)
		got.ok()
		for name, secret := range secrets {
			require.NotContains(t, got.out+got.err, secret, name)
		}
		require.NotContains(t, got.out+got.err, "canary")
		for _, shown := range []string{"db.example.com", "redis.example.com", "127.0.0.1:9001", "8-H", "10.1.0.0/16,10.2.0.0/16", "elsewhere", "[redacted]"} {
			require.Contains(t, got.out, shown)
		}
	}
	require.Contains(t, c.with("HUB_CONFIG", file).run("config", "print").ok(), "127.0.0.1:9001")
	require.NotContains(t, c.run("config", "print").ok(), "127.0.0.1:9001")

	typed := c.with("HUB_DATABSE_URL", "postgres://hub:canary@db/hub").with("HUB_ZEBRA_CROSSING", "x").run("config", "print")
	typed.ok()
	require.Contains(t, typed.err, "unknown variable HUB_DATABSE_URL is ignored; did you mean HUB_DATABASE_URL?")
	require.Contains(t, typed.err, "unknown variable HUB_ZEBRA_CROSSING is ignored")
	require.NotContains(t, typed.err, "canary")

	bad := c.write("bad.yaml", "listn: 127.0.0.1:9001\nretention: {a: b}\nmaster_key: canary\n")
	c.run("config", "print", "--config", bad).fails(3, "line 1: unknown key listn; did you mean listen?", "line 2: retention must be one value")
	c.run("config", "print", "--config", "nowhere.yaml").fails(3, "reading the configuration file")
	for name, value := range map[string]string{
		"HUB_MASTER_KEY": "canary", "HUB_DATABASE_URL": "canary://hub:canary@db", "HUB_REDIS_URL": "http://:canary@db",
		"HUB_ADMIN_PASSWORD": "canary", "HUB_ACCESS_TTL": "1ms", "HUB_TRUSTED_PROXIES": "ten",
	} {
		got := c.with(name, value).run("config", "print")
		got.fails(3, name)
		require.NotContains(t, got.err, "canary")
	}
}

func TestConfigDocuments(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	reference, err := os.ReadFile(filepath.Join(root, "hub/config/REFERENCE.md"))
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(reference)), strings.TrimSpace(c.run("config", "reference").ok()))
	example, err := os.ReadFile(filepath.Join(root, "configs/hub.example.yaml"))
	require.NoError(t, err)
	printed := c.run("config", "example").ok()
	require.Equal(t, strings.TrimSpace(string(example)), strings.TrimSpace(printed))

	// The example can be used as it is: it says what is the case anyway.
	file := c.write("example.yaml", printed)
	require.Equal(t, c.run("config", "print").ok(), c.run("config", "print", "--config", file).ok())
}

// TestOpenAPI: the document can be had without a hub, and is the one a hub serves.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	printed := newCLI(t).run("openapi").ok()
	var document struct {
		OpenAPI string                     `json:"openapi"`
		Info    struct{ Version string }   `json:"info"`
		Paths   map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(printed), &document))
	require.True(t, strings.HasPrefix(document.OpenAPI, "3.1."), document.OpenAPI)
	require.Equal(t, "v9.8.7", document.Info.Version)
	require.Contains(t, document.Paths, "/api/v1/events")
	status, served := sharedHub(t).call(t, "GET", "/openapi.json", "")
	require.Equal(t, 200, status)
	require.JSONEq(t, served, printed)
}

// TestProductOpenAPI: so can that of each product, with the integration interface.
func TestProductOpenAPI(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	status, listed := sharedHub(t).call(t, "GET", "/api/v1/products?limit=200", "")
	require.Equal(t, 200, status)
	var products struct {
		Items []struct {
			Name   string `json:"name"`
			Hosted bool   `json:"hosted"`
		} `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(listed), &products))
	compared := 0
	for _, product := range products.Items {
		name := product.Name
		if !product.Hosted {
			continue
		}
		compared++
		printed := c.run("openapi", "--product", name).ok()
		status, served := sharedHub(t).call(t, "GET", "/"+name+"/openapi.json", "")
		require.Equal(t, 200, status)
		var have, want map[string]any
		require.NoError(t, json.Unmarshal([]byte(printed), &have))
		require.NoError(t, json.Unmarshal([]byte(served), &want))
		require.Equal(t, []any{map[string]any{"url": "/" + name}}, have["servers"])
		delete(have, "servers") // a running hub knows its address
		delete(want, "servers")
		require.Equal(t, want, have)
		require.Contains(t, have["paths"], "/api/v1/integrations/webhook")
	}
	require.Positive(t, compared)
	got := c.run("openapi", "--product", "nothing")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.err, "scheduling")
	require.Empty(t, got.out)
}
