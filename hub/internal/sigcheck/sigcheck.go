// Package sigcheck finds why the signature of a webhook is not valid for its receiver.
// It is pure: it neither stores nor logs what it is given.
package sigcheck

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"integrationhub/hub"
)

// Request is a webhook as its receiver got it. A header that was absent is "".
type Request struct {
	Signature    string // X-Webhook-Signature
	ID           string // webhook-id
	Timestamp    string // webhook-timestamp, in unix seconds
	StdSignature string // webhook-signature
	Body         []byte
}

// Secrets are those that may have signed a request.
type Secrets struct {
	Current  string
	Previous string // "" = none
	Receiver string // the one that the receiver verifies with; "" = not given
}

// Names of the steps, in their order.
const (
	StepHeaders = "headers"
	StepBody    = "body"
	StepSecret  = "secret"
	StepClock   = "clock"
)

// Outcomes of a step.
const (
	Passed  = "passed"
	Failed  = "failed"
	Unknown = "unknown" // an earlier step failed, or what it needs was not given
)

// Findings: what a step found.
const (
	SignaturesFound    = "signatures_found"
	NoSignature        = "no_signature"        // neither header is there
	MalformedSignature = "malformed_signature" // not as the hub writes it
	SameBody           = "same_body"           // the signature is of these bytes
	ReencodedBody      = "reencoded_body"      // the signature is of the same JSON, encoded otherwise
	OtherBody          = "other_body"          // the signature is of the stored event, not of this body
	NoMatch            = "no_match"            // neither secret signed this body
	CurrentSecret      = "current_secret"
	PreviousSecret     = "previous_secret" // signed with the previous one
	OldSecret          = "old_secret"      // one side uses the secret of before the rotation
	WrongSecret        = "wrong_secret"    // the receiver's secret is not of this endpoint
	InTime             = "in_time"
	TooFarApart        = "too_far_apart" // the receiver's clock and the timestamp
	NoTime             = "no_time"       // without webhook-timestamp, or without the receiver's time
)

// Step is one check with its outcome and finding.
type Step struct {
	Step    string `json:"step" enum:"headers,body,secret,clock" doc:"What was checked"`
	Outcome string `json:"outcome" enum:"passed,failed,unknown" doc:"unknown: an earlier step failed, or what it needs was not given"`
	Finding string `json:"finding" enum:"signatures_found,no_signature,malformed_signature,same_body,reencoded_body,other_body,no_match,current_secret,previous_secret,old_secret,wrong_secret,in_time,too_far_apart,no_time" doc:"What was found"`
}

// Check returns the steps of verifying a request. stored is the body that was sent, as far
// as it is known. receivedAt is the receiver's clock; zero = unknown.
func Check(request Request, secrets Secrets, stored []byte, receivedAt time.Time) []Step {
	steps := []Step{headers(request)}
	if steps[0].Outcome == Failed {
		return append(steps, Step{StepBody, Unknown, NoMatch}, Step{StepSecret, Unknown, NoMatch}, Step{StepClock, Unknown, NoTime})
	}
	body, signer := match(request, secrets, stored)
	return append(steps, body, secretStep(signer, secrets), clock(request, receivedAt))
}

func headers(request Request) Step {
	switch {
	case request.Signature == "" && request.StdSignature == "":
		return Step{StepHeaders, Failed, NoSignature}
	case request.StdSignature != "" && request.ID != "" && isSeconds(request.Timestamp) && strings.HasPrefix(request.StdSignature, "v1,"),
		len(request.Signature) == len(hub.FormatBodySignature([32]byte{})) && strings.HasPrefix(request.Signature, "sha256="):
		return Step{StepHeaders, Passed, SignaturesFound}
	}
	return Step{StepHeaders, Failed, MalformedSignature}
}

func isSeconds(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// match finds the body and the secret that the signatures are of. signer is "" for none.
func match(request Request, secrets Secrets, stored []byte) (step Step, signer string) {
	for _, candidate := range candidates(request.Body, stored) {
		for _, secret := range []string{secrets.Current, secrets.Previous, secrets.Receiver} {
			if secret != "" && signs(request, secret, candidate.body) {
				outcome := Failed
				if candidate.finding == SameBody {
					outcome = Passed
				}
				return Step{StepBody, outcome, candidate.finding}, secret
			}
		}
	}
	return Step{StepBody, Unknown, NoMatch}, ""
}

func signs(request Request, secret string, body []byte) bool {
	if hub.VerifyBody(request.Signature, body, secret) {
		return true
	}
	seconds, err := strconv.ParseInt(request.Timestamp, 10, 64)
	return err == nil && hub.VerifyStandard(request.StdSignature, request.ID, request.Timestamp, body, time.Unix(seconds, 0), secret)
}

type candidate struct {
	body    []byte
	finding string
}

// candidates returns the bodies that may have been signed: the given one, what usual ways of
// encoding anew are made from, and the stored one.
func candidates(body, stored []byte) []candidate {
	list := []candidate{{body, SameBody}}
	add := func(variant []byte, finding string) { list = append(list, candidate{variant, finding}) }
	add(bytes.TrimSpace(body), ReencodedBody)
	add(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), ReencodedBody)
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil {
		add(compact.Bytes(), ReencodedBody)
		add(unescape(compact.Bytes()), ReencodedBody)
	}
	if len(stored) == 0 {
		return list
	}
	finding := OtherBody
	if sameJSON(body, stored) {
		finding = ReencodedBody
	}
	add(stored, finding)
	return list
}

// unescape writes characters that an encoder escaped, such as \u00e7 and \/, as themselves.
func unescape(text []byte) []byte {
	var out bytes.Buffer
	for len(text) > 0 {
		quote := bytes.IndexByte(text, '"')
		if quote < 0 {
			break
		}
		out.Write(text[:quote])
		end := quote + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(text))
		out.Write(encoded(text[quote:end]))
		text = text[end:]
	}
	out.Write(text)
	return out.Bytes()
}

// encoded encodes a JSON string again, with as few escapes as possible.
func encoded(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return quoted
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// sameJSON reports whether two texts are the same JSON value, however it is written.
func sameJSON(a, b []byte) bool {
	var first, second any
	if json.Unmarshal(a, &first) != nil || json.Unmarshal(b, &second) != nil {
		return false
	}
	firstJSON, err := json.Marshal(first)
	if err != nil {
		return false
	}
	secondJSON, err := json.Marshal(second)
	return err == nil && bytes.Equal(firstJSON, secondJSON)
}

// secretStep compares the secret that signed with the one that the receiver verifies with.
func secretStep(signer string, secrets Secrets) Step {
	receiver := secrets.Receiver
	switch {
	case receiver != "" && !equal(receiver, secrets.Current) && !equal(receiver, secrets.Previous):
		return Step{StepSecret, Failed, WrongSecret}
	case signer == "":
		return Step{StepSecret, Unknown, NoMatch}
	case receiver != "" && !equal(receiver, signer):
		return Step{StepSecret, Failed, OldSecret}
	case equal(signer, secrets.Current):
		return Step{StepSecret, Passed, CurrentSecret}
	}
	return Step{StepSecret, Passed, PreviousSecret}
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// clock compares the timestamp with the receiver's time.
func clock(request Request, receivedAt time.Time) Step {
	seconds, err := strconv.ParseInt(request.Timestamp, 10, 64)
	switch {
	case err != nil || receivedAt.IsZero():
		return Step{StepClock, Unknown, NoTime}
	case receivedAt.Sub(time.Unix(seconds, 0)).Abs() > hub.StandardTolerance:
		return Step{StepClock, Failed, TooFarApart}
	}
	return Step{StepClock, Passed, InTime}
}
