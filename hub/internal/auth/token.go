package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

const (
	tokenAudience = "hub"
	tokenType     = "access"
	refreshPrefix = "hubr_" // of refresh tokens, for leak scanners
	localPrefix   = "hubl_" // of local tokens
)

// claims are the contents of an access token.
type claims struct {
	Type   string `json:"typ"`
	Family string `json:"fam"` // the login it came from
	jwt.RegisteredClaims
}

// signer signs and verifies access tokens: HS256, with one key named by its id.
type signer struct {
	key      []byte
	keyID    string
	audience string
}

func newSigner(key []byte, audience string) signer {
	sum := sha256.Sum256(key)
	return signer{key: key, keyID: hex.EncodeToString(sum[:4]), audience: audience}
}

func (s signer) sign(operator, family uuid.UUID, now time.Time, ttl time.Duration) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		Type:   tokenType,
		Family: family.String(),
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   operator.String(),
			Audience:  jwt.ClaimStrings{s.audience},
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
			ID:        uuid.NewString(),
		},
	})
	token.Header["kid"] = s.keyID
	text, err := token.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("signing an access token: %w", err)
	}
	return text, nil
}

// verify returns the operator and the login of an access token. ok is false for any
// other text, for tokens of another algorithm, key, audience or type, and for expired
// ones.
func (s signer) verify(text string, now time.Time) (operator, family uuid.UUID, ok bool) {
	var parsed claims
	token, err := jwt.ParseWithClaims(text, &parsed, func(token *jwt.Token) (any, error) {
		if token.Header["kid"] != s.keyID {
			return nil, jwt.ErrTokenUnverifiable
		}
		return s.key, nil
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithAudience(s.audience), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithStrictDecoding(), jwt.WithTimeFunc(func() time.Time { return now }),
	)
	if err != nil || !token.Valid || parsed.Type != tokenType {
		return uuid.Nil, uuid.Nil, false
	}
	operator, operatorErr := uuid.Parse(parsed.Subject)
	family, familyErr := uuid.Parse(parsed.Family)
	return operator, family, operatorErr == nil && familyErr == nil
}

// newRefreshToken returns a refresh token of 256 random bits, and the hash to store.
func newRefreshToken() (plain string, hash []byte) {
	plain = randomToken(refreshPrefix)
	return plain, hashToken(plain)
}

func hashToken(plain string) []byte {
	sum := sha256.Sum256([]byte(plain))
	return sum[:]
}

func randomToken(prefix string) string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return prefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// LocalToken is the bearer token of the command line on the same machine. Its holder
// acts as an administrator. It lives in memory and in a file that only the hub's own
// user can read, and ends with the process.
type LocalToken struct{ hash []byte }

// NewLocalToken returns a local token, and its text for that file.
func NewLocalToken() (token LocalToken, plain string) {
	plain = randomToken(localPrefix)
	return LocalToken{hash: hashToken(plain)}, plain
}

// matches reports, in constant time, whether text is the token. The zero token
// matches nothing.
func (t LocalToken) matches(text string) bool {
	return t.hash != nil && subtle.ConstantTimeCompare(t.hash, hashToken(text)) == 1
}
