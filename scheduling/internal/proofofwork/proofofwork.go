// Package proofofwork requires a small computation per booking: negligible for one and
// expensive for thousands. Its format is ALTCHA's, so their widget works too. It is
// pure: the caller provides keys, time and random bytes, and accepts each answer once.
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

// MaxNumber is the largest number a challenge can hide. Half of it is tried on
// average, about a second of a browser's time.
const MaxNumber = 50_000

// algorithm is the only supported algorithm.
const algorithm = "SHA-256"

// Challenge asks for the number, at most MaxNumber, that appended to the salt has the
// hash Challenge.
type Challenge struct {
	Algorithm string `json:"algorithm" enum:"SHA-256" doc:"Hash function that the number is searched with"`
	Challenge string `json:"challenge" doc:"Hash of the salt with a number behind it, in hex"`
	MaxNumber int    `json:"maxnumber" doc:"The number is at most this"`
	Salt      string `json:"salt" doc:"It says when the challenge expires"`
	Signature string `json:"signature" doc:"Proves that the challenge was issued here"`
}

// New returns a challenge that can be solved until expires. random is at least 16 random
// bytes; number is the random answer, from 0 to [MaxNumber].
func New(key, random []byte, number int, expires time.Time) Challenge {
	// The mark at the end keeps digits from moving between the salt and the number.
	salt := hex.EncodeToString(random) + "?expires=" + strconv.FormatInt(expires.Unix(), 10) + "&"
	sum := hash(salt, number)
	return Challenge{algorithm, sum, MaxNumber, salt, sign(key, sum)}
}

// Solve computes the answer as a browser does; ok is false where there is none.
func (c Challenge) Solve() (answer string, ok bool) {
	for number := range c.MaxNumber + 1 {
		if hash(c.Salt, number) == c.Challenge {
			raw, err := json.Marshal(solution{c.Algorithm, c.Challenge, number, c.Salt, c.Signature})
			return base64.StdEncoding.EncodeToString(raw), err == nil
		}
	}
	return "", false
}

// solution is the answer, sent in base64.
type solution struct {
	Algorithm string `json:"algorithm"`
	Challenge string `json:"challenge"`
	Number    int    `json:"number"`
	Salt      string `json:"salt"`
	Signature string `json:"signature"`
}

// Solved is a valid answer. The caller must accept it only once.
type Solved struct {
	Challenge string
	Expires   time.Time
}

// Verify checks an answer to a challenge signed with the key. The error for an invalid
// or late one is [RequiredError].
func Verify(key []byte, answer string, now time.Time) (Solved, error) {
	const maxLength = 2000
	raw, err := base64.StdEncoding.DecodeString(answer)
	var answered solution
	if err != nil || len(answer) > maxLength || json.Unmarshal(raw, &answered) != nil || answered.Algorithm != algorithm || answered.Number < 0 || !strings.HasSuffix(answered.Salt, "&") {
		return Solved{}, RequiredError()
	}
	_, query, _ := strings.Cut(strings.TrimSuffix(answered.Salt, "&"), "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		return Solved{}, RequiredError()
	}
	at, err := strconv.ParseInt(params.Get("expires"), 10, 64)
	expires := time.Unix(at, 0)
	if err != nil || !hmac.Equal([]byte(sign(key, answered.Challenge)), []byte(answered.Signature)) || hash(answered.Salt, answered.Number) != answered.Challenge || !now.Before(expires) {
		return Solved{}, RequiredError()
	}
	return Solved{answered.Challenge, expires}, nil
}

// CodeRequired is the code of [RequiredError].
const CodeRequired = "proof_of_work_required"

// RequiredError is the 422 for a request without a valid, unused answer.
func RequiredError() *hub.Error {
	problem := hub.Errorf(hub.ErrInvalid, CodeRequired, "This business wants a solved challenge with every booking, hold and waiting list entry; each counts once.")
	problem.Fields = []hub.FieldError{{Location: "body.altcha", Message: "must be the answer to a new challenge"}}
	return problem
}

func hash(salt string, number int) string {
	sum := sha256.Sum256([]byte(salt + strconv.Itoa(number)))
	return hex.EncodeToString(sum[:])
}

func sign(key []byte, sum string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(sum))
	return hex.EncodeToString(mac.Sum(nil))
}
