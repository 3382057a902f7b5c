package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of docs/order.md does what it says: the second event of a key waits behind the
// first, and is sent next once the first is discarded.
func TestOrderExample(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	_, example, found := strings.Cut(read(t, "docs/order.md"), "## An example")
	require.True(t, found)
	block := codeBlock.FindStringSubmatch(example)
	require.NotNil(t, block)
	bin := filepath.Join(c.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.Symlink(binary, filepath.Join(bin, "hub")))
	parked, discarded := "# The first is parked", "# The first is discarded"
	require.Contains(t, block[1], parked)
	require.Contains(t, block[1], discarded)
	script := "set -eo pipefail\n" + strings.NewReplacer(
		parked, "until [ -n \"$(hub deliveries list --status parked -q)\" ]; do sleep 0.1; done\n"+parked, // people are slower
		discarded, "echo ===\n"+discarded).Replace(block[1])
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = c.dir
	for name, value := range c.env {
		if name == "PATH" {
			value = bin + ":" + value
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if c.env["PATH"] == "" {
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	}
	printed, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	before, after, found := strings.Cut(string(printed), "===\n")
	require.True(t, found)
	for _, text := range []string{"order.paid", "order-1042", "in the order of its key, and 1 go first", "hub deliveries discard"} {
		require.Contains(t, before, text)
	}
	require.Regexp(t, `reason +discarded`, after)
}
