package main_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The walkthrough of messaging's README does what it says when it is pasted into a shell: from
// signing up to a closed ticket, and no command is refused.
func TestMessagingReadme(t *testing.T) {
	t.Parallel()
	here, c := ownHub(t)
	_, walkthrough, found := strings.Cut(read(t, "messaging/README.md"), "## Try it without a phone")
	require.True(t, found)
	block := codeBlock.FindStringSubmatch(walkthrough)
	require.NotNil(t, block)
	steps := strings.Split(block[1], "\n# ")
	require.Len(t, steps, 4)
	script := "set -eo pipefail\ncurl() { command curl -s --fail-with-body \"$@\"; }\n" + strings.Join(steps, "\necho; echo '==='\n# ")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(script, "http://127.0.0.1:8080", here.url))
	cmd.Dir = c.dir
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	printed, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	outputs := strings.Split(string(printed), "===\n")
	require.Len(t, outputs, len(steps))
	require.Contains(t, outputs[1], `"status":"CONNECTED"`)
	for _, text := range []string{`"status":"sent"`, `"from":"5511900000001"`, `"body":"Hello"`} {
		require.Contains(t, outputs[2], text)
	}
	for _, text := range []string{`"status":"open"`, `"status":"closed"`, `"resolution":"Answered"`} {
		require.Contains(t, outputs[3], text)
	}
	_, messages, found := strings.Cut(outputs[3], `"messages":[`)
	require.True(t, found)
	at := -1
	for _, text := range []string{`"body":"Hello"`, `"body":"Hi!"`, `"body":"Good morning, Ana."`} {
		next := strings.Index(messages, text)
		require.Greater(t, next, at, "%s: the ticket's messages in their order", text)
		at = next
	}
}
