package hub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Headers that carry a delivery's identity and signatures.
const (
	HeaderKey          = "X-Integration-Key"   // key of the receiving product (integrations only)
	HeaderSignature    = "X-Webhook-Signature" // see [SignBody]
	HeaderStdID        = "webhook-id"          // Standard Webhooks: the event id
	HeaderStdTimestamp = "webhook-timestamp"   // Standard Webhooks: unix seconds of the attempt
	HeaderStdSignature = "webhook-signature"   // Standard Webhooks: space-separated "v1,<base64>"
)

// HeaderHub is in every response of a hub, with [APIVersion] as its value, so that
// callers can tell it from another server at the same address.
const (
	HeaderHub  = "X-Integration-Hub"
	APIVersion = "v1"
)

// SecretPrefix begins every webhook secret of Standard Webhooks.
const SecretPrefix = "whsec_"

// Sizes of a Standard Webhooks key, in bytes.
const (
	minStandardKey = 24
	maxStandardKey = 64
)

// IsStandardSecret reports whether libraries of Standard Webhooks accept a secret:
// [SecretPrefix] and the canonical, padded base64 of 24 to 64 bytes.
func IsStandardSecret(secret string) bool {
	encoded, found := strings.CutPrefix(secret, SecretPrefix)
	if !found || strings.ContainsAny(encoded, "\r\n") { // the decoder skips line breaks
		return false
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return err == nil && len(key) >= minStandardKey && len(key) <= maxStandardKey
}

// NewWebhookSecret returns a new webhook secret: "whsec_" and 32 random bytes in base64.
func NewWebhookSecret() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return SecretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// Signer signs with one secret and reuses its keyed hashes. It is safe for concurrent
// use.
type Signer struct {
	body, standard sync.Pool // of hash.Hash
}

// NewSigner returns a signer for a webhook secret.
func NewSigner(secret string) *Signer {
	key := standardKey(secret)
	s := &Signer{}
	s.body.New = func() any { return hmac.New(sha256.New, []byte(secret)) }
	s.standard.New = func() any { return hmac.New(sha256.New, key) }
	return s
}

// BodyHMAC returns the HMAC-SHA256 of body. The key is the whole secret string,
// including "whsec_": see "Signature" in docs/interfaces/clinic.md.
// [FormatBodySignature] formats it.
func (s *Signer) BodyHMAC(body []byte) (sum [sha256.Size]byte) {
	mac := s.body.Get().(hash.Hash)
	mac.Reset()
	mac.Write(body)
	mac.Sum(sum[:0])
	s.body.Put(mac)
	return sum
}

// SignStandard returns the signature of Standard Webhooks 1.0: "v1," and the base64
// HMAC-SHA256 of "id.timestamp.body". timestamp is in unix seconds. The key is the
// decoded base64 after "whsec_", or the secret's bytes if it is not base64.
func (s *Signer) SignStandard(id string, timestamp int64, body []byte) string {
	var buffer [64]byte
	prefix := append(buffer[:0], id...)
	prefix = append(prefix, '.')
	prefix = strconv.AppendInt(prefix, timestamp, 10)
	prefix = append(prefix, '.')
	mac := s.standard.Get().(hash.Hash)
	mac.Reset()
	mac.Write(prefix)
	mac.Write(body)
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	s.standard.Put(mac)
	return standardPrefix + base64.StdEncoding.EncodeToString(sum[:])
}

// FormatBodySignature formats an HMAC for X-Webhook-Signature: "sha256=" and 64
// lowercase hex digits.
func FormatBodySignature(sum [sha256.Size]byte) string {
	var out [len(bodyPrefix) + 2*sha256.Size]byte
	copy(out[:], bodyPrefix)
	hex.Encode(out[len(bodyPrefix):], sum[:])
	return string(out[:])
}

// Prefixes of signatures.
const (
	bodyPrefix     = "sha256="
	standardPrefix = "v1,"
)

// SignBody returns the value of X-Webhook-Signature for a body.
func SignBody(secret string, body []byte) string {
	return FormatBodySignature(NewSigner(secret).BodyHMAC(body))
}

// VerifyBody reports, in constant time, whether signature is the result of [SignBody]
// for body under any of the secrets. Empty secrets are ignored.
func VerifyBody(signature string, body []byte, secrets ...string) bool {
	ok := false
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if hmac.Equal([]byte(signature), []byte(FormatBodySignature([sha256.Size]byte(mac.Sum(nil))))) {
			ok = true
		}
	}
	return ok
}

// SignStandard returns one value of webhook-signature: see [Signer.SignStandard].
func SignStandard(secret, id string, timestamp int64, body []byte) string {
	return NewSigner(secret).SignStandard(id, timestamp, body)
}

func standardKey(secret string) []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, SecretPrefix))
	if err != nil {
		return []byte(secret)
	}
	return key
}

// StandardTolerance is the maximum distance of a webhook-timestamp from now, in either
// direction.
const StandardTolerance = 5 * time.Minute

// VerifyStandard reports, in constant time, whether any of the space-separated
// signatures is the result of [SignStandard] under any of the secrets. The timestamp
// (unix seconds) has to be within [StandardTolerance] of now. Empty secrets are ignored.
func VerifyStandard(signatures, id, timestamp string, body []byte, now time.Time, secrets ...string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > StandardTolerance {
		return false
	}
	ok := false
	for _, secret := range secrets {
		want := []byte(SignStandard(secret, id, seconds, body))
		for signature := range strings.SplitSeq(signatures, " ") {
			if secret != "" && hmac.Equal([]byte(signature), want) {
				ok = true
			}
		}
	}
	return ok
}
