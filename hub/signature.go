package hub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
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

// NewSecret makes a webhook secret: "whsec_" and 32 random bytes in base64.
func NewSecret() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return secretPrefix + base64.StdEncoding.EncodeToString(raw[:])
}

// SignBody gives "sha256=" and the lowercase hex HMAC-SHA256 of body, keyed with
// the secret string as it stands, "whsec_" included (interface document 3).
func SignBody(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	var sum [sha256.Size]byte
	var out [len("sha256=") + 2*sha256.Size]byte
	copy(out[:], "sha256=")
	hex.Encode(out[len("sha256="):], mac.Sum(sum[:0]))
	return string(out[:])
}

// VerifyBody tells, in constant time, whether signature is SignBody's value for
// body under any of the secrets.
func VerifyBody(signature string, body []byte, secrets ...string) bool {
	ok := false
	for _, secret := range secrets {
		if hmac.Equal([]byte(signature), []byte(SignBody(secret, body))) {
			ok = true
		}
	}
	return ok
}

// SignStandard gives "v1," and the base64 HMAC-SHA256 of "id.timestamp.body" as
// Standard Webhooks 1.0 has it; the key is the base64 after "whsec_", or the
// secret's own bytes where it is not base64.
func SignStandard(secret, id string, timestamp int64, body []byte) string {
	mac := hmac.New(sha256.New, standardKey(secret))
	head := make([]byte, 0, len(id)+22)
	head = append(head, id...)
	head = append(head, '.')
	head = strconv.AppendInt(head, timestamp, 10)
	head = append(head, '.')
	mac.Write(head)
	mac.Write(body)
	var sum [sha256.Size]byte
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(sum[:0]))
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
// timestamp (unix seconds) is within [StandardTolerance] of now.
func VerifyStandard(signatures, id, timestamp string, body []byte, now time.Time, secrets ...string) bool {
	at, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > StandardTolerance {
		return false
	}
	ok := false
	for _, secret := range secrets {
		want := []byte(SignStandard(secret, id, at, body))
		for one := range strings.SplitSeq(signatures, " ") {
			if hmac.Equal([]byte(one), want) {
				ok = true
			}
		}
	}
	return ok
}
