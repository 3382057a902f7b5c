package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// documents returns the paths of all pages, from the root.
func documents(t *testing.T) (pages []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "testdata", "data", "bin"}, name)) {
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			page, err := filepath.Rel(root, path)
			require.NoError(t, err)
			pages = append(pages, filepath.ToSlash(page))
		}
		return nil
	}))
	require.Greater(t, len(pages), 15)
	return pages
}

var (
	codeBlock  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	comment    = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	quoted     = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	hubCall    = regexp.MustCompile(`(?:^|[\s("'=&|])(?:bin/)?hub((?: [a-z][a-z-]*)+)([^\n]*)`)
	flagName   = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*|-[a-z])\b`)
	makeCall   = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	sourceFile = regexp.MustCompile(`^[a-z0-9_/.-]+\.(go|sql)$`)
	setting    = regexp.MustCompile(`\bHUB_[A-Z_]+\b`)
)

// call is a command line of hub found in a document.
type call struct {
	where, words, rest string
}

// callsIn returns every `hub …` in some code.
func callsIn(where, code string) (found []call) {
	code = comment.ReplaceAllString(strings.ReplaceAll(code, "\\\n", " "), "")
	for _, m := range hubCall.FindAllStringSubmatch(code, -1) {
		found = append(found, call{where: where, words: strings.TrimSpace(m[1]), rest: m[2]})
	}
	return found
}

// documentedCalls returns every `hub …` in the code of the documents.
func documentedCalls(t *testing.T) (found []call) {
	t.Helper()
	for _, name := range documents(t) {
		text := read(t, name)
		for _, m := range codeBlock.FindAllStringSubmatch(text, -1) {
			found = append(found, callsIn(name, m[1])...)
		}
		for _, m := range inlineCode.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			found = append(found, callsIn(name, m[1])...)
		}
	}
	return found
}

// demoCalls returns every `hub …` that the demo prints: the commands of its steps, as its
// source has them.
func demoCalls(t *testing.T) (found []call) {
	t.Helper()
	names, err := filepath.Glob("internal/demo/*.go")
	require.NoError(t, err)
	positions := token.NewFileSet()
	for _, name := range names {
		file, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			step, ok := node.(*ast.CallExpr)
			if !ok || len(step.Args) != 2 {
				return true
			}
			if method, ok := step.Fun.(*ast.SelectorExpr); !ok || method.Sel.Name != "step" {
				return true
			}
			ast.Inspect(step.Args[1], func(node ast.Node) bool {
				if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					command, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					found = append(found, callsIn(positions.Position(literal.Pos()).String(), command)...)
				}
				return true
			})
			return true
		})
	}
	return found
}

// What the documentation and the demo say to type exists: every command and every flag.
func TestDocumentedCommandsExist(t *testing.T) {
	t.Parallel()
	hub := newCLI(t)
	found, printed := documentedCalls(t), demoCalls(t)
	require.Greater(t, len(found), 15, "the documents show commands")
	require.Greater(t, len(printed), 10, "the demo shows commands")
	found = append(found, printed...)
	helps := map[string]string{}
	for _, call := range found {
		help, seen := helps[call.words]
		if !seen {
			words := strings.Fields(call.words)
			got := hub.run(append(slices.Clone(words), "--help")...)
			require.Equal(t, 0, got.code, "%s: hub %s: %s", call.where, call.words, got.stderr)
			require.Contains(t, got.stdout, "hub "+call.words, "%s: hub %s is no command", call.where, call.words)
			help = got.stdout
			helps[call.words] = help
		}
		for _, m := range flagName.FindAllStringSubmatch(unquoted(call.rest), -1) {
			require.Regexp(t, `(?m)(^|\s)`+m[1]+`[ ,\n]`, help, "%s: hub %s has no %s", call.where, call.words, m[1])
		}
	}
}

// unquoted takes out quoted values, and what follows the end of the command.
func unquoted(rest string) string {
	rest = quoted.ReplaceAllString(rest, "VALUE")
	if end := strings.IndexAny(rest, ")|;&"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

func TestDocumentedTargetsExist(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	for _, name := range documents(t) {
		text := read(t, name)
		var code strings.Builder
		for _, m := range codeBlock.FindAllStringSubmatch(text, -1) {
			code.WriteString(m[1])
		}
		for _, m := range inlineCode.FindAllStringSubmatch(text, -1) {
			code.WriteString(m[1] + "\n")
		}
		for _, m := range makeCall.FindAllStringSubmatch(code.String(), -1) {
			require.Regexp(t, `(?m)^`+m[1]+`:`, makefile, "%s: make %s", name, m[1])
		}
	}
}

// Links between the documents lead somewhere.
func TestDocumentsLinkToWhatExists(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, name), -1) {
			if strings.HasPrefix(m[1], "http") {
				continue
			}
			page, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(name)), filepath.FromSlash(page)))
			if page == "" {
				target = name
			}
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(target)))
			require.NoError(t, err, "%s links to %s", name, m[1])
			if anchor != "" {
				require.Contains(t, anchors(read(t, target)), anchor, "%s links to %s", name, m[1])
			}
		}
	}
}

// anchors returns the names under which a page's headings are linked to.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		kept := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		names = append(names, kept)
	}
	return names
}

// The source files that pages name exist: as a path, or as the end of one.
func TestDocumentedFilesExist(t *testing.T) {
	t.Parallel()
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() { // tests beside this one make and remove files in these
			if slices.Contains([]string{".cache", ".git", "node_modules", "data", "bin"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		files = append(files, filepath.ToSlash(path))
		return nil
	}))
	named := 0
	for _, name := range documents(t) {
		for _, m := range inlineCode.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, name), ""), -1) {
			if !sourceFile.MatchString(m[1]) {
				continue
			}
			named++
			require.True(t, slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, "/"+m[1]) }), "%s names %s", name, m[1])
		}
	}
	require.Greater(t, named, 20)
}

// The two pages to read first stay short; the rest belongs to docs/.
func TestFirstPagesAreShort(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "ARCHITECTURE.md"} {
		require.LessOrEqual(t, len(strings.Fields(read(t, name))), 900, "words of %s", name)
	}
}

// The index of the documentation has every page of it, and the README leads to the index.
func TestIndexListsEveryPage(t *testing.T) {
	t.Parallel()
	require.Contains(t, read(t, "README.md"), "](docs/README.md)")
	index := read(t, "docs/README.md")
	for _, name := range documents(t) {
		if page, isDocs := strings.CutPrefix(name, "docs/"); isDocs && page != "README.md" {
			require.Contains(t, index, "]("+page+")", "docs/README.md links to every page")
		}
	}
}

// Every directory with a package is named: those of a product in the product's README, those
// of the measurements in theirs, the others in ARCHITECTURE.md.
func TestPackagesAreNamed(t *testing.T) {
	t.Parallel()
	pages := make(map[string]string)
	for _, name := range []string{"ARCHITECTURE.md", "connectors/README.md", "scheduling/README.md", "messaging/README.md", "clinic/README.md"} {
		list, _, _ := strings.Cut(read(t, name), "## The shape of a product")
		pages[name] = strings.Join(inlineCode.FindAllString(list, -1), " ")
	}
	checked := 0
	require.NoError(t, filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		directory, err := filepath.Rel(root, name)
		require.NoError(t, err)
		directory = filepath.ToSlash(directory)
		if directory != "." && strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"node_modules", "testdata", "data", "bin"}, entry.Name()) || directory == "cmd/bench" {
			return filepath.SkipDir
		}
		sources, err := filepath.Glob(filepath.Join(name, "*.go"))
		require.NoError(t, err)
		if len(sources) == 0 || entry.Name() == "dbgen" || !strings.Contains(directory, "/") {
			return nil // generated, or a folder that stands in every list
		}
		page := "ARCHITECTURE.md"
		if top, _, _ := strings.Cut(directory, "/"); pages[top+"/README.md"] != "" {
			page = top + "/README.md"
		}
		checked++
		require.Regexp(t, "[ `/]"+regexp.QuoteMeta(entry.Name())+"[/` ]", pages[page], "%s names the package %s", page, directory)
		return nil
	}))
	require.Greater(t, checked, 90)
	require.Contains(t, pages["ARCHITECTURE.md"], "`cmd/bench/`")
}

// Every setting that a document or an example deployment names is a setting, or a
// variable of the command line.
func TestDocumentedSettingsExist(t *testing.T) {
	t.Parallel()
	reference := read(t, "hub/config/REFERENCE.md")
	notSettings := []string{
		"HUB_KEY", "HUB_URL", "HUB_TOKEN", "HUB_CONFIG", "HUB_WEBHOOK_SECRET", "HUB_PEER_KEY", // of commands
		"HUB_FAILPOINT", "HUB_SCREENSHOTS", // of tests
	}
	files := append(documents(t), "configs/compose.yaml", "configs/Dockerfile", "configs/systemd/hub.service", "configs/prometheus/prometheus.yml")
	for _, name := range files {
		for _, variable := range setting.FindAllString(read(t, name), -1) {
			known := slices.Contains(notSettings, variable) || strings.Contains(reference, "### "+variable+"\n")
			require.True(t, known, "%s names %s", name, variable)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(text)
}
