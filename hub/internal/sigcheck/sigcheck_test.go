package sigcheck_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/hub/internal/sigcheck"
)

// "see which step fails (re-encoded body, wrong secret, old secret, clock)".
func TestCheck(t *testing.T) {
	t.Parallel()
	sent := time.Unix(1767323045, 0)
	current, previous, other := hub.NewWebhookSecret(), hub.NewWebhookSecret(), hub.NewWebhookSecret()
	const body = `{"id":"evt_0123456789abcdef","note":"São <1>","n":1.50}`
	signed := func(secret string) sigcheck.Request {
		return sigcheck.Request{
			Signature: hub.SignBody(secret, []byte(body)), ID: "evt_0123456789abcdef", Timestamp: strconv.FormatInt(sent.Unix(), 10),
			StdSignature: hub.SignStandard(secret, "evt_0123456789abcdef", sent.Unix(), []byte(body)), Body: []byte(body),
		}
	}
	with := func(request sigcheck.Request, change func(*sigcheck.Request)) sigcheck.Request {
		change(&request)
		return request
	}
	text := func(text string) func(*sigcheck.Request) {
		return func(r *sigcheck.Request) { r.Body = []byte(text) }
	}
	both := sigcheck.Secrets{Current: current, Previous: previous}
	receiver := func(secret string) sigcheck.Secrets {
		return sigcheck.Secrets{Current: current, Previous: previous, Receiver: secret}
	}
	good := signed(current)
	for _, tc := range []struct {
		name     string
		request  sigcheck.Request
		secrets  sigcheck.Secrets
		stored   string
		received time.Time
		want     string // outcome:finding of headers, body, secret, clock
	}{
		{"all well", good, both, "", sent, "passed:signatures_found passed:same_body passed:current_secret passed:in_time"},
		{"the receiver has the current secret", good, receiver(current), "", sent, "passed:signatures_found passed:same_body passed:current_secret passed:in_time"},
		{"plain signature alone", with(good, func(r *sigcheck.Request) { r.StdSignature, r.ID, r.Timestamp = "", "", "" }), both, "", sent, "passed:signatures_found passed:same_body passed:current_secret unknown:no_time"},
		{"standard signature alone", with(good, func(r *sigcheck.Request) { r.Signature = "" }), both, "", sent, "passed:signatures_found passed:same_body passed:current_secret passed:in_time"},
		{"no signature", with(good, func(r *sigcheck.Request) { r.Signature, r.StdSignature = "", "" }), both, "", sent, "failed:no_signature unknown:no_match unknown:no_match unknown:no_time"},
		{"malformed", with(good, func(r *sigcheck.Request) { r.Signature, r.StdSignature = "sha256=1", "v1,x"; r.ID = "" }), both, "", sent, "failed:malformed_signature unknown:no_match unknown:no_match unknown:no_time"},
		{"indented", with(good, text("{\n  \"id\": \"evt_0123456789abcdef\",\n  \"note\": \"São <1>\",\n  \"n\": 1.50\n}")), both, "", sent, "passed:signatures_found failed:reencoded_body passed:current_secret passed:in_time"},
		{"line break", with(good, text(body+"\n")), both, "", sent, "passed:signatures_found failed:reencoded_body passed:current_secret passed:in_time"},
		{"escaped", with(good, text(`{"id":"evt_0123456789abcdef","note":"S\u00e3o \u003c1\u003e","n":1.50}`)), both, "", sent, "passed:signatures_found failed:reencoded_body passed:current_secret passed:in_time"},
		{"sorted, numbers shortened", with(good, text(`{"id":"evt_0123456789abcdef","n":1.5,"note":"São <1>"}`)), both, body, sent, "passed:signatures_found failed:reencoded_body passed:current_secret passed:in_time"},
		{"another body", with(good, text(`{"id":"evt_0123456789abcdef"}`)), both, body, sent, "passed:signatures_found failed:other_body passed:current_secret passed:in_time"},
		{"another body, nothing stored", with(good, text(`{}`)), both, "", sent, "passed:signatures_found unknown:no_match unknown:no_match passed:in_time"},
		{"previous secret", signed(previous), both, "", sent, "passed:signatures_found passed:same_body passed:previous_secret passed:in_time"},
		{"receiver still has the previous secret", good, receiver(previous), "", sent, "passed:signatures_found passed:same_body failed:old_secret passed:in_time"},
		{"receiver has the new one before the switch", signed(previous), receiver(current), "", sent, "passed:signatures_found passed:same_body failed:old_secret passed:in_time"},
		{"wrong secret", good, receiver(other), "", sent, "passed:signatures_found passed:same_body failed:wrong_secret passed:in_time"},
		{"signed by somebody else", signed(other), both, "", sent, "passed:signatures_found unknown:no_match unknown:no_match passed:in_time"},
		{"of another endpoint", signed(other), receiver(other), "", sent, "passed:signatures_found passed:same_body failed:wrong_secret passed:in_time"},
		{"five minutes are in time", good, both, "", sent.Add(5 * time.Minute), "passed:signatures_found passed:same_body passed:current_secret passed:in_time"},
		{"clock behind", good, both, "", sent.Add(-6 * time.Minute), "passed:signatures_found passed:same_body passed:current_secret failed:too_far_apart"},
		{"clock unknown", good, both, "", time.Time{}, "passed:signatures_found passed:same_body passed:current_secret unknown:no_time"},
	} {
		var got []string
		for _, step := range sigcheck.Check(tc.request, tc.secrets, []byte(tc.stored), tc.received) {
			got = append(got, step.Outcome+":"+step.Finding)
		}
		require.Equal(t, tc.want, strings.Join(got, " "), tc.name)
	}
}

// A body that is one string is re-encoded like the strings of an object.
func TestCheckOfString(t *testing.T) {
	t.Parallel()
	secret := hub.NewWebhookSecret()
	request := sigcheck.Request{Signature: hub.SignBody(secret, []byte(`"São"`)), Body: []byte(`"S\u00e3o"`)}
	steps := sigcheck.Check(request, sigcheck.Secrets{Current: secret}, nil, time.Time{})
	require.Equal(t, sigcheck.Step{Step: sigcheck.StepBody, Outcome: sigcheck.Failed, Finding: sigcheck.ReencodedBody}, steps[1])
}

// Whatever is pasted is answered, without a panic.
func FuzzCheck(f *testing.F) {
	f.Add("sha256=00", "v1,", "id", "1", `{"a":"\u00e7\`, `{}`)
	f.Fuzz(func(t *testing.T, signature, standard, id, timestamp, body, stored string) {
		request := sigcheck.Request{Signature: signature, ID: id, Timestamp: timestamp, StdSignature: standard, Body: []byte(body)}
		require.Len(t, sigcheck.Check(request, sigcheck.Secrets{Current: "current"}, []byte(stored), time.Unix(1, 0)), 4)
	})
}
