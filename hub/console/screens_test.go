package console_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// accountPath is a path of an account's screen in a document.
var accountPath = regexp.MustCompile("`/account/(<product>|scheduling|clinic|messaging)(/[a-z/<>]+)`")

// readSource returns a file of the console.
func readSource(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(hubtest.ModuleRoot(), "hub", "console", filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(text)
}

// routesIn returns the paths of the screens that a file of routes has, with <id> for $id.
func routesIn(t *testing.T, name string) map[string]bool {
	t.Helper()
	routes := make(map[string]bool)
	for _, found := range regexp.MustCompile(`\tpath: "(/[a-z][^"]*)"`).FindAllStringSubmatch(readSource(t, name), -1) {
		if found[1] != "/login" && found[1] != "/account/$product" {
			routes[strings.ReplaceAll(found[1], "$id", "<id>")] = true
		}
	}
	return routes
}

// The console's README lists every screen, and no other.
func TestReadmeListsScreens(t *testing.T) {
	t.Parallel()
	_, text, found := strings.Cut(readSource(t, "README.md"), "\n## Screens\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	operators, accounts, found := strings.Cut(text, "\n| accounts")
	require.True(t, found)
	for file, table := range map[string]string{"src/app/router.tsx": operators, "src/account/routes.tsx": accounts} {
		listed := make(map[string]bool)
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(table, -1) {
			for _, path := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
				listed[path[1]] = true
			}
		}
		require.Equal(t, routesIn(t, file), listed, file)
	}
}

// The documents name the accounts' screens where they explain the calls for the same, and every
// screen that they name is there.
func TestDocumentsNameScreens(t *testing.T) {
	t.Parallel()
	routes := routesIn(t, "src/account/routes.tsx")
	root := hubtest.ModuleRoot()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	folders, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	require.NoError(t, err)
	readmes, err := filepath.Glob(filepath.Join(root, "*", "README.md"))
	require.NoError(t, err)
	named := make(map[string][]string) // by file
	for _, file := range slices.Concat(files, folders, readmes) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range accountPath.FindAllStringSubmatch(string(text), -1) {
			require.True(t, routes[found[2]], "%s: %s is no screen", file, found[0])
			name, err := filepath.Rel(root, file)
			require.NoError(t, err)
			named[name] = append(named[name], found[2])
		}
	}
	for file, screens := range map[string][]string{
		"docs/handshake.md":              {"/connect", "/keys", "/integrations"},
		"docs/log.md":                    {"/log"},
		"docs/clinic/imports.md":         {"/imports"},
		"docs/clinic/received-events.md": {"/inbox"},
		"docs/clinic/data-protection.md": {"/deletions"},
		"docs/erasure.md":                {"/deletions"},
		"docs/messaging.md":              {"/connections"},
		"docs/bridge.md":                 {"/connections"},
		"scheduling/README.md":           {"/connect", "/keys", "/log"},
		"messaging/README.md":            {"/connections", "/connect"},
		"clinic/README.md":               {"/imports", "/keys", "/connect", "/inbox", "/deletions", "/log"},
	} {
		for _, screen := range screens {
			require.Contains(t, named[filepath.FromSlash(file)], screen, file)
		}
	}
}
