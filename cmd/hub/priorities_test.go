package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of docs/priorities.md does, pasted, what the page says.
func TestPrioritiesExample(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(binary, filepath.Join(c.dir, "bin", "hub")))
	_, section, found := strings.Cut(read(t, "docs/priorities.md"), "## Priorities")
	require.True(t, found)
	to := newReceiver(t, 200, "")
	example := strings.ReplaceAll(codeBlock.FindStringSubmatch(section)[1], "http://127.0.0.1:9000", to.URL)

	// The job has sent some before the event is published, and not all when it arrives.
	before, after, found := strings.Cut(example, "hub publish --type order.refunded")
	require.True(t, found)
	before = strings.TrimSpace(before)
	// Without pipefail: head ends before what it reads from.
	run := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -e\nPATH="+filepath.Join(c.dir, "bin")+":$PATH\n"+script)
		cmd.Dir = c.dir
		for name, value := range c.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	run(before)
	require.Eventually(t, func() bool { return to.count() > 1 }, waitTimeout, pollInterval)
	shown := run("HUB_KEY=$(hub keys create --tenant Pine -q) hub publish --type order.refunded" + after)
	require.Regexp(t, `(?m)^priority +bulk$`, shown)
	require.Regexp(t, `(?m)^waits +The receiver gets at most 60 deliveries a minute, and \d+ go first`, shown)
	require.Eventually(t, func() bool {
		return strings.Contains(c.run("deliveries", "list", "--type", "order.refunded").requireOK(), " delivered ")
	}, waitTimeout, pollInterval)
	require.Less(t, to.count(), 80, "the rest of the 90 still waits")
}
