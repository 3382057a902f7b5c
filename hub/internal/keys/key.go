// Package keys creates, checks and manages API keys. A key is
//
//	<product prefix>_<live|test>_ + 30 random base62 characters + 6 of checksum
//
// so that a typing mistake is refused without a query and a leaked key is
// recognised by scanners. Only its SHA-256 is stored.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"

	"integrationhub/hub"
)

const (
	alphabet    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomChars = 30 // 178 bits
	sumChars    = 6  // 62^6 > 2^32
	prefixMax   = 10 // of a product
)

// New returns a new key of a product (named by its prefix, such as "sch") and
// environment. Only its hash is stored: the plain text cannot be read again.
func New(productPrefix string, environment hub.Environment) string {
	var b strings.Builder
	b.Grow(prefixMax + len("_live_") + randomChars + sumChars)
	b.WriteString(productPrefix)
	b.WriteByte('_')
	b.WriteString(string(environment))
	b.WriteByte('_')
	size := big.NewInt(int64(len(alphabet)))
	for range randomChars {
		index, err := rand.Int(rand.Reader, size)
		if err != nil { // cannot happen: crypto/rand ends the program instead
			panic(err)
		}
		b.WriteByte(alphabet[index.Int64()])
	}
	body := b.String()
	return body + checksum(body)
}

// Check returns [InvalidKeyError] unless plain has the form and the checksum of a key. It
// makes no query.
func Check(plain string) error {
	if _, ok := parse(plain); !ok {
		return InvalidKeyError()
	}
	return nil
}

// Environment returns the environment that a key names, "" if it is not a key.
func Environment(plain string) hub.Environment {
	environment, _ := parse(plain)
	return environment
}

// Hash returns the SHA-256 of a key, under which it is stored and looked up.
func Hash(plain string) [sha256.Size]byte { return sha256.Sum256([]byte(plain)) }

// Last4 returns the last four characters of a key, which are shown to people.
func Last4(plain string) string { return plain[max(0, len(plain)-4):] }

// InvalidKeyError returns the error for every key that is missing, malformed, unknown, revoked or
// expired. It is always the same, so that it reveals nothing.
func InvalidKeyError() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_key", "A valid API key is needed in the header %s.", hub.HeaderKey)
}

// parse checks the form and the checksum of a key and returns its environment.
func parse(plain string) (hub.Environment, bool) {
	prefix, rest, found := strings.Cut(plain, "_")
	if !found || prefix == "" || len(prefix) > prefixMax || !isPrefix(prefix) {
		return "", false
	}
	name, rest, found := strings.Cut(rest, "_")
	environment := hub.Environment(name)
	if !found || !environment.Valid() || len(rest) != randomChars+sumChars {
		return "", false
	}
	for i := range len(rest) {
		if !isBase62(rest[i]) {
			return "", false
		}
	}
	body := plain[:len(plain)-sumChars]
	return environment, checksum(body) == plain[len(body):]
}

// isPrefix reports whether a product's prefix has its form: a letter, then letters and
// digits, all lower case.
func isPrefix(prefix string) bool {
	for i := range len(prefix) {
		letter, digit := 'a' <= prefix[i] && prefix[i] <= 'z', '0' <= prefix[i] && prefix[i] <= '9'
		if !letter && (i == 0 || !digit) {
			return false
		}
	}
	return true
}

func isBase62(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// checksum is the CRC-32 (IEEE) of the text as six base62 digits.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	var out [sumChars]byte
	for i := sumChars - 1; i >= 0; i-- {
		out[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(out[:])
}
