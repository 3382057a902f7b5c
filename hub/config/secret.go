package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// Secret is a setting that is redacted whenever it is printed, formatted, logged or
// marshalled. For a URL, only the password is redacted.
type Secret string

const redacted = "[redacted]"

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String returns the redacted value: "" for an empty secret, a URL with its password
// redacted, or "[redacted]".
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	parsed, err := url.Parse(string(s))
	if err != nil || parsed.Scheme == "" || parsed.Host == "" {
		return redacted
	}
	query := parsed.Query()
	for name := range query { // drivers take passwords as parameters too
		if strings.Contains(strings.ToLower(name), "pass") {
			query.Set(name, "xxxxx")
		}
	}
	parsed.RawQuery = query.Encode()
	return parsed.Redacted()
}

// GoString implements fmt.GoStringer for %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText implements encoding.TextMarshaler, for JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// hasPassword reports whether the secret is a URL that carries a password.
func (s Secret) hasPassword() bool {
	parsed, err := url.Parse(string(s))
	if err != nil {
		return true // unknown: assume that it does
	}
	if _, has := parsed.User.Password(); has {
		return true
	}
	for name := range parsed.Query() {
		if strings.Contains(strings.ToLower(name), "pass") {
			return true
		}
	}
	return false
}

// masterKeySize is the length of the master key in bytes.
const masterKeySize = 32

// MasterKeyBytes returns the 32 bytes of MasterKey, or nil if it is not set.
func (c Config) MasterKeyBytes() ([]byte, error) {
	text := strings.TrimSpace(c.MasterKey.Reveal())
	if text == "" {
		return nil, nil
	}
	if len(text) == hex.EncodedLen(masterKeySize) {
		if raw, err := hex.DecodeString(text); err == nil {
			return raw, nil
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if raw, err := encoding.DecodeString(text); err == nil && len(raw) == masterKeySize {
			return raw, nil
		}
	}
	return nil, errors.New("must be 32 bytes in base64 or hex; openssl rand -base64 32 makes one")
}
