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
	HeaderSignature    = "X-Webhook-Signature" // SignBody's form
	HeaderStdID        = "webhook-id"          // Standard Webhooks: the event id
	HeaderStdTimestamp = "webhook-timestamp"   // Standard Webhooks: unix seconds of the attempt
	HeaderStdSignature = "webhook-signature"   // Standard Webhooks: space-separated "v1,<base64>"
)

// secretPrefix begins every webhook secret the hub makes.
const secretPrefix = "whsec_"

// NewWebhookSecret makes a webhook secret: "whsec_" and 32 random bytes in base64.
func NewWebhookSecret() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return secretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// Signer signs with one secret, again and again: it keeps the keyed hashes. It is
// safe for concurrent use.
type Signer struct {
	body, standard sync.Pool // of hash.Hash
}

// NewSigner makes a signer for a webhook secret.
func NewSigner(secret string) *Signer {
	key := standardKey(secret)
	s := &Signer{}
	s.body.New = func() any { return hmac.New(sha256.New, []byte(secret)) }
	s.standard.New = func() any { return hmac.New(sha256.New, key) }
	return s
}

// BodyHMAC gives the HMAC-SHA256 of body, keyed with the secret string as it stands,
// "whsec_" included (interface document 3). [FormatBodySignature] writes it.
func (s *Signer) BodyHMAC(body []byte) (sum [sha256.Size]byte) {
	mac := s.body.Get().(hash.Hash)
	mac.Reset()
	mac.Write(body)
	mac.Sum(sum[:0])
	s.body.Put(mac)
	return sum
}

// SignStandard gives "v1," and the base64 HMAC-SHA256 of "id.timestamp.body" as
// Standard Webhooks 1.0 has it; the key is the base64 after "whsec_", or the
// secret's own bytes where it is not base64.
func (s *Signer) SignStandard(id string, timestamp int64, body []byte) string {
	var head [64]byte
	start := append(head[:0], id...)
	start = append(start, '.')
	start = strconv.AppendInt(start, timestamp, 10)
	start = append(start, '.')
	mac := s.standard.Get().(hash.Hash)
	mac.Reset()
	mac.Write(start)
	mac.Write(body)
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	s.standard.Put(mac)
	return standardPrefix + base64.StdEncoding.EncodeToString(sum[:])
}

// FormatBodySignature writes an HMAC as X-Webhook-Signature has it: "sha256=" and 64
// lowercase hex digits.
func FormatBodySignature(sum [sha256.Size]byte) string {
	var out [len(bodyPrefix) + 2*sha256.Size]byte
	copy(out[:], bodyPrefix)
	hex.Encode(out[len(bodyPrefix):], sum[:])
	return string(out[:])
}

// What signatures begin with.
const (
	bodyPrefix     = "sha256="
	standardPrefix = "v1,"
)

// SignBody gives the value of X-Webhook-Signature for one body.
func SignBody(secret string, body []byte) string {
	return FormatBodySignature(NewSigner(secret).BodyHMAC(body))
}

// VerifyBody tells, in constant time, whether signature is SignBody's value for
// body under any of the secrets. Empty secrets count for nothing.
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

// SignStandard gives one value of webhook-signature for one body; timestamp is in
// unix seconds.
func SignStandard(secret, id string, timestamp int64, body []byte) string {
	return NewSigner(secret).SignStandard(id, timestamp, body)
}

func standardKey(secret string) []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		return []byte(secret)
	}
	return key
}

// StandardTolerance is how far a webhook-timestamp may be from now, both ways.
const StandardTolerance = 5 * time.Minute

// VerifyStandard tells, in constant time, whether any of the space-separated
// signatures is SignStandard's value under any of the secrets, and whether the
// timestamp (unix seconds) is within [StandardTolerance] of now. Empty secrets count
// for nothing.
func VerifyStandard(signatures, id, timestamp string, body []byte, now time.Time, secrets ...string) bool {
	at, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > StandardTolerance {
		return false
	}
	ok := false
	for _, secret := range secrets {
		want := []byte(SignStandard(secret, id, at, body))
		for one := range strings.SplitSeq(signatures, " ") {
			if secret != "" && hmac.Equal([]byte(one), want) {
				ok = true
			}
		}
	}
	return ok
}
