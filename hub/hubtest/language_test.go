package hubtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// unclear are identifiers that say nothing about what they name. docs/glossary.md has
// the words to use.
var unclear = []string{"one", "told", "about", "somebody", "whosesoever", "mourn", "gaveWay", "errMeanwhile", "wish", "wishes", "standing"}

// No declaration in the project has one of the unclear names.
func TestIdentifiersSayWhatTheyName(t *testing.T) {
	t.Parallel()
	var found []string
	files := 0
	require.NoError(t, filepath.WalkDir(hubtest.ModuleRoot(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".cache", "node_modules", "dbgen", ".git", "data"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		files++
		names, err := unclearNames(path)
		found = append(found, names...)
		return err
	}))
	require.Greater(t, files, 300)
	require.Empty(t, found, "name these after what they are: docs/glossary.md")
}

// unclearNames returns the places of a file that declare or use an unclear name.
func unclearNames(path string) (places []string, err error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok && slices.Contains(unclear, name.Name) {
			places = append(places, positions.Position(name.Pos()).String()+": "+name.Name)
		}
		return true
	})
	return places, nil
}
