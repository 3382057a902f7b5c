package config_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/mail"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"integrationhub/hub/config"
)

var update = flag.Bool("update", false, "write the generated files anew")

// goodKey is a master key as openssl rand would make it.
var goodKey = base64.StdEncoding.EncodeToString([]byte("0a1B2c3D4e5F6g7H8i9J!k@L#m$N%o^P"))

func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"REFERENCE.md":                   config.Reference(),
		"../../configs/hub.example.yaml": config.Example(),
	} {
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s is out of date: go generate ./hub/config", path)
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, setting := range config.Settings() {
		require.NotEmpty(t, setting.Name)
		require.False(t, seen[setting.Name], setting.Name)
		seen[setting.Name] = true
		for what, text := range map[string]string{"doc": setting.Doc, "unit": setting.Unit, "example": setting.Example, "group": setting.Group} {
			require.NotEmpty(t, text, "%s of %s", what, setting.Name)
		}
		require.Equal(t, "HUB_"+strings.ToUpper(setting.Name), setting.Env)
		// The example is accepted, alone and by every source that has it.
		c, warnings, err := config.Load(config.Sources{Environ: []string{setting.Env + "=" + setting.Example}})
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.NotEmpty(t, c.Values()[setting.Name])
		if setting.Flag == "" {
			require.True(t, setting.Secret, "only secrets have no flag")
		}
	}
	require.Len(t, seen, reflect.TypeFor[config.Config]().NumField())
}

func TestExampleFileLoads(t *testing.T) {
	t.Parallel()
	var lines []string
	for line := range strings.Lines(config.Example()) {
		bare := strings.TrimPrefix(line, "# ")
		for _, setting := range config.Settings() {
			if strings.HasPrefix(bare, setting.Name+": ") {
				lines = append(lines, bare)
			}
		}
	}
	require.Len(t, lines, len(config.Settings()))
	c, warnings, err := config.Load(config.Sources{File: file(t, strings.Join(lines, ""))})
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.NoError(t, c.Validate())
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(config.Sources{})
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	require.Empty(t, c.Warnings())
	require.Equal(t, "127.0.0.1:8080", c.Listen)
	require.Equal(t, "http://127.0.0.1:8080", c.BaseURL())
	require.Equal(t, 30*24*time.Hour, c.Retention)
	require.Equal(t, 15*time.Second, c.ShutdownGrace)
	require.Equal(t, 10*time.Second, c.DeliveryTimeout)
	require.Equal(t, 30*time.Minute, c.AccessTTL)
	require.Equal(t, 720*time.Hour, c.RefreshTTL)
	require.Equal(t, "100-M", c.KeyRate)
	require.Equal(t, 1024, c.DeliveryConcurrency)
	require.Equal(t, 64, c.EndpointConcurrency)
	require.Equal(t, slog.LevelInfo, c.SlogLevel())
	require.False(t, c.IsProduction())
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	path := file(t, "listen: 127.0.0.1:1\ndata_dir: from-file\nretention: 10d\negress_allow: [10.0.0.0/8, 192.168.1.7]\ndelivery_concurrency: 7\n")
	c, warnings, err := config.Load(config.Sources{
		File:    path,
		Environ: []string{"PATH=/bin", "HUB_LISTEN=127.0.0.1:2", "HUB_DATA_DIR=from-env", "HUB_RETENTION="},
		Flags:   map[string]string{"listen": "127.0.0.1:3"},
	})
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, "127.0.0.1:3", c.Listen)
	require.Equal(t, "from-env", c.DataDir)
	require.Equal(t, 10*24*time.Hour, c.Retention, "an empty variable is as good as none")
	require.Equal(t, 7, c.DeliveryConcurrency)
	require.Equal(t, "10.0.0.0/8,192.168.1.7/32", c.Values()["egress_allow"])
	named, _, err := config.Load(config.Sources{Environ: []string{"HUB_CONFIG=" + path}})
	require.NoError(t, err)
	require.Equal(t, "from-file", named.DataDir)
}

func TestUnknownNamesSuggestTheNearest(t *testing.T) {
	t.Parallel()
	_, warnings, err := config.Load(config.Sources{
		File:    file(t, "listn: a\nretenton: 3d\nzzzzzzzz: 1\n"),
		Environ: []string{"HUB_MASTERKEY=hidden-value", "HUB_DATABSE_URL=x", "HUB_TOKEN=of-the-command-line"},
	})
	require.ErrorContains(t, err, "unknown key listn; did you mean listen?")
	require.ErrorContains(t, err, "unknown key retenton; did you mean retention?")
	require.ErrorContains(t, err, "line 3: unknown key zzzzzzzz")
	require.NotContains(t, err.Error(), "zzzzzzzz; did")
	require.Len(t, warnings, 2)
	require.Contains(t, warnings[0], "HUB_MASTER_KEY?")
	require.Contains(t, warnings[1], "HUB_DATABASE_URL?")
	require.NotContains(t, strings.Join(warnings, " "), "hidden-value")
}

func TestUnreadableValues(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load(config.Sources{
		File:    file(t, "delivery_concurrency: many\naccess_ttl: {a: 1}\n"),
		Environ: []string{"HUB_RETENTION=-5d", "HUB_EGRESS_ALLOW=10.0.0.0/99"},
		Flags:   map[string]string{"database-url": "postgres://hub:canary@h/x", "redis-url": "redis://127.0.0.1:6379"},
	})
	for _, want := range []string{"delivery_concurrency", "access_ttl must be one value", "HUB_RETENTION", "HUB_EGRESS_ALLOW", "--database-url: a password in a flag"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "canary")
	require.NotContains(t, err.Error(), "--redis-url")
	_, _, err = config.Load(config.Sources{File: filepath.Join(t.TempDir(), "absent.yaml")})
	require.ErrorContains(t, err, "reading the configuration file")
	_, _, err = config.Load(config.Sources{File: file(t, "listen: [")})
	require.Error(t, err)
}

func TestValidateNamesEveryProblem(t *testing.T) {
	t.Parallel()
	good := []string{"HUB_ENV=production", "HUB_PUBLIC_URL=https://hub.example.com", "HUB_MASTER_KEY=" + goodKey}
	for name, test := range map[string]struct {
		environ []string
		want    []string // variables named; empty = accepted
	}{
		"production":            {good, nil},
		"http on loopback":      {append(good, "HUB_PUBLIC_URL=http://localhost:8080"), nil},
		"http elsewhere":        {append(good, "HUB_PUBLIC_URL=http://hub.example.com"), []string{"HUB_PUBLIC_URL"}},
		"nothing set":           {[]string{"HUB_ENV=production"}, []string{"HUB_PUBLIC_URL", "HUB_MASTER_KEY"}},
		"hex key":               {append(good, "HUB_MASTER_KEY=8f1d3a5b7c9e0f2a4b6c8d0e1f3a5b7c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a"), nil},
		"short key":             {append(good, "HUB_MASTER_KEY=abcd"), []string{"HUB_MASTER_KEY"}},
		"zero key":              {append(good, "HUB_MASTER_KEY="+strings.Repeat("0", 64)), []string{"HUB_MASTER_KEY"}},
		"unsafe at once":        {append(good, "HUB_EGRESS_ALLOW=0.0.0.0/0,127.0.0.0/8", "HUB_KEY_RATE=0", "HUB_ACCESS_TTL=2d", "HUB_METRICS_TOKEN=short", "HUB_TRUSTED_PROXIES=::/0"), []string{"HUB_EGRESS_ALLOW", "HUB_KEY_RATE", "HUB_ACCESS_TTL", "HUB_METRICS_TOKEN", "HUB_TRUSTED_PROXIES"}},
		"same in development":   {[]string{"HUB_EGRESS_ALLOW=0.0.0.0/0,127.0.0.0/8", "HUB_KEY_RATE=0", "HUB_ACCESS_TTL=2d", "HUB_METRICS_TOKEN=short"}, nil},
		"documentation's key":   {append(good, "HUB_MASTER_KEY=9mJxJ7bXb1Jm5dqv0m5vYk3p9l8eF2uQw1r4t6y8a0E="), []string{"HUB_MASTER_KEY"}},
		"values without sense":  {[]string{"HUB_LISTEN=8080", "HUB_ENV=staging", "HUB_LOG_LEVEL=loud", "HUB_KEY_RATE=100/min", "HUB_PUBLIC_URL=ftp://x", "HUB_ADMIN_EMAIL=me", "HUB_ADMIN_PASSWORD=short"}, []string{"HUB_LISTEN", "HUB_ENV", "HUB_LOG_LEVEL", "HUB_KEY_RATE", "HUB_PUBLIC_URL", "HUB_ADMIN_EMAIL", "HUB_ADMIN_PASSWORD"}},
		"bounds":                {[]string{"HUB_DELIVERY_TIMEOUT=1h", "HUB_DELIVERY_CONCURRENCY=0", "HUB_ENDPOINT_CONCURRENCY=0", "HUB_RETENTION=36h", "HUB_REFRESH_TTL=10m"}, []string{"HUB_DELIVERY_TIMEOUT", "HUB_DELIVERY_CONCURRENCY", "HUB_ENDPOINT_CONCURRENCY", "HUB_RETENTION", "HUB_REFRESH_TTL"}},
		"share above the whole": {[]string{"HUB_DELIVERY_CONCURRENCY=8"}, []string{"HUB_ENDPOINT_CONCURRENCY"}},
		"a collector":           {append(good, "HUB_OTLP_ENDPOINT=https://otel.example.com:4318"), nil},
		"collector's scheme":    {[]string{"HUB_OTLP_ENDPOINT=grpc://canary"}, []string{"HUB_OTLP_ENDPOINT"}},
		"collector's password":  {[]string{"HUB_OTLP_ENDPOINT=http://user:canary@otel"}, []string{"HUB_OTLP_ENDPOINT"}},
		"other databases":       {[]string{"HUB_DATABASE_URL=mysql://u:canary@h/d", "HUB_REDIS_URL=canary"}, []string{"HUB_DATABASE_URL", "HUB_REDIS_URL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, err := config.Load(config.Sources{Environ: test.environ})
			require.NoError(t, err)
			err = c.Validate()
			if test.want == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			named := map[string]bool{}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				named[strings.Fields(line)[0]] = true
			}
			for _, variable := range test.want {
				require.True(t, named[variable], "%s in %v", variable, err)
			}
			require.Len(t, named, len(test.want), err.Error())
			require.NotContains(t, err.Error(), "canary")
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(config.Sources{Environ: []string{"HUB_ENV=production"}})
	require.NoError(t, err)
	require.Len(t, c.Warnings(), 3)
	c, _, err = config.Load(config.Sources{Environ: []string{"HUB_ENV=production", "HUB_DATABASE_URL=postgres://db/x?sslmode=disable", "HUB_REDIS_URL=redis://r", "HUB_SMTP_URL=smtp://m"}})
	require.NoError(t, err)
	require.Len(t, c.Warnings(), 1)
	require.Contains(t, c.Warnings()[0], "TLS")
}

func TestSecretsNeverShow(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(config.Sources{Environ: []string{
		"HUB_DATABASE_URL=postgres://hub:canary1@db/x?sslpassword=canary2&sslmode=require", "HUB_REDIS_URL=redis://:canary3@r:1",
		"HUB_MASTER_KEY=canary4", "HUB_ADMIN_PASSWORD=canary5canary5", "HUB_METRICS_TOKEN=canary6",
	}})
	require.NoError(t, err)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "config", c, "secret", c.MasterKey)
	asJSON, err := json.Marshal(c)
	require.NoError(t, err)
	asYAML, err := yaml.Marshal(c)
	require.NoError(t, err)
	shown := strings.Join([]string{
		c.Print(), log.String(), string(asJSON), string(asYAML), fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c, c),
		fmt.Sprintf("%v %+v %#v %s %q", c.MasterKey, c.DatabaseURL, c.AdminPassword, c.MetricsToken, c.RedisURL), fmt.Sprint(&c),
		fmt.Sprint(c.Values()), fmt.Sprint(c.Validate()),
	}, "\n")
	require.NotContains(t, shown, "canary")
	require.Contains(t, c.Print(), "sslmode=require")
	require.Contains(t, c.Print(), `master_key: "[redacted]"`)
}

func TestPrintCanBeLoadedAgain(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(config.Sources{Environ: []string{"HUB_RETENTION=45d", "HUB_ACCESS_TTL=90m", "HUB_EGRESS_ALLOW=10.0.0.0/8", "HUB_ADMIN_EMAIL=a@b.example"}})
	require.NoError(t, err)
	reloaded, _, err := config.Load(config.Sources{File: file(t, c.Print())})
	require.NoError(t, err)
	require.Equal(t, c, reloaded)
}

func TestMasterKeyBytes(t *testing.T) {
	t.Parallel()
	none, err := config.Config{}.MasterKeyBytes()
	require.NoError(t, err)
	require.Nil(t, none)
	for _, text := range []string{goodKey, strings.TrimRight(goodKey, "=")} {
		key, err := config.Config{MasterKey: config.Secret(text)}.MasterKeyBytes()
		require.NoError(t, err)
		require.Equal(t, "0a1B2c3D4e5F6g7H8i9J!k@L#m$N%o^P", string(key))
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "1d12h": 36 * time.Hour, "10s": 10 * time.Second, "1h30m": 90 * time.Minute, "720h": 720 * time.Hour, "0s": 0, "250ms": 250 * time.Millisecond,
	} {
		got, err := config.ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		back, err := config.ParseDuration(config.FormatDuration(got))
		require.NoError(t, err)
		require.Equal(t, want, back)
	}
	for _, invalid := range []string{"", "d", "-1d", "-5s", "1.5d", "10", "99999999d", "d5s", "1d1d", "ten"} {
		_, err := config.ParseDuration(invalid)
		require.Error(t, err, invalid)
	}
}

func TestLocalURL(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"0.0.0.0:80": "http://127.0.0.1:80", ":80": "http://127.0.0.1:80", "[::]:80": "http://127.0.0.1:80", "[::1]:80": "http://[::1]:80", "hub.local:8": "http://hub.local:8",
	} {
		require.Equal(t, want, config.LocalURL(listen), listen)
	}
}

func TestLocalFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new dir")
	_, err := config.ReadLocal(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	local := config.Local{URL: "http://127.0.0.1:8080", Token: "secret", PID: 7}
	require.NoError(t, config.WriteLocal(dir, config.Local{PID: 1}))
	require.NoError(t, config.WriteLocal(dir, local))
	info, err := os.Stat(filepath.Join(dir, "local.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	got, err := config.ReadLocal(dir)
	require.NoError(t, err)
	require.Equal(t, local, got)
	other := config.Local{URL: local.URL, Token: "another", PID: local.PID} // in a container of its own
	require.NoError(t, config.RemoveLocal(dir, other))
	require.NoError(t, config.RestoreLocal(dir, other))
	got, err = config.ReadLocal(dir)
	require.NoError(t, err)
	require.Equal(t, local, got, "another process's file stays")
	require.NoError(t, config.RemoveLocal(dir, local))
	require.NoError(t, config.RestoreLocal(dir, other))
	got, err = config.ReadLocal(dir)
	require.NoError(t, err)
	require.Equal(t, other, got)
	require.NoError(t, config.RemoveLocal(dir, other))
	require.Error(t, config.RestoreLocal(filepath.Join(dir, "removed"), local))
	_, err = config.ReadLocal(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hub.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestPaymentsAndUploads(t *testing.T) {
	t.Parallel()
	load := func(environ ...string) config.Config {
		c, _, err := config.Load(config.Sources{Environ: environ})
		require.NoError(t, err)
		return c
	}
	const production = "HUB_ENV=production"
	require.Equal(t, "sandbox", load().ActivePaymentProvider())
	require.Empty(t, load(production).ActivePaymentProvider())
	require.Empty(t, load("HUB_PAYMENT_PROVIDER=none").ActivePaymentProvider())
	require.ErrorContains(t, load("HUB_PAYMENT_PROVIDER=paypal").Validate(), "HUB_PAYMENT_PROVIDER must be")
	real := load("HUB_PAYMENT_PROVIDER=mercadopago").Validate()
	require.ErrorContains(t, real, "HUB_PAYMENT_TOKEN is required")
	require.ErrorContains(t, real, "HUB_PAYMENT_SECRET is required")
	require.NoError(t, load("HUB_PAYMENT_PROVIDER=mercadopago", "HUB_PAYMENT_TOKEN=t", "HUB_PAYMENT_SECRET=s").Validate())
	require.ErrorContains(t, load(production, "HUB_PAYMENT_PROVIDER=sandbox").Validate(), "HUB_PAYMENT_PROVIDER must not be sandbox")

	c := load("HUB_DATA_DIR=/var/lib/a hub")
	url, err := c.UploadsURL()
	require.NoError(t, err)
	require.Equal(t, "file:///var/lib/a%20hub/files", url)
	url, err = load("HUB_BLOB_URL=s3://uploads?region=sa-east-1").UploadsURL()
	require.NoError(t, err)
	require.Equal(t, "s3://uploads?region=sa-east-1", url)
	require.ErrorContains(t, load("HUB_BLOB_URL=gs://uploads").Validate(), "HUB_BLOB_URL must be a URL that begins with")
}

func TestCloudAPISettings(t *testing.T) {
	t.Parallel()
	validate := func(environ ...string) error {
		c, _, err := config.Load(config.Sources{Environ: environ})
		require.NoError(t, err)
		return c.Validate()
	}
	require.NoError(t, validate())
	require.NoError(t, validate("HUB_CLOUD_API_URL=http://127.0.0.1:9000/graph", "HUB_CLOUD_API_VERSION=v24.0"))
	for _, address := range []string{"graph.facebook.com", "ftp://graph.facebook.com", "https://", "https://a:b@graph.facebook.com", "https://graph.facebook.com?x=1"} {
		require.ErrorContains(t, validate("HUB_CLOUD_API_URL="+address), "HUB_CLOUD_API_URL must be a URL", address)
	}
	require.ErrorContains(t, validate("HUB_ENV=production", "HUB_CLOUD_API_URL=http://graph.facebook.com"), "HUB_CLOUD_API_URL must begin with https://")
	for _, version := range []string{"23.0", "v23", "v23.0/x", "latest"} {
		require.ErrorContains(t, validate("HUB_CLOUD_API_VERSION="+version), "HUB_CLOUD_API_VERSION must be like v23.0", version)
	}
}

func TestMailSettings(t *testing.T) {
	t.Parallel()
	load := func(environ ...string) config.Config {
		c, _, err := config.Load(config.Sources{Environ: environ})
		require.NoError(t, err)
		return c
	}
	c := load("HUB_SMTP_URL=smtp://hub:hidden-value@mail.example.com", "HUB_MAIL_FROM=Clínica <no-reply@example.com>")
	require.NoError(t, c.Validate())
	require.Equal(t, mail.Address{Name: "Clínica", Address: "no-reply@example.com"}, c.MailSender())
	require.NotContains(t, c.Values()["smtp_url"], "hidden-value")
	require.ErrorContains(t, load("HUB_SMTP_URL=http://mail.example.com").Validate(), "HUB_SMTP_URL must be a URL that begins with")
	require.ErrorContains(t, load("HUB_MAIL_FROM=nobody").Validate(), "HUB_MAIL_FROM must be")
	require.ErrorContains(t, load("HUB_ENV=production", "HUB_SMTP_URL=smtp://mail.example.com").Validate(), "HUB_MAIL_FROM must be an address of yours")
	require.Contains(t, strings.Join(load("HUB_ENV=production").Warnings(), " "), "HUB_SMTP_URL is empty")
}

func TestEgressProxySetting(t *testing.T) {
	t.Parallel()
	load := func(address string) config.Config {
		c, _, err := config.Load(config.Sources{Environ: []string{"HUB_EGRESS_PROXY=" + address}})
		require.NoError(t, err)
		return c
	}
	for _, address := range []string{"", "http://proxy.example.com:3128", "https://hub:hidden-value@[2001:db8::1]/"} {
		require.NoError(t, load(address).Validate(), address)
	}
	c := load("https://hub:hidden-value@proxy.example.com")
	require.Equal(t, "proxy.example.com", c.EgressProxyURL().Host)
	require.NotContains(t, c.Values()["egress_proxy"], "hidden-value")
	for address, want := range map[string]string{
		"socks5://proxy.example.com":          "must be a URL that begins with http:// or https://",
		"proxy.example.com:3128":              "must be a URL that begins with http:// or https://",
		"http://hub:hidden-value@":            "must have a host",
		"http://hub:hidden-value@a.example/x": "must have no path",
		"http://hub:hidden-value@a.example?x": "must have no path",
		"http://hub:hidden-value@a.example:b": "must be a URL that begins with",
	} {
		err := load(address).Validate()
		require.ErrorContains(t, err, "HUB_EGRESS_PROXY "+want, address)
		require.NotContains(t, err.Error(), "hidden-value")
	}
}

func TestProductLimits(t *testing.T) {
	t.Parallel()
	load := func(text string) (config.Config, error) {
		c, _, err := config.Load(config.Sources{Environ: []string{"HUB_PRODUCT_LIMITS=" + text}})
		if err == nil {
			err = c.Validate()
		}
		return c, err
	}
	c, err := load("scheduling.public-reads=600-M, clinic.users=0")
	require.NoError(t, err)
	require.Equal(t, config.Assignments{"scheduling.public-reads": "600-M", "clinic.users": "0"}, c.ProductLimits)
	for _, invalid := range []string{"scheduling=600-M", "scheduling.users=lots", "scheduling.users=0-M", "x", "a.b=1-M,a.b=2-M"} {
		_, err := load(invalid)
		require.Error(t, err, invalid)
	}
}
