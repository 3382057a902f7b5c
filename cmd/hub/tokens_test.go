package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of docs/tokens.md does what it says.
func TestTokenExample(t *testing.T) {
	t.Parallel()
	s, c := ownHub(t)
	_, after, found := strings.Cut(c.withEnv("HUB_URL", s.url).runExample("docs/tokens.md", "# What it did stands", "echo ===\n# What it did stands"), "===\n")
	require.True(t, found)
	require.Regexp(t, `token sign-up back end +keys\.create`, after)
	require.Regexp(t, `hubt_….{4} +sign-up back end +admin +active +20\S+.* local command line`, after)
	key, err := os.ReadFile(filepath.Join(c.dir, "oak.key"))
	require.NoError(t, err)
	require.Regexp(t, `^crm_live_\w{20,}\n$`, string(key))
}

// Tokens are made, listed and deleted; each is shown once.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := sharedHub(t)
	c := newCLI(t).withEnv("HUB_DATA_DIR", s.dataDir)
	require.Contains(t, c.run("tokens", "create", "printed").stderr, "the token is shown this once")
	secret := c.run("tokens", "create", "dashboards", "-q").requireOK()
	program := newCLI(t).withEnv("HUB_URL", s.url).withEnv("HUB_TOKEN", secret)
	require.Contains(t, program.run("whoami").requireOK(), "dashboards")
	program.run("products", "create", "denied", "--prefix", "denied").requireFails(4, "(admin_only, ")
	program.run("tokens", "list").requireFails(4, "(admin_only, ")
	list := c.run("tokens", "list", "--all").requireOK()
	require.NotContains(t, list, secret)
	line := ""
	for each := range strings.Lines(list) {
		if strings.Contains(each, "hubt_…"+secret[len(secret)-4:]) {
			line = each
		}
	}
	require.Regexp(t, `dashboards +support +active +never +\S+`, line)
	id, _, _ := strings.Cut(line, " ")
	require.Contains(t, c.run("tokens", "delete", id).stderr, "deleted "+id)
	program.run("whoami").requireFails(4)
	c.run("tokens", "delete", id).requireFails(5)
	c.run("tokens", "create", "late", "--expires", "2020-01-01").requireFails(1, "expires_at")
	c.run("tokens", "create", "odd", "--role", "owner").requireFails(2, "--role is admin or support")
	c.run("tokens", "create").requireFails(2)
}
