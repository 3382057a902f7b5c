package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// ratePattern is the form of a rate: requests, a dash and a period; "0" is no limit.
var ratePattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,8}-[SMHD])$`)

// limitPattern is the form of the name of a product's limit.
var limitPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*$`)

// Bounds of a password of an operator, in characters.
const (
	passwordMin = 10
	passwordMax = 200
)

// Validate checks every rule and returns all that are broken, one per line, each
// beginning with the name of its variable; nil when the configuration can be used.
func (c Config) Validate() error {
	var check checker
	for _, setting := range Settings() {
		check.require(setting.outOfRange(c) == "", setting.Name, "%s", setting.outOfRange(c))
	}
	_, port, err := net.SplitHostPort(c.Listen)
	check.require(err == nil && port != "", "listen", "must be host:port, e.g. 127.0.0.1:8080")
	check.require(c.Env == Development || c.Env == Production, "env", "must be development or production")
	check.require(c.SandboxAutoconnect == "0" || c.SandboxAutoconnect == "1", "sandbox_autoconnect", "must be 0 or 1")
	check.require(c.SignUp == SignUpOpen || c.SignUp == SignUpOperators, "sign_up", "must be open or operators")
	check.require(c.DataDir != "", "data_dir", "must name a directory")
	check.require(slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel), "log_level", "must be debug, info, warn or error")
	check.require(ratePattern.MatchString(c.KeyRate), "key_rate", "must be like 100-M, or 0 for no limit")
	check.require(c.RefreshTTL >= c.AccessTTL, "refresh_ttl", "must not be shorter than access_ttl")
	check.require(c.Retention%(24*time.Hour) == 0, "retention", "must be whole days, e.g. 30d")
	check.require(c.AuditRetention%(24*time.Hour) == 0, "audit_retention", "must be whole days, e.g. 400d")
	check.require(c.EndpointConcurrency <= c.DeliveryConcurrency, "endpoint_concurrency", "must not be more than delivery_concurrency")
	check.checkURL("database_url", c.DatabaseURL.Reveal(), "postgres", "postgresql")
	check.checkURL("otlp_endpoint", c.OTLPEndpoint, "http", "https")
	check.require(!strings.Contains(c.OTLPEndpoint, "@"), "otlp_endpoint", "must not hold a password; OTEL_EXPORTER_OTLP_HEADERS takes a token")
	check.checkURL("redis_url", c.RedisURL.Reveal(), "redis", "rediss", "unix")
	check.checkURL("smtp_url", c.SMTPURL.Reveal(), "smtp", "smtps")
	check.checkURL("egress_proxy", c.EgressProxy.Reveal(), "http", "https")
	check.checkProxy(c)
	check.checkURL("blob_url", c.BlobURL, "file", "s3")
	sender := c.MailSender()
	check.require(sender.Address != "" && !strings.ContainsFunc(sender.String(), unicode.IsControl), "mail_from", "must be an e-mail address, e.g. Example <no-reply@example.com>")
	check.checkPayments(c)
	check.checkCloudAPI(c)
	check.checkPublicURL(c)
	check.checkProducts(c)
	if _, err := c.MasterKeyBytes(); err != nil {
		check.require(false, "master_key", "%s", err.Error())
	}
	if c.AdminEmail != "" {
		parsed, err := mail.ParseAddress(c.AdminEmail)
		check.require(err == nil && parsed.Address == c.AdminEmail, "admin_email", "must be an e-mail address")
	}
	if length := len([]rune(c.AdminPassword.Reveal())); length > 0 {
		check.require(length >= passwordMin && length <= passwordMax, "admin_password", "must have %d to %d characters", passwordMin, passwordMax)
	}
	if c.IsProduction() {
		check.checkProduction(c)
	}
	return errors.Join(check.problems...)
}

// checker collects broken rules.
type checker struct{ problems []error }

func (k *checker) require(holds bool, name, format string, args ...any) {
	if !holds {
		k.problems = append(k.problems, fmt.Errorf("%s%s %s", envPrefix, strings.ToUpper(name), fmt.Sprintf(format, args...)))
	}
}

// checkURL checks the scheme of an address; its text may hold a password and is not quoted.
func (k *checker) checkURL(name, text string, schemes ...string) {
	if text == "" {
		return
	}
	parsed, err := url.Parse(text)
	k.require(err == nil && slices.Contains(schemes, parsed.Scheme), name, "must be a URL that begins with %s://", strings.Join(schemes, ":// or "))
}

func (k *checker) checkPublicURL(c Config) {
	if c.PublicURL == "" {
		k.require(!c.IsProduction(), "public_url", "is required in production")
		return
	}
	parsed, err := url.Parse(c.PublicURL)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		k.require(false, "public_url", "must be like https://hub.example.com")
		return
	}
	k.require(parsed.User == nil && parsed.RawQuery == "" && parsed.Fragment == "", "public_url", "must not have a user, a query or a fragment")
	k.require(!c.IsProduction() || parsed.Scheme == "https" || isLoopback(parsed.Hostname()), "public_url", "must be https in production (http only on loopback)")
}

// cloudAPIVersion is a version of the WhatsApp Cloud API, such as v23.0.
var cloudAPIVersion = regexp.MustCompile(`^v[0-9]{1,3}\.[0-9]{1,2}$`)

func (k *checker) checkCloudAPI(c Config) {
	parsed, err := url.Parse(c.CloudAPIURL)
	isURL := err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.User == nil && parsed.RawQuery == "" && parsed.Fragment == ""
	k.require(isURL, "cloud_api_url", "must be a URL that begins with https:// or http://, without a password or a query")
	k.require(!isURL || !c.IsProduction() || parsed.Scheme == "https", "cloud_api_url", "must begin with https:// in production: requests have access tokens")
	k.require(cloudAPIVersion.MatchString(c.CloudAPIVersion), "cloud_api_version", "must be like v23.0")
}

func (k *checker) checkPayments(c Config) {
	k.require(slices.Contains([]string{"", PaymentSandbox, PaymentMercadoPago, PaymentNone}, c.PaymentProvider), "payment_provider", "must be sandbox, mercadopago or none")
	if c.PaymentProvider == PaymentMercadoPago {
		k.require(c.PaymentToken != "", "payment_token", "is required for mercadopago")
		k.require(c.PaymentSecret != "", "payment_secret", "is required for mercadopago")
	}
}

// pathPattern is the form of a product's path: one or more segments.
var pathPattern = regexp.MustCompile(`^(/[a-z0-9][a-z0-9_-]*)+$`)

// reservedPaths are the first segments of the hub's own paths.
var reservedPaths = []string{"api", "book", "docs", "files", "health", "metrics", "openapi", "ready"}

func (k *checker) checkProducts(c Config) {
	used := make(map[string]string)
	for _, product := range slices.Sorted(maps.Keys(c.ProductPaths)) {
		path := c.ProductPaths[product]
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		k.require(pathPattern.MatchString(path) && !slices.Contains(reservedPaths, first), "product_paths", "must be like scheduling=/agenda, and not a path of the hub's own (%s)", product)
		k.require(used[path] == "", "product_paths", "gives %s and %s the same path", used[path], product)
		used[path] = product
	}
	for name, rate := range c.ProductLimits {
		k.require(limitPattern.MatchString(name) && ratePattern.MatchString(rate), "product_limits", "must be like scheduling.public-reads=600-M, or =0 for no limit (%s)", name)
	}
	for product, address := range c.ProductListeners {
		_, port, err := net.SplitHostPort(address)
		k.require(err == nil && port != "", "product_listeners", "must be product=host:port (%s)", product)
	}
	for product, address := range c.ProductURLs {
		parsed, err := url.Parse(address)
		sound := err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.User == nil && parsed.RawQuery == "" && parsed.Fragment == ""
		k.require(sound, "product_urls", "must be like clinic=https://clinic.example.com (%s)", product)
		k.require(c.ProductListeners[product] != "", "product_urls", "are for products with a listener of their own (%s)", product)
		k.require(!sound || !c.IsProduction() || parsed.Scheme == "https" || isLoopback(parsed.Hostname()), "product_urls", "must be https in production, http only on loopback (%s)", product)
	}
}

// checkProxy refuses a proxy URL without a host, or with more than credentials, host and port.
func (k *checker) checkProxy(c Config) {
	parsed := c.EgressProxyURL()
	if parsed == nil {
		return
	}
	k.require(parsed.Hostname() != "", "egress_proxy", "must have a host")
	isBare := (parsed.Path == "" || parsed.Path == "/") && parsed.RawQuery == "" && parsed.Fragment == ""
	k.require(isBare, "egress_proxy", "must have no path, query or fragment")
}

// EgressProxyURL returns the URL of the egress proxy; nil if there is none.
func (c Config) EgressProxyURL() *url.URL {
	if c.EgressProxy == "" {
		return nil
	}
	parsed, err := url.Parse(c.EgressProxy.Reveal())
	if err != nil {
		return nil // refused by Validate
	}
	return parsed
}

// checkProduction refuses settings that are only safe in development.
func (k *checker) checkProduction(c Config) {
	k.require(c.MasterKey != "", "master_key", "is required in production; openssl rand -base64 32 makes one")
	key, err := c.MasterKeyBytes()
	k.require(err != nil || key == nil || !isWeakKey(key), "master_key", "is not random; openssl rand -base64 32 makes one")
	k.require(c.MasterKey.Reveal() != exampleOf("master_key"), "master_key", "is the one of the documentation; openssl rand -base64 32 makes one")
	k.require(c.AdminPassword.Reveal() == "" || c.AdminPassword.Reveal() != exampleOf("admin_password"), "admin_password", "is the one of the documentation")
	k.require(c.MetricsToken == "" || len(c.MetricsToken) >= 16 && c.MetricsToken.Reveal() != exampleOf("metrics_token"), "metrics_token", "must have at least 16 characters and not be the one of the documentation")
	k.require(c.PaymentProvider != PaymentSandbox, "payment_provider", "must not be sandbox in production: anybody could pay without money")
	k.require(c.SMTPURL == "" || !strings.HasSuffix(c.MailSender().Address, "@localhost"), "mail_from", "must be an address of yours in production")
	k.require(c.AccessTTL <= 24*time.Hour, "access_ttl", "must not be more than 24h in production")
	k.require(c.KeyRate != "0", "key_rate", "must set a limit in production; single keys can be made without one")
	for _, prefix := range c.EgressAllow {
		k.require(prefix.Bits() > 0, "egress_allow", "must not open every address in production (%s)", prefix)
		k.require(!prefix.Addr().IsLoopback(), "egress_allow", "must not open loopback in production (%s)", prefix)
	}
	for _, prefix := range c.TrustedProxies {
		k.require(prefix.Bits() > 0, "trusted_proxies", "must not trust every address in production (%s)", prefix)
	}
}

// Warnings returns warnings about settings that are allowed but risky.
func (c Config) Warnings() []string {
	var list []string
	if c.IsProduction() && c.DatabaseURL == "" {
		list = append(list, "HUB_DATABASE_URL is empty: the embedded database serves this one machine only; back up HUB_DATA_DIR")
	}
	if c.IsProduction() && c.RedisURL == "" {
		list = append(list, "HUB_REDIS_URL is empty: retries and limits live in this process; set it before running a second one")
	}
	if c.IsProduction() && c.SMTPURL == "" {
		list = append(list, "HUB_SMTP_URL is empty: mail waits a day for a server and is then given up")
	}
	if parsed, err := url.Parse(c.DatabaseURL.Reveal()); c.IsProduction() && err == nil &&
		parsed.Query().Get("sslmode") == "disable" && parsed.Hostname() != "" && !isLoopback(parsed.Hostname()) {
		list = append(list, "HUB_DATABASE_URL disables TLS to another machine: what is sent there can be read on the way")
	}
	return list
}

// isWeakKey reports whether a key has too few different bytes to be random.
func isWeakKey(key []byte) bool {
	seen := make(map[byte]bool)
	for _, b := range key {
		seen[b] = true
	}
	return len(seen) < 12
}

func exampleOf(name string) string {
	for _, setting := range Settings() {
		if setting.Name == name {
			return setting.Example
		}
	}
	return ""
}

// isLoopback reports whether a host is localhost or a loopback address, without DNS.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
