package api_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// "signature debugger: … see which step fails …; secrets never stored".
func TestSignatureCheck(t *testing.T) {
	t.Parallel()
	b := setup(t).tenants()
	made := b.endpoint(b.admin, `{"tenant_id":"`+b.tenant[0].String()+`","url":"https://example.com/hook","event_types":["*"]}`)
	path, first := "/endpoints/"+made["id"].(string)+"/check-signature", made["secret"].(string)
	second := b.ok(200, "POST", "/endpoints/"+made["id"].(string)+"/rotate-secret", b.admin, `{}`)["secret"].(string)
	before := b.lastAction()
	sent := time.Now().Truncate(time.Second)
	check := func(credential, secret, signer, body string, received time.Time) (valid bool, findings []string) {
		const signed = `{"note":1}`
		text, err := json.Marshal(map[string]any{
			"signature": hub.SignBody(signer, []byte(signed)), "webhook_id": "evt_0123456789abcdef", "webhook_timestamp": strconv.FormatInt(sent.Unix(), 10),
			"webhook_signature": hub.SignStandard(signer, "evt_0123456789abcdef", sent.Unix(), []byte(signed)), "body": body, "received_at": received, "secret": secret,
		})
		require.NoError(t, err)
		got := b.call("POST", path, credential, string(text))
		require.Equal(t, 200, got.status, got.text)
		require.NotContains(t, got.text, "whsec_")
		for _, step := range got.body["steps"].([]any) {
			findings = append(findings, step.(map[string]any)["finding"].(string))
		}
		return got.body["valid"].(bool), findings
	}
	for _, tc := range []struct {
		name, receiver, signer, body string
		received                     time.Time
		valid                        bool
		findings                     []string
	}{
		{"valid", second, second, `{"note":1}`, sent, true, []string{"signatures_found", "same_body", "current_secret", "in_time"}},
		{"previous, in the overlap", "", first, `{"note":1}`, sent, true, []string{"signatures_found", "same_body", "previous_secret", "in_time"}},
		{"old secret", first, second, `{"note":1}`, sent, false, []string{"signatures_found", "same_body", "old_secret", "in_time"}},
		{"wrong secret", "a secret that is of nobody here", second, `{"note":1}`, sent, false, []string{"signatures_found", "same_body", "wrong_secret", "in_time"}},
		{"encoded again", second, second, `{ "note": 1 }`, sent, false, []string{"signatures_found", "reencoded_body", "current_secret", "in_time"}},
		{"clock", second, second, `{"note":1}`, sent.Add(time.Hour), false, []string{"signatures_found", "same_body", "current_secret", "too_far_apart"}},
	} {
		for _, credential := range []string{b.admin, b.support, b.live[0]} {
			valid, findings := check(credential, tc.receiver, tc.signer, tc.body, tc.received)
			require.Equal(t, tc.valid, valid, tc.name)
			require.Equal(t, tc.findings, findings, tc.name)
		}
	}
	require.Equal(t, before, b.lastAction(), "checks are not recorded")
	require.NotContains(t, b.log.String(), "whsec_")
	b.refused(404, "not_found", "POST", path, b.live[1], `{"body":"{}"}`)
	require.Equal(t, false, b.ok(200, "POST", path, b.admin, `{"body":"{}"}`)["valid"])
}
