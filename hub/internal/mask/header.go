package mask

import "strings"

// hidden replaces what is left out.
const hidden = "…"

// signatureShown is how much of a signature is shown, in characters.
const signatureShown = 15

// Header returns the value of a header as it may be logged and shown: the last four
// characters of keys, the scheme of credentials, the beginning of signatures, nothing of
// cookies and other headers named after a secret, and all of other headers.
func Header(name, value string) string {
	if value == "" {
		return ""
	}
	name = strings.ToLower(name)
	switch {
	case strings.HasSuffix(name, "-key"): // X-Integration-Key, X-Api-Key; also Idempotency-Key
		return lastFour(value)
	case name == "authorization" || name == "proxy-authorization":
		if scheme, _, ok := strings.Cut(value, " "); ok && len(scheme) <= len("AWS4-HMAC-SHA256") {
			return scheme + " " + hidden
		}
		return hidden
	case strings.HasSuffix(name, "signature"): // X-Webhook-Signature, webhook-signature
		return signatures(value)
	case name == "cookie" || name == "set-cookie":
		return hidden
	}
	for _, word := range []string{"secret", "token", "password", "apikey", "api-key", "credential"} {
		if strings.Contains(name, word) {
			return hidden
		}
	}
	return value
}

// lastFour shows the end of a key that is long enough to stay secret.
func lastFour(key string) string {
	if len(key) < 16 {
		return hidden
	}
	return hidden + key[len(key)-4:]
}

// signatures shows the beginning of each of the signatures in a header.
func signatures(value string) string {
	parts := strings.Split(value, " ")
	for i, part := range parts {
		if len(part) > signatureShown {
			part = part[:signatureShown]
		} else {
			part = part[:len(part)/2]
		}
		parts[i] = strings.ToValidUTF8(part, "") + hidden
	}
	return strings.Join(parts, " ")
}
