package console_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
	"integrationhub/hub/internal/api"
	"integrationhub/hub/server"
)

var update = flag.Bool("update", false, "write the generated files")

func TestMain(m *testing.M) { hubtest.Main(m) }

// "typed client from the hub's OpenAPI, committed and checked for drift" and "the built dist/
// is committed": both are made again from their sources, and compared.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	hubtest.SkipShort(t)
	console := filepath.Join(hubtest.ModuleRoot(), "hub", "console")
	modules := packages(t)
	work := t.TempDir()

	writeTypes := func(document []byte, committed ...string) {
		require.NoError(t, os.WriteFile(filepath.Join(work, "openapi.json"), document, 0o600))
		types := filepath.Join(work, "types.ts")
		node(t, console, filepath.Join(modules, "openapi-typescript", "bin", "cli.js"), filepath.Join(work, "openapi.json"), "--output", types)
		requireSame(t, filepath.Join(append([]string{console, "src"}, committed...)...), types)
	}
	document, err := api.Document("generated")
	require.NoError(t, err)
	writeTypes(reduceDocument(t, document, filepath.Join(console, "src")), "api", "schema.ts")
	for _, product := range products() {
		document, err := server.ProductOpenAPI(t.Context(), product)
		require.NoError(t, err)
		writeTypes(reduceDocument(t, document, filepath.Join(console, "src", "account")), "account", "api", product.Spec().Name+".ts")
	}

	node(t, console, filepath.Join(modules, "typescript", "bin", "tsc"), "--project", ".")
	out := filepath.Join(work, "dist")
	node(t, console, filepath.Join(modules, "vite", "bin", "vite.js"), "build", "--logLevel", "warn", "--outDir", out, "--emptyOutDir")
	committed := filepath.Join(console, "dist")
	if *update {
		require.NoError(t, os.RemoveAll(committed))
		require.NoError(t, os.CopyFS(committed, os.DirFS(out)))
	}
	require.Equal(t, tree(t, out), tree(t, committed), "dist/ was not built from these sources: make console")
}

// packages returns the directory with the packages of the lock file, which the sources find as
// node_modules beside them.
func packages(t *testing.T) string {
	t.Helper()
	root := hubtest.ModuleRoot()
	ensure := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "configs", "setup", "ensure-node.sh"), "hub/console")
	ensure.Stderr = os.Stderr
	found, err := ensure.Output()
	require.NoError(t, err, "this test needs Node.js and the console's packages: make setup")
	modules := strings.TrimSpace(string(found))
	link := filepath.Join(root, "hub", "console", "node_modules")
	if target, err := os.Readlink(link); err != nil || target != modules {
		require.NoError(t, os.RemoveAll(link))
		require.NoError(t, os.Symlink(modules, link))
	}
	return modules
}

func node(t *testing.T, dir string, args ...string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "node", args...)
	run.Dir = dir
	run.Env = append(os.Environ(), "NODE_ENV=production", "REDOCLY_TELEMETRY=off")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s: %s", args[0], out)
}

func requireSame(t *testing.T, committed, made string) {
	t.Helper()
	want, err := os.ReadFile(made)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(committed), 0o755))
		require.NoError(t, os.WriteFile(committed, want, 0o600))
	}
	got, err := os.ReadFile(committed)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%s does not fit the OpenAPI document: make console", committed)
}

// tree returns the files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		found[name] = string(content)
		return err
	}))
	return found
}
