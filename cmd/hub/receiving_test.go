package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// The example of docs/publishing.md gets the responses that the page lists.
func TestPublishingExample(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	c = c.withEnv("HUB_URL", s.url)
	printed := c.runExample("docs/publishing.md")
	require.Equal(t, []string{"}202", "}200", "}409", "}422", "}202"}, regexp.MustCompile(`(?m)}\d{3}$`).FindAllString(printed, -1), printed)
	require.Contains(t, printed, `{"id":"evt_00000000000003e9","deliveries":0}`)
	require.Contains(t, printed, "idempotency_conflict")
	require.Contains(t, printed, `"location":"body.data"`)
}

// The receivers of docs/receiving.md accept what the hub sends, and nothing else; the request
// that the page shows has the members of a real one.
func TestReceivingExamples(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	p := newTenant(t)
	receiver := newReceiver(t, 204, "")
	secret := p.run("endpoints", "create", receiver.URL, "--tenant", p.tenant, "-q").requireOK()
	p.run("endpoints", "ping", strings.Fields(p.run("endpoints", "list", "--tenant", p.tenant, "-q").requireOK())[0]).requireOK()
	require.Eventually(t, func() bool { return receiver.count() > 0 }, waitTimeout, 10*time.Millisecond)
	request, body := receiver.got[0], receiver.bodies[0]

	page := read(t, "docs/receiving.md")
	_, shown, found := strings.Cut(page, "\n\n{")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "\n")
	require.Equal(t, membersOf(t, body), membersOf(t, "{"+shown))
	for _, name := range []string{"X-Webhook-Signature", "webhook-id", "webhook-timestamp", "webhook-signature"} {
		require.NotEmpty(t, request.Header.Get(name))
		require.Contains(t, page, "\n"+name+": ")
	}

	dir := t.TempDir()
	signature := request.Header.Get("X-Webhook-Signature")
	program := map[string][]string{}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(`package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
)

func main() {
	fmt.Println(verify(os.Args[1], http.Header{"X-Webhook-Signature": {os.Args[2]}}, []byte(os.Args[3])))
}

`+codeOf(t, page, "go")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.mjs"), []byte(codeOf(t, page, "js")+`
const [secret, signature, body] = process.argv.slice(2)
console.log(verify(secret, { 'x-webhook-signature': signature }, Buffer.from(body)))
`), 0o600))
	program["Go"], program["JavaScript"] = []string{"go", "run", "main.go"}, []string{"node", "main.mjs"}
	for language, command := range program {
		for _, check := range []struct {
			secret, signature, body, verdict string
		}{
			{secret, signature, body, "true"},
			{secret + "x", signature, body, "false"},
			{secret, signature, body + " ", "false"},
			{secret, "", body, "false"},
		} {
			run := exec.CommandContext(t.Context(), command[0], append(command[1:], check.secret, check.signature, check.body)...)
			run.Dir = dir
			printed, err := run.CombinedOutput()
			require.NoError(t, err, "%s: %s", language, printed)
			require.Equal(t, check.verdict, strings.TrimSpace(string(printed)), language)
		}
	}
}

// codeOf returns a page's code in a language.
func codeOf(t *testing.T, page, language string) string {
	t.Helper()
	_, code, found := strings.Cut(page, "```"+language+"\n")
	require.True(t, found, language)
	code, _, _ = strings.Cut(code, "```")
	return code
}

// membersOf returns the names of a JSON object's members, sorted.
func membersOf(t *testing.T, object string) (names []string) {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &members), object)
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
