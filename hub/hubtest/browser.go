package hubtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// RunInBrowser runs a script that visits pages in Chromium, with what browser/check.mjs offers:
// Playwright, axe and checks of every page. script is a path below the module's root. input
// comes on the script's stdin as JSON. With HUB_SCREENSHOTS set to a directory the script keeps
// pictures there. -short leaves such tests out.
func RunInBrowser(t *testing.T, script string, input any) {
	t.Helper()
	SkipShort(t)
	root := ModuleRoot()
	var notes bytes.Buffer
	ensure := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "configs", "setup", "ensure-browser.sh"))
	ensure.Stderr = &notes
	found, err := ensure.Output()
	require.NoError(t, err, "this test needs a browser: %s", notes.String())
	browser, modules, ok := strings.Cut(strings.TrimSpace(string(found)), "\n")
	require.True(t, ok)

	text, err := json.Marshal(input)
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), "node", filepath.Base(script))
	run.Dir = filepath.Join(root, filepath.FromSlash(filepath.Dir(script)))
	run.Env = append(os.Environ(), "HUB_BROWSER="+browser, "HUB_BROWSER_MODULES="+modules)
	if pictures := os.Getenv("HUB_SCREENSHOTS"); pictures != "" && !filepath.IsAbs(pictures) {
		run.Env = append(run.Env, "HUB_SCREENSHOTS="+filepath.Join(root, pictures))
	}
	run.Stdin = bytes.NewReader(text)
	out, err := run.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}
