package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"

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
	defaultHashMemory = 19 * 1024 // KiB
	hashPasses        = 2
	hashLanes         = 1
	hashSize          = 32
	hashSalt          = 16
	maxHashes         = 2 // at the same time: 38 MiB in total
	maxStrangerHashes = 1 // of these
)

// hasher computes and checks password hashes, a few at a time: a flood of logins
// waits instead of using up the memory.
type hasher struct {
	gate   turnGate
	memory uint32 // KiB for one hash
	prefix string // of every stored form (the PHC string format), cost included
	dummy  string // checked for accounts that do not exist, so that they take as long
}

// newHasher returns a hasher whose hashes take memory KiB, 0 = the default.
func newHasher(memory uint32) *hasher {
	h := &hasher{gate: turnGate{slots: maxHashes, strangerSlots: maxStrangerHashes}, memory: cmp.Or(memory, defaultHashMemory)}
	h.prefix = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, h.memory, hashPasses, hashLanes)
	h.dummy = h.encode(make([]byte, hashSalt), make([]byte, hashSize))
	return h
}

// hash returns the stored form of a password.
func (h *hasher) hash(ctx context.Context, from requester, password string) (string, error) {
	release, err := h.gate.acquire(ctx, from)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, hashSalt)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the program instead
	return h.encode(salt, h.derive(password, salt)), nil
}

// matches reports whether a password belongs to a stored form. The caller holds a
// slot.
func (h *hasher) matches(stored, password string) bool {
	salt, want, ok := h.decode(stored)
	if !ok {
		return false
	}
	return subtle.ConstantTimeCompare(h.derive(password, salt), want) == 1
}

func (h *hasher) derive(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, hashPasses, h.memory, hashLanes, hashSize)
}

func (h *hasher) encode(salt, sum []byte) string {
	encoding := base64.RawStdEncoding
	return h.prefix + encoding.EncodeToString(salt) + "$" + encoding.EncodeToString(sum)
}

func (h *hasher) decode(stored string) (salt, sum []byte, ok bool) {
	encoded, ok := strings.CutPrefix(stored, h.prefix)
	if !ok {
		return nil, nil, false
	}
	saltText, sumText, ok := strings.Cut(encoded, "$")
	if !ok {
		return nil, nil, false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(saltText)
	sum, sumErr := base64.RawStdEncoding.DecodeString(sumText)
	return salt, sum, saltErr == nil && sumErr == nil
}

// checkPassword refuses passwords that are too short or too long.
func checkPassword(password string) error {
	if length := len([]rune(password)); length < PasswordMin || length > PasswordMax {
		return hub.Invalid("body.password", fmt.Sprintf("must have %d to %d characters", PasswordMin, PasswordMax))
	}
	return nil
}

// oneTimeAlphabet has no characters that are mistaken for each other.
const oneTimeAlphabet = "23456789abcdefghijkmnpqrstuvwxyz"

// oneTimePassword returns a password of 100 random bits that can be typed.
func oneTimePassword() string {
	var b strings.Builder
	size := big.NewInt(int64(len(oneTimeAlphabet)))
	for i := range 20 {
		if i > 0 && i%5 == 0 {
			b.WriteByte('-')
		}
		index, err := rand.Int(rand.Reader, size)
		if err != nil { // cannot happen: crypto/rand ends the program instead
			panic(err)
		}
		b.WriteByte(oneTimeAlphabet[index.Int64()])
	}
	return b.String()
}
