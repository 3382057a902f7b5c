package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runExample runs the first block of commands under "An example" of a page, after changes of
// its text, and returns what it printed.
func (c *cli) runExample(page string, changes ...string) string {
	c.t.Helper()
	return c.runExampleUnder("## An example", page, changes...)
}

// runExampleUnder is [cli.runExample] for another heading of the page.
func (c *cli) runExampleUnder(heading, page string, changes ...string) string {
	c.t.Helper()
	_, example, found := strings.Cut(read(c.t, page), "\n"+heading+"\n")
	require.True(c.t, found)
	block := codeBlock.FindStringSubmatch(example)
	require.NotNil(c.t, block)
	for i := 0; i < len(changes); i += 2 {
		require.Contains(c.t, block[1], changes[i])
	}
	bin := filepath.Join(c.dir, "bin")
	require.NoError(c.t, os.Mkdir(bin, 0o755))
	require.NoError(c.t, os.Symlink(binary, filepath.Join(bin, "hub")))
	cmd := exec.CommandContext(c.t.Context(), "bash", "-c", "set -eo pipefail\n"+strings.NewReplacer(changes...).Replace(block[1]))
	cmd.Dir = c.dir
	path := os.Getenv("PATH")
	for name, value := range c.env {
		if name == "PATH" {
			path = value
			continue
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+path)
	printed, err := cmd.CombinedOutput()
	require.NoError(c.t, err, "%s", printed)
	return string(printed)
}

// The example of docs/filters.md does what it says.
func TestFilterExample(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	before, after, found := strings.Cut(c.runExample("docs/filters.md",
		"sleep 2\n", "", "# One delivery was made", "until hub endpoints show \"$ENDPOINT\" | grep -q 'no such member'; do sleep 0.1; done; echo ===\n# One delivery was made"), "===\n")
	require.True(t, found)
	require.Contains(t, before, "yes: The filter is true for this event.")
	require.Contains(t, before, "no: The filter is not true for this event.")
	require.Equal(t, 1, strings.Count(after, "order.paid "), after)
	require.Regexp(t, `filter +event.type == "order.paid" && event.data.total > 100`, after)
	require.Regexp(t, `filter errors +1, last .*column 41: the event has no such member: total`, after)
}

// A filter is set, kept, replaced and removed.
func TestFilterFlags(t *testing.T) {
	t.Parallel()
	_, c := ownHub(t)
	c.ok("products", "create", "crm", "--prefix", "crm")
	c.ok("tenants", "create", "Acme", "--product", "crm")
	c.ok("endpoints", "create", "http://127.0.0.1:9/orders", "--tenant", "Acme", "--filter", "event.data.n > 1")
	id := strings.TrimSpace(c.ok("endpoints", "list", "-q"))
	require.Contains(t, c.ok("endpoints", "update", id, "--description", "large"), "event.data.n > 1")
	require.Contains(t, c.ok("endpoints", "update", id, "--filter", "event.data.n > 2"), "event.data.n > 2")
	c.ok("endpoints", "disable", id)
	require.Contains(t, c.ok("endpoints", "show", id), "event.data.n > 2")
	require.NotContains(t, c.ok("endpoints", "update", id, "--filter", ""), "event.data")
	c.writeFile("event.json", `{"event_type":`)
	for _, wrong := range []struct {
		args []string
		says string
	}{
		{[]string{"update", id, "--filter", "event.data.n >"}, "column 15"},
		{[]string{"match", id}, "--event is needed"},
		{[]string{"match", id, "--event", "event.json"}, "is not JSON"},
	} {
		got := c.run(append([]string{"endpoints"}, wrong.args...)...)
		require.NotZero(t, got.code)
		require.Contains(t, got.stderr, wrong.says)
	}
}
