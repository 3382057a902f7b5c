package server_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// verdict is what each official library says about a delivery: "ok", or its error.
type verdict struct{ Standardwebhooks, Svix string }

// verifyWithLibraries lets official libraries verify an arrival with each of the secrets.
func verifyWithLibraries(t *testing.T, got arrival, secrets ...string) []verdict {
	t.Helper()
	type check struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	var checks []check
	for _, secret := range secrets {
		headers := make(map[string]string)
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			headers[name] = got.header.Get(name)
		}
		checks = append(checks, check{secret, headers, string(got.body)})
	}
	input, err := json.Marshal(checks)
	require.NoError(t, err)
	root := hubtest.ModuleRoot()
	var notes bytes.Buffer
	ensure := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "configs", "setup", "ensure-node.sh"), "hub/server/receivers")
	ensure.Stderr = &notes
	modules, err := ensure.Output()
	require.NoError(t, err, "this test needs npm packages: %s", notes.String())
	run := exec.CommandContext(t.Context(), "node", filepath.Join(root, "hub", "server", "receivers", "verify.mjs"))
	run.Env = append(os.Environ(), "RECEIVERS_MODULES="+strings.TrimSpace(string(modules)))
	run.Stdin, run.Stderr = bytes.NewReader(input), &notes
	out, err := run.Output()
	require.NoError(t, err, notes.String())
	var verdicts []verdict
	require.NoError(t, json.Unmarshal(out, &verdicts))
	return verdicts
}

// nodeReceiver starts receivers/receiver.mjs and returns its address.
func nodeReceiver(t *testing.T, secret string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), "node", filepath.Join(hubtest.ModuleRoot(), "hub", "server", "receivers", "receiver.mjs"), secret)
	run.Stderr = os.Stderr
	out, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return "http://127.0.0.1:" + strings.TrimSpace(port) + "/"
}

// standardSecret returns whsec_ and the base64 of size bytes.
func standardSecret(size int) string {
	key := make([]byte, size)
	_, _ = rand.Read(key)
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

// "accepted are whsec_ + canonical base64 of 24 to 64 bytes …; verified in tests with the
// npm packages standardwebhooks and svix"
func TestOfficialLibrariesVerifyEveryAcceptedSecret(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	a := newPlace(t).start(t, nil).account()
	for _, size := range []int{24, 25, 26, 64, 0} { // 0: made by the hub
		h := newHook(t, nil)
		fields := ""
		if size > 0 {
			fields = `"secret":"` + standardSecret(size) + `"`
		}
		endpoint := a.endpoint(h, fields)
		old := h.secrets[0]
		rotated := a.ok(200, "POST", "/endpoints/"+endpoint+"/rotate-secret", `{"switch":"end"}`)["secret"].(string)
		h.trust(rotated)
		a.ok(202, "POST", "/endpoints/"+endpoint+"/ping", "")
		verdicts := verifyWithLibraries(t, h.wait(1)[0], old, rotated, standardSecret(32))
		require.Equal(t, []verdict{{"ok", "ok"}, {"ok", "ok"}}, verdicts[:2], "%d bytes", size)
		require.NotEqual(t, "ok", verdicts[2].Standardwebhooks)
		require.NotEqual(t, "ok", verdicts[2].Svix)
	}
}

// "Signing secrets that official libraries cannot verify are accepted (my-very-secret-string-1,
// whsec_notbase64!!, unpadded base64)"; a plain secret makes X-Webhook-Signature alone, "and
// its answer says so", which a ten-line receiver verifies.
func TestSecretsThatLibrariesCannotVerifyAreRefused(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	a := newPlace(t).start(t, nil).account()
	standard := standardSecret(25) // its base64 is padded
	endpoint := func(secret string) string {
		return `{"tenant_id":"` + a.tenant + `","url":"` + nodeReceiver(t, secret) + `","event_types":["*"],"secret":"` + secret + `"}`
	}
	plain := "my very secret string, " + strings.Repeat("~", 9)
	made := a.ok(201, "POST", "/endpoints", endpoint(plain))
	require.Equal(t, plain, made["secret"])
	require.Equal(t, false, made["standard_signature"])
	require.Contains(t, made["notices"].([]any)[0], "plain secret")
	event := a.ok(202, "POST", "/endpoints/"+made["id"].(string)+"/ping", "")["id"].(string)
	sent := a.settles(event, made["id"].(string), "delivered")
	require.EqualValues(t, 204, sent["status_code"], "the receiver verified it")
	headers := sent["attempts"].([]any)[0].(map[string]any)["request_headers"]
	require.NotContains(t, headers, "webhook-signature")
	require.Contains(t, headers, "X-Webhook-Signature")

	made = a.ok(201, "POST", "/endpoints", endpoint(standard))
	require.Equal(t, true, made["standard_signature"])
	require.Empty(t, made["notices"])
	event = a.ok(202, "POST", "/endpoints/"+made["id"].(string)+"/ping", "")["id"].(string)
	sent = a.settles(event, made["id"].(string), "delivered")
	require.Contains(t, sent["attempts"].([]any)[0].(map[string]any)["request_headers"], "webhook-signature")

	for name, secret := range map[string]string{
		"short plain": "my-very-secret-string-1", "not base64": "whsec_notbase64!!", "long, not base64": "whsec_" + strings.Repeat("!", 32),
		"unpadded": strings.TrimRight(standard, "="), "23 bytes": standardSecret(23), "65 bytes": standardSecret(65),
		"trailing bits": "whsec_" + strings.Repeat("A", 33) + "B==", "URL alphabet": "whsec_" + strings.Repeat("_-", 16),
		"line break": `whsec_` + strings.Repeat("A", 32) + `\n`, "long plain": strings.Repeat("p", 129), "no ASCII": strings.Repeat("é", 30),
		"tab": strings.Repeat("p", 30) + `\t`, "only the prefix": "whsec_",
	} {
		for _, path := range []string{"/endpoints", "/endpoints/" + made["id"].(string) + "/rotate-secret"} {
			body := `{"secret":"` + secret + `"`
			if path == "/endpoints" {
				body += `,"tenant_id":"` + a.tenant + `","url":"http://127.0.0.1:9/","event_types":["*"]`
			}
			got := a.call("POST", path, a.token, body+"}")
			require.Equal(t, 422, got.status, "%s: %s", name, got.text)
			require.Contains(t, got.text, "body.secret", name)
		}
	}
}
