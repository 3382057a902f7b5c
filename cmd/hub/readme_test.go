package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands of the clinic's README do, pasted in order, what it says, and none of them
// is refused.
func TestClinicReadme(t *testing.T) {
	t.Parallel()
	here, c := ownHub(t)
	using, _, found := strings.Cut(read(t, "clinic/README.md"), "## For developers")
	require.True(t, found)
	blocks := codeBlock.FindAllStringSubmatch(using, -1)
	require.Len(t, blocks, 6)
	require.NoError(t, os.Mkdir(filepath.Join(c.dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(binary, filepath.Join(c.dir, "bin", "hub")))

	// What people would see as an error ends the script. The state of an import, and of a
	// deletion, is asked for until it is settled: people look again.
	script := "set -eo pipefail\ncurl() { command curl --fail-with-body \"$@\"; }\n"
	var output []string
	for i, block := range blocks {
		script += block[1] + "\necho; echo '=== " + string(rune('a'+i)) + "'\n"
	}
	script += `echo "$TOKEN $IMPORT $REQUEST"`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(script, "http://127.0.0.1:8080", here.url))
	cmd.Dir = c.dir
	for name, value := range c.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	rest := string(out)
	for i := range blocks {
		text, after, found := strings.Cut(rest, "=== "+string(rune('a'+i))+"\n")
		require.True(t, found)
		output, rest = append(output, text), after
	}
	for i, want := range [][]string{
		{`"name":"Clinica Sol"`, `"role":"admin"`},
		{`"format":"csv"`, `"errors":[]`},
		{`"found":true`, `"name":"Ana Souza"`},
		{`"product":"scheduling"`, `"status":"active"`},
		{`"role":"staff"`, `Clinica Sol`, `/reset-password/clinic?token=`},
		{`"product":"scheduling"`},
	} {
		for _, text := range want {
			require.Contains(t, output[i], text, blocks[i][1])
		}
	}

	last := strings.Fields(rest)
	require.Len(t, last, 3)
	clinic := &account{t, here, "/clinic", last[0]}
	require.Eventually(t, func() bool { return clinic.do(200, "GET", "/imports/"+last[1], "")["status"] == "done" }, waitTimeout, pollInterval)
	require.EqualValues(t, 1, clinic.do(200, "GET", "/imports/"+last[1], "")["created"])
	davi := clinic.do(200, "POST", "/patients/search", `{"search":"Davi"}`)["items"].([]any)[0].(map[string]any)
	require.Equal(t, "+5511988887777", davi["phone"])
	require.Equal(t, "1980-03-02", davi["birth_date"])
	require.Eventually(t, func() bool {
		return clinic.do(200, "GET", "/deletion-requests/"+last[2], "")["status"] == "completed"
	}, waitTimeout, pollInterval)
}
