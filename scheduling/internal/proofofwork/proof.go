// Package proofofwork asks a client's machine for some work before it may book: not worth
// mentioning for one booking, and dear for thousands of them. Its form is ALTCHA's, so
// that their widget can do the work too. It is pure: keys, time and chance come from
// whoever calls, who also sees to it that an answer counts once.
package proofofwork

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"integrationhub/hub"
)

// Most is the largest number that may be looked for: half of it is tried on average,
// about a second of a browser's time.
const Most = 50_000

// algorithm is the only one there is.
const algorithm = "SHA-256"

// Challenge is what is to be solved: the number, at most MaxNumber, that written after
// the salt has the hash Challenge.
type Challenge struct {
	Algorithm string `json:"algorithm" enum:"SHA-256"`
	Challenge string `json:"challenge" doc:"Hash of the salt with a number behind it, in hex"`
	MaxNumber int    `json:"maxnumber" doc:"The number is at most this"`
	Salt      string `json:"salt" doc:"It says when the challenge expires"`
	Signature string `json:"signature"`
}

// New makes a challenge that can be solved until expires. random are at least 16 bytes
// of chance; number is the answer, by chance too, from 0 to [Most].
func New(key, random []byte, number int, expires time.Time) Challenge {
	// The mark at the end keeps digits from moving between the salt and the number.
	salt := hex.EncodeToString(random) + "?expires=" + strconv.FormatInt(expires.Unix(), 10) + "&"
	sum := hashed(salt, number)
	return Challenge{algorithm, sum, Most, salt, signed(key, sum)}
}

// Solve does the work, as a browser does; ok is false where there is no answer.
func (c Challenge) Solve() (answer string, ok bool) {
	for number := range c.MaxNumber + 1 {
		if hashed(c.Salt, number) == c.Challenge {
			raw, err := json.Marshal(solution{c.Algorithm, c.Challenge, number, c.Salt, c.Signature})
			return base64.StdEncoding.EncodeToString(raw), err == nil
		}
	}
	return "", false
}

// solution is an answer, in base64.
type solution struct {
	Algorithm string `json:"algorithm"`
	Challenge string `json:"challenge"`
	Number    int    `json:"number"`
	Salt      string `json:"salt"`
	Signature string `json:"signature"`
}

// Solved is an answer that holds. Whoever takes it has to see that it is taken once.
type Solved struct {
	Challenge string
	Expires   time.Time
}

// Check reads an answer to a challenge of this key. One that does not hold, or comes too
// late, is a [Wanting].
func Check(key []byte, answer string, now time.Time) (Solved, error) {
	const longest = 2000
	raw, err := base64.StdEncoding.DecodeString(answer)
	var s solution
	if err != nil || len(answer) > longest || json.Unmarshal(raw, &s) != nil || s.Algorithm != algorithm || s.Number < 0 || !strings.HasSuffix(s.Salt, "&") {
		return Solved{}, Wanting()
	}
	_, query, _ := strings.Cut(strings.TrimSuffix(s.Salt, "&"), "?")
	told, err := url.ParseQuery(query)
	if err != nil {
		return Solved{}, Wanting()
	}
	at, err := strconv.ParseInt(told.Get("expires"), 10, 64)
	expires := time.Unix(at, 0)
	if err != nil || !hmac.Equal([]byte(signed(key, s.Challenge)), []byte(s.Signature)) || hashed(s.Salt, s.Number) != s.Challenge || !now.Before(expires) {
		return Solved{}, Wanting()
	}
	return Solved{s.Challenge, expires}, nil
}

// CodeWanting is the code of [Wanting].
const CodeWanting = "proof_of_work_required"

// Wanting is the 422 for a request without an answer that holds and was not used before.
func Wanting() *hub.Error {
	e := hub.Errorf(hub.ErrInvalid, CodeWanting, "This business wants a solved challenge with every booking; each counts once.")
	e.Fields = []hub.FieldError{{Location: "body.altcha", Message: "must be the answer to a new challenge"}}
	return e
}

func hashed(salt string, number int) string {
	sum := sha256.Sum256([]byte(salt + strconv.Itoa(number)))
	return hex.EncodeToString(sum[:])
}

func signed(key []byte, sum string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(sum))
	return hex.EncodeToString(mac.Sum(nil))
}
