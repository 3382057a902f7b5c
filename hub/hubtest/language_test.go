package hubtest_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

// unclear are identifiers that say nothing about what they name. docs/glossary.md has
// the words to use.
var unclear = []string{"one", "told", "about", "somebody", "whosesoever", "mourn", "gaveWay", "errMeanwhile", "wish", "wishes", "standing", "party", "meet", "met", "kit", "whose", "tally", "early", "gives", "tells"}

// unclearProse matches words and references that comments and documentation do without:
// functions return and report, people have roles, interfaces have pages in docs/interfaces.
var unclearProse = regexp.MustCompile(`(?i)\b(gives|tells|somebody|everybody|document [123])\b`)

// walkFiles calls visit with the path from the root, and the content, of every file of a
// directory with an extension, generated ones excepted. It returns how many there are.
func walkFiles(t *testing.T, directory, extension string, visit func(path string, content []byte) error) (files int) {
	t.Helper()
	root := hubtest.ModuleRoot()
	require.NoError(t, filepath.WalkDir(filepath.Join(root, directory), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".cache", "node_modules", "dbgen", ".git", "data"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != extension {
			return nil
		}
		files++
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(name), content)
	}))
	return files
}

// No declaration in the project has one of the unclear names.
func TestIdentifiersSayWhatTheyName(t *testing.T) {
	t.Parallel()
	var found []string
	files := walkFiles(t, ".", ".go", func(path string, source []byte) error {
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if name, ok := node.(*ast.Ident); ok && slices.Contains(unclear, name.Name) {
				found = append(found, positions.Position(name.Pos()).String()+": "+name.Name)
			}
			return true
		})
		return nil
	})
	require.Greater(t, files, 300)
	require.Empty(t, found, "name these after what they are: docs/glossary.md")
}

// No comment and no page of docs has the unclear prose.
func TestProseSaysWhoDoesWhat(t *testing.T) {
	t.Parallel()
	var found []string
	files := walkFiles(t, ".", ".go", func(path string, source []byte) error {
		positions := token.NewFileSet()
		var tokens scanner.Scanner
		tokens.Init(positions.AddFile(path, -1, len(source)), source, nil, scanner.ScanComments)
		for {
			pos, kind, text := tokens.Scan()
			if kind == token.EOF {
				return nil
			}
			if kind == token.COMMENT && unclearProse.MatchString(text) {
				found = append(found, positions.Position(pos).String()+": "+text)
			}
		}
	})
	require.Greater(t, files, 300)
	pages := walkFiles(t, "docs", ".md", func(path string, page []byte) error {
		for _, line := range strings.Split(string(page), "\n") {
			if unclearProse.MatchString(line) {
				found = append(found, path+": "+line)
			}
		}
		return nil
	})
	require.Greater(t, pages, 20)
	require.Empty(t, found, "say who does what, and name the page: docs/writing.md")
}
