// Package config is the configuration of the hub: one struct, filled from flags,
// environment, file and defaults, checked, and then passed. Every setting is
// described once, in the tags beside its field; the flags, the reference page and
// the example file are made of those.
package config

//go:generate go test -run TestGeneratedFiles -update

import (
	"fmt"
	"log/slog"
	"maps"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The values of SignUp.
const (
	SignUpOpen      = "open"      // anyone
	SignUpOperators = "operators" // operators with the role admin
)

// The values of Env.
const (
	Development = "development" // http anywhere, loopback targets, /docs
	Production  = "production"  // refuses unsafe settings
)

// Config holds every setting. The zero value is not usable: [Load] fills it.
//
// Tags: name (the key in the file; HUB_ and upper case in the environment, dashes
// for underscores as a flag), default, unit, example, doc. A setting of type
// [Secret] is never printed, and has no flag where flag is "-", for a process list
// shows flags to all users of the machine.
type Config struct {
	Listen    string `name:"listen" group:"Service" default:"127.0.0.1:8080" unit:"host:port" example:"0.0.0.0:8080" doc:"Address the hub listens on."`
	PublicURL string `name:"public_url" group:"Service" unit:"URL" example:"https://hub.example.com" doc:"Address under which people and other products reach this hub, without a trailing slash. When empty it is made of listen. Must be https in production, unless it is on loopback."`
	Env       string `name:"env" group:"Service" default:"development" unit:"development or production" example:"production" doc:"Kind of installation. Production refuses unsafe settings, serves no reference page and guards /metrics."`
	DataDir   string `name:"data_dir" group:"Service" default:"./data" unit:"directory" example:"/var/lib/hub" doc:"Directory for what the hub keeps on disk: the embedded database, the generated master key, temporary files of uploads (tmp), and local.json for the command line."`
	LogLevel  string `name:"log_level" group:"Service" default:"info" unit:"debug, info, warn or error" example:"warn" doc:"Least important log lines that are written, as JSON, to standard error."`

	TrustedProxies []netip.Prefix `name:"trusted_proxies" group:"Service" unit:"CIDRs, comma separated" example:"10.0.0.0/8" doc:"Reverse proxies whose X-Forwarded-For is believed. The address of a client is the last one in that header that is not a trusted proxy; without this setting it is the address of the connection. It counts for the login limit and the audit log."`
	MetricsToken   Secret         `name:"metrics_token" group:"Service" flag:"-" unit:"text, at least 16 characters" example:"Jc0dX8kqNq2sVt5w" doc:"Bearer token that /metrics asks for in production. Without it, /metrics responds to loopback only there. It is open in development."`
	OTLPEndpoint   string         `name:"otlp_endpoint" group:"Service" unit:"URL" example:"http://127.0.0.1:4318" doc:"Base address of an OpenTelemetry collector that takes OTLP over HTTP. Publications, the commits they wait for and attempts are sent to /v1/traces below it, as part of the publisher's trace where that sends a traceparent; receivers are sent none. The standard variables OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME apply. When empty nothing is traced."`
	ShutdownGrace  time.Duration  `name:"shutdown_grace" group:"Service" default:"15s" unit:"duration" example:"30s" min:"0s" max:"10m" doc:"How long a stopping hub waits for requests and attempts in flight. Afterwards they are cut; nothing is lost, the attempts are made again."`

	Products         string      `name:"products" group:"Products" default:"all" unit:"names, comma separated; all or none" example:"scheduling,clinic" doc:"Products that this hub runs. One that is switched off keeps its data; its address responds 404, and connections to it fail until it is back."`
	ProductPaths     Assignments `name:"product_paths" group:"Products" unit:"product=/path, comma separated" example:"scheduling=/agenda" doc:"Where a product lies under public_url, when not under its name. Pages for people stay where they are."`
	ProductListeners Assignments `name:"product_listeners" group:"Products" unit:"product=host:port, comma separated" example:"clinic=127.0.0.1:8081" doc:"Products with a listener of their own, where they lie at / and no longer under the hub's address."`
	ProductURLs      Assignments `name:"product_urls" group:"Products" unit:"product=URL, comma separated" example:"clinic=https://clinic.example.com" doc:"Address under which other products reach one that has a listener of its own, without a trailing slash. When empty it is made of the listener. Must be https in production, unless it is on loopback."`
	ProductLimits    Assignments `name:"product_limits" group:"Products" unit:"product.limit=rate, comma separated" example:"scheduling.public-reads=600-M" doc:"Request limits in place of a product's own. Of scheduling: public-reads (300-M), public-writes (120-M) and holds (30-M) of one address. Of scheduling, messaging and the clinic: logins (300-M), sign-ups (100-H), password-links (100-H) and passwords (300-H) of one address. Of scheduling and the clinic: users (1200-M) and invitations (50-H) of one organization, invited-addresses (5-D) of one recipient. Of messaging: users (600-M) of one user, sends (60-M, 20 of them at once; the burst grows with the rate) of one API token. 0 = no limit."`

	DatabaseURL Secret        `name:"database_url" group:"Storage" unit:"URL" example:"postgres://hub:password@db.example.com:5432/hub?sslmode=verify-full" doc:"PostgreSQL 15 or newer. When empty the hub runs a private one in data_dir, from binaries found on the machine. As a flag it must not contain a password."`
	RedisURL    Secret        `name:"redis_url" group:"Storage" unit:"URL" example:"rediss://:password@redis.example.com:6379/0" doc:"Redis 6.2 or newer, for the clock of the retries and the rate limits. When empty they live in the process, which is right for a single one. Losing Redis loses no event. As a flag it must not contain a password."`
	PGBin       string        `name:"pg_bin" group:"Storage" unit:"directory" example:"/usr/lib/postgresql/16/bin" doc:"Where the programs of PostgreSQL are (initdb, postgres), for the private database. When empty the usual places are searched."`
	Retention   time.Duration `name:"retention" group:"Storage" default:"30d" unit:"duration, whole days" example:"90d" min:"1d" max:"3650d" doc:"How long events, deliveries and attempts are kept, payloads included. Whole days (UTC) are dropped. What still waits for delivery is kept without the rest of its day, until it is done."`

	AuditRetention time.Duration `name:"audit_retention" group:"Storage" default:"400d" unit:"duration, whole days" example:"730d" min:"30d" max:"3650d" doc:"How long the audit log is kept. Months (UTC) that ended before that are dropped."`

	MasterKey     Secret        `name:"master_key" group:"Access" flag:"-" unit:"32 bytes in base64 or hex" example:"9mJxJ7bXb1Jm5dqv0m5vYk3p9l8eF2uQw1r4t6y8a0E=" doc:"Encrypts webhook secrets and the keys of other products at rest (AES-256-GCM), and signs the tokens of operators. Made and kept in data_dir when empty; required in production. Losing it makes stored secrets unreadable. openssl rand -base64 32 makes one."`
	AdminEmail    string        `name:"admin_email" group:"Access" unit:"e-mail address" example:"ops@example.com" doc:"The first operator, made at the start when there is none yet. admin@localhost when empty."`
	AdminPassword Secret        `name:"admin_password" group:"Access" flag:"-" unit:"text, 10 to 200 characters" example:"a long sentence of your own" doc:"Password of the first operator. When empty the first start prints a one-time password."`
	AccessTTL     time.Duration `name:"access_ttl" group:"Access" default:"30m" unit:"duration" example:"15m" min:"1m" max:"30d" doc:"How long an operator's access token is valid."`
	RefreshTTL    time.Duration `name:"refresh_ttl" group:"Access" default:"30d" unit:"duration" example:"7d" min:"1m" max:"365d" doc:"How long an operator stays logged in without coming back: the life of a refresh token. Not shorter than access_ttl."`
	SignUp        string        `name:"sign_up" group:"Access" default:"open" unit:"open or operators" example:"operators" doc:"Who may create accounts in the products: organizations, companies, clinics. open: anyone who reaches the address, within the product's limit of sign-ups. operators: only requests with the token of an operator or program with the role admin; without a token the response is 403 user_creation_disabled."`
	KeyRate       string        `name:"key_rate" group:"Access" default:"100-M" unit:"requests-period: S, M, H or D; 0 = no limit" example:"600-M" doc:"Request limit of an API key that was made without one of its own."`

	EgressAllow         []netip.Prefix `name:"egress_allow" group:"Delivery" unit:"CIDRs, comma separated" example:"10.20.0.0/16" doc:"Private networks that webhooks may be sent to. Loopback is open in development, and this hub's own public_url always is; addresses of cloud metadata services never are."`
	EgressProxy         Secret         `name:"egress_proxy" group:"Delivery" flag:"-" unit:"URL" example:"http://hub:password@proxy.example.com:3128" doc:"Proxy for what is sent to receivers, other products and providers by HTTP: http:// or https://, with user and password where it asks for them. The hub resolves and checks each address first, then asks the proxy for a tunnel to it (CONNECT, also for http addresses). Links within this hub and loopback go direct. The proxy's own address needs no permission."`
	DeliveryTimeout     time.Duration  `name:"delivery_timeout" group:"Delivery" default:"10s" unit:"duration" example:"5s" min:"1s" max:"14s" doc:"Deadline of one attempt, from dialling to the end of the response. It has to end well within the 30s lease of a delivery, or another process would send the same one meanwhile."`
	DeliveryConcurrency int            `name:"delivery_concurrency" group:"Delivery" default:"1024" unit:"attempts in flight per process" example:"256" min:"1" max:"100000" doc:"How many attempts one process makes at once. One tenant has at most half of them in flight, and less while others are busy."`
	EndpointConcurrency int            `name:"endpoint_concurrency" group:"Delivery" default:"64" unit:"attempts in flight per endpoint and process" example:"16" min:"1" max:"100000" doc:"The share of one endpoint or integration, so that a slow one does not slow the others. Not more than delivery_concurrency."`
	LinkRate            int            `name:"link_rate" group:"Delivery" default:"6000" unit:"requests a minute of one link" example:"12000" min:"1" max:"1000000" doc:"How many requests a minute a link takes: two accounts of this hub that the hub itself connected, with keys it issued. Its deliveries are paced a tenth below. Connections made with keys that people issued keep key_rate, and the limit of the interface. All processes of a hub need the same value."`
	MaxDeliveries       int            `name:"max_deliveries" group:"Delivery" default:"10000" unit:"deliveries of one request" example:"20000" min:"1" max:"100000" doc:"How many deliveries one publishing request may make: its events times the endpoints that want them. Above it the request is refused with 422 too_many_deliveries and nothing is stored. A tenant can have a limit of its own."`

	EndpointFailingAfter time.Duration `name:"endpoint_failing_after" group:"Delivery" default:"10m" unit:"duration" example:"30m" min:"1s" max:"7d" doc:"For how long every attempt at an endpoint must fail, at least five of them, before hub.endpoint.failing is published. It counts as recovered when deliveries succeed and nothing fails for a tenth of this time."`

	SMTPURL  Secret `name:"smtp_url" group:"Mail" flag:"-" unit:"URL" example:"smtp://hub:password@mail.example.com:587" doc:"Server that takes mail: smtp:// with STARTTLS, which is required unless the server is on loopback, or smtps:// with TLS from the start. When empty, development keeps mail to be read at /api/v1/dev/mail; in production mail waits a day for a server and is then given up."`
	MailFrom string `name:"mail_from" group:"Mail" default:"Integration Hub <hub@localhost>" unit:"e-mail address, with or without a name" example:"Example <no-reply@example.com>" doc:"Sender of all mail. Products put the name of their customer to the address."`

	PaymentProvider string `name:"payment_provider" group:"Payments" unit:"sandbox, mercadopago or none" example:"mercadopago" doc:"Who collects Pix payments. When empty it is sandbox in development, where charges are paid by a call and no money moves, and none in production, which refuses sandbox."`
	PaymentToken    Secret `name:"payment_token" group:"Payments" flag:"-" unit:"text" example:"APP_USR-1234567890" doc:"Access token at the payment provider. Required for mercadopago."`
	PaymentSecret   Secret `name:"payment_secret" group:"Payments" flag:"-" unit:"text" example:"a8f5f167f44f4964e6c998dee827110c" doc:"Secret by which the payment provider signs its webhooks. Required for mercadopago, which shows it where the webhook is set up."`

	SandboxAutoconnect string `name:"sandbox_autoconnect" group:"Messaging" default:"0" unit:"0 or 1" example:"1" doc:"1 gives each company that signs up at the messaging platform a connection that is paired with a phone of the simulated network. In development only."`
	CloudAPIURL        string `name:"cloud_api_url" group:"Messaging" default:"https://graph.facebook.com" unit:"URL" example:"https://graph.facebook.com" doc:"Address of the WhatsApp Cloud API, for connections of the driver cloud. In production it begins with https://, because requests to it have the connections' access tokens."`
	CloudAPIVersion    string `name:"cloud_api_version" group:"Messaging" default:"v23.0" unit:"version" example:"v23.0" doc:"Version of the WhatsApp Cloud API, the first part of the paths below cloud_api_url."`
	MediaBytes         int    `name:"media_bytes" group:"Messaging" default:"21474836480" unit:"bytes" example:"5368709120" min:"1048576" max:"109951162777600" doc:"How many bytes of files each company of the messaging platform keeps at most, erased ones included until their content is deleted. A file counts as 4096 at least. Further uploads are refused, and received messages stay without their files."`

	BlobURL string `name:"blob_url" group:"Uploads" unit:"URL" example:"s3://uploads?region=sa-east-1" doc:"Where uploaded files are kept: a directory (file:///var/lib/hub/files) or a bucket of an S3-compatible store (s3://bucket?region=…, with endpoint=https://… and use_path_style=true for others than AWS; credentials as AWS programs find them, e.g. AWS_ACCESS_KEY_ID). When empty it is the directory files in data_dir. Several processes need a bucket, or a directory that all of them mount."`
}

// Assignments are values by product, or by what belongs to one.
type Assignments map[string]string

// IsProductEnabled reports whether a product is enabled.
func (c Config) IsProductEnabled(product string) bool {
	return c.Products == "all" || slices.Contains(c.productNames(), product)
}

// productNames returns the products that Products names; none for "all" and "none".
func (c Config) productNames() []string {
	if c.Products == "all" || c.Products == "none" {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(c.Products, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// ProductNames returns every product that a setting names, each once.
func (c Config) ProductNames() []string {
	names := c.productNames()
	for _, by := range []Assignments{c.ProductPaths, c.ProductListeners, c.ProductURLs} {
		names = slices.AppendSeq(names, maps.Keys(by))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ProductPath returns a product's path under the hub's address.
func (c Config) ProductPath(product string) string {
	if path := c.ProductPaths[product]; path != "" {
		return path
	}
	return "/" + product
}

// IsProduction reports whether Env is production.
func (c Config) IsProduction() bool { return c.Env == Production }

// BaseURL returns PublicURL, or http and the listen address if it is empty, with
// loopback for an address of all interfaces. It has no trailing slash.
func (c Config) BaseURL() string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	return LocalURL(c.Listen)
}

// LocalURL returns the URL of a listener for programs on the same machine: http, with
// loopback for an address of all interfaces.
func LocalURL(listen string) string {
	host, port, found := cutPort(listen)
	if !found {
		return "http://" + listen
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return "http://" + host + ":" + port
}

func cutPort(listen string) (host, port string, found bool) {
	colon := strings.LastIndexByte(listen, ':')
	if colon < 0 {
		return "", "", false
	}
	return strings.Trim(listen[:colon], "[]"), listen[colon+1:], true
}

// MailSender returns the parsed MailFrom, or the zero Address if it is invalid, which
// Validate rejects.
func (c Config) MailSender() mail.Address {
	parsed, err := mail.ParseAddress(c.MailFrom)
	if err != nil {
		return mail.Address{}
	}
	return *parsed
}

// Names of payment providers.
const (
	PaymentSandbox     = "sandbox"
	PaymentMercadoPago = "mercadopago"
	PaymentNone        = "none"
)

// ActivePaymentProvider returns PaymentProvider or its default; "" for none.
func (c Config) ActivePaymentProvider() string {
	switch {
	case c.PaymentProvider == "" && !c.IsProduction():
		return PaymentSandbox
	case c.PaymentProvider == PaymentNone:
		return ""
	}
	return c.PaymentProvider
}

// UploadsURL returns BlobURL, or the URL of the directory files in DataDir if it is empty.
func (c Config) UploadsURL() (string, error) {
	if c.BlobURL != "" {
		return c.BlobURL, nil
	}
	dir, err := filepath.Abs(filepath.Join(c.DataDir, "files"))
	if err != nil {
		return "", fmt.Errorf("finding the directory of uploads: %w", err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String(), nil
}

// SlogLevel returns LogLevel for slog; info if it is invalid, which Validate rejects.
func (c Config) SlogLevel() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return slog.LevelInfo
	}
	return level
}
