package openapitest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// LoadCommands are those that the reference page below base prints in a browser, by the id of
// the operation.
func LoadCommands(t *testing.T, base string) map[string]string {
	t.Helper()
	root := hubtest.ModuleRoot()
	var notes bytes.Buffer
	ensure := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "configs", "setup", "ensure-browser.sh"))
	ensure.Stderr = &notes
	found, err := ensure.Output()
	require.NoError(t, err, "this test needs a browser: %s", notes.String())
	browser, modules, ok := strings.Cut(strings.TrimSpace(string(found)), "\n")
	require.True(t, ok)
	read := exec.CommandContext(t.Context(), "node", filepath.Join(root, "hub", "hubtest", "openapitest", "commands.mjs"), base+"/docs")
	read.Env = append(os.Environ(), "HUB_BROWSER="+browser, "HUB_BROWSER_MODULES="+modules)
	read.Stderr = &notes
	printed, err := read.Output()
	require.NoError(t, err, notes.String())
	var commands map[string]string
	require.NoError(t, json.Unmarshal(printed, &commands))
	require.NotEmpty(t, commands)
	return commands
}

// CommandRunner is who copies commands from the reference page.
type CommandRunner struct {
	Token, Key string
	File       string // what the file has that they upload
}

// RunCommand runs a printed command and returns the status and body of the response.
func (r CommandRunner) RunCommand(t *testing.T, command string) (status, body string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte(r.File), 0o600))
	run := exec.CommandContext(t.Context(), "sh", "-c", command+` -sS -w '\n%{http_code}'`)
	run.Dir, run.Env = dir, append(os.Environ(), "TOKEN="+r.Token, "KEY="+r.Key)
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	end := strings.LastIndexByte(string(out), '\n')
	return string(out[end+1:]), string(out[:end])
}
