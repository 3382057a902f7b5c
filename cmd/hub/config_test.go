package main_test

import (
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
	file := c.writeFile("hub.yaml", "listen: 127.0.0.1:9001\nkey_rate: 7-H\negress_allow: [10.1.0.0/16, 10.2.0.0/16]\n")
	c = c.among(secrets).withEnv("HUB_KEY_RATE", "8-H")
	for _, format := range []string{"table", "json"} {
		got := c.run("config", "print", "--config", file, "--data-dir", "elsewhere", "-o", format)
		got.requireOK()
		for name, secret := range secrets {
			require.NotContains(t, got.stdout+got.stderr, secret, name)
		}
		require.NotContains(t, got.stdout+got.stderr, "canary")
		for _, shown := range []string{"db.example.com", "redis.example.com", "127.0.0.1:9001", "8-H", "10.1.0.0/16,10.2.0.0/16", "elsewhere", "[redacted]"} {
			require.Contains(t, got.stdout, shown)
		}
	}
	require.Contains(t, c.withEnv("HUB_CONFIG", file).run("config", "print").requireOK(), "127.0.0.1:9001")
	require.NotContains(t, c.run("config", "print").requireOK(), "127.0.0.1:9001")

	typed := c.withEnv("HUB_DATABSE_URL", "postgres://hub:canary@db/hub").withEnv("HUB_ZEBRA_CROSSING", "x").run("config", "print")
	typed.requireOK()
	require.Contains(t, typed.stderr, "unknown variable HUB_DATABSE_URL is ignored; did you mean HUB_DATABASE_URL?")
	require.Contains(t, typed.stderr, "unknown variable HUB_ZEBRA_CROSSING is ignored")
	require.NotContains(t, typed.stderr, "canary")

	bad := c.writeFile("bad.yaml", "listn: 127.0.0.1:9001\nretention: {a: b}\nmaster_key: canary\n")
	c.run("config", "print", "--config", bad).requireFails(3, "line 1: unknown key listn; did you mean listen?", "line 2: retention must be one value")
	c.run("config", "print", "--config", "nowhere.yaml").requireFails(3, "reading the configuration file")
	for name, value := range map[string]string{
		"HUB_MASTER_KEY": "canary", "HUB_DATABASE_URL": "canary://hub:canary@db", "HUB_REDIS_URL": "http://:canary@db",
		"HUB_ADMIN_PASSWORD": "canary", "HUB_ACCESS_TTL": "1ms", "HUB_TRUSTED_PROXIES": "ten",
	} {
		got := c.withEnv(name, value).run("config", "print")
		got.requireFails(3, name)
		require.NotContains(t, got.stderr, "canary")
	}
}

func TestConfigDocuments(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	reference, err := os.ReadFile(filepath.Join(root, "hub/config/REFERENCE.md"))
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(reference)), strings.TrimSpace(c.run("config", "reference").requireOK()))
	example, err := os.ReadFile(filepath.Join(root, "configs/hub.example.yaml"))
	require.NoError(t, err)
	printed := c.run("config", "example").requireOK()
	require.Equal(t, strings.TrimSpace(string(example)), strings.TrimSpace(printed))

	// The example can be used as it is: it says what is the case anyway.
	file := c.writeFile("example.yaml", printed)
	require.Equal(t, c.run("config", "print").requireOK(), c.run("config", "print", "--config", file).requireOK())
}
