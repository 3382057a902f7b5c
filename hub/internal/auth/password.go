package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"integrationhub/hub"
)

// Bounds of a password, in characters.
const (
	PasswordMin = 10
	PasswordMax = 200
)

// Cost of one argon2id hash (OWASP's second choice): 19 MiB, two passes, one lane.
const (
	hashMemory   = 19 * 1024 // KiB
	hashPasses   = 2
	hashLanes    = 1
	hashSize     = 32
	hashSalt     = 16
	hashesAtOnce = 2               // hashes at once: together 38 MiB, whatever comes in
	hashWait     = 5 * time.Second // for a free place, then 503
)

// hasher makes and checks password hashes, only a few at a time: a flood of logins
// waits instead of eating the memory.
type hasher struct {
	places chan struct{}
	dummy  string // stands for accounts that do not exist, so that they take as long
}

func newHasher() *hasher {
	h := &hasher{places: make(chan struct{}, hashesAtOnce)}
	h.dummy = encodeHash(make([]byte, hashSalt), make([]byte, hashSize))
	return h
}

// enter waits for a place; leave gives it back.
func (h *hasher) enter(ctx context.Context) (leave func(), err error) {
	patience := time.NewTimer(hashWait)
	defer patience.Stop()
	select {
	case h.places <- struct{}{}:
		return func() { <-h.places }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a login before this one: %w", ctx.Err())
	case <-patience.C:
		busy := hub.Errorf(hub.ErrUnavailable, "busy", "Too many logins at once; try again in a moment.")
		busy.RetryAfter = hashWait
		return nil, busy
	}
}

// hash makes the stored form of a password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	salt := make([]byte, hashSalt)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the program instead
	return encodeHash(salt, derive(password, salt)), nil
}

// matches tells whether a password is the one behind a stored form. The caller
// holds a place.
func (h *hasher) matches(stored, password string) bool {
	salt, want, ok := decodeHash(stored)
	if !ok {
		return false
	}
	return subtle.ConstantTimeCompare(derive(password, salt), want) == 1
}

func derive(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, hashLanes, hashSize)
}

// hashHead begins every stored form (the PHC string format), cost included.
var hashHead = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, hashMemory, hashPasses, hashLanes)

func encodeHash(salt, sum []byte) string {
	encoding := base64.RawStdEncoding
	return hashHead + encoding.EncodeToString(salt) + "$" + encoding.EncodeToString(sum)
}

func decodeHash(stored string) (salt, sum []byte, ok bool) {
	rest, ok := strings.CutPrefix(stored, hashHead)
	if !ok {
		return nil, nil, false
	}
	first, second, ok := strings.Cut(rest, "$")
	if !ok {
		return nil, nil, false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(first)
	sum, sumErr := base64.RawStdEncoding.DecodeString(second)
	return salt, sum, saltErr == nil && sumErr == nil
}

// checkPassword tells whether a password may be used.
func checkPassword(password string) error {
	if length := len([]rune(password)); length < PasswordMin || length > PasswordMax {
		return hub.Invalid("body.password", fmt.Sprintf("must have %d to %d characters", PasswordMin, PasswordMax))
	}
	return nil
}

// oneTimeAlphabet has no characters that are mistaken for each other.
const oneTimeAlphabet = "23456789abcdefghijkmnpqrstuvwxyz"

// oneTimePassword makes a password of 100 random bits that can be typed.
func oneTimePassword() string {
	var b strings.Builder
	size := big.NewInt(int64(len(oneTimeAlphabet)))
	for i := range 20 {
		if i > 0 && i%5 == 0 {
			b.WriteByte('-')
		}
		at, err := rand.Int(rand.Reader, size)
		if err != nil { // cannot happen: crypto/rand ends the program instead
			panic(err)
		}
		b.WriteByte(oneTimeAlphabet[at.Int64()])
	}
	return b.String()
}
