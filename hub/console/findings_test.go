package console_test

import (
	"fmt"
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

	"github.com/stretchr/testify/require"
)

// What the hub says of an installation is in every language, but for the words of other programs
// and what only hub doctor says.
func TestFindingsAreTranslated(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("src/screens/health/findings.ts")
	require.NoError(t, err)
	var patterns []*regexp.Regexp
	for _, line := range regexp.MustCompile(`(?m)^\t\[/(\^.+\$)/, \{ "pt-BR": ".+", es: ".+" \}\],$`).FindAllSubmatch(source, -1) {
		patterns = append(patterns, regexp.MustCompile(string(line[1])))
	}
	matched := make([]bool, len(patterns))
	sentences := findingSentences(t)
	require.Greater(t, len(sentences), 30)
	for _, sentence := range sentences {
		i := slices.IndexFunc(patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(sentence) })
		isDoctors := func(beginning string) bool { return strings.HasPrefix(sentence, beginning) }
		if slices.ContainsFunc([]string{"no hub is running on", "the hub that runs on", "start it with"}, isDoctors) {
			continue
		}
		require.NotEqual(t, -1, i, "%q has no translation", sentence)
		matched[i] = true
	}
	for i, pattern := range patterns {
		require.True(t, matched[i], "%s is the translation of nothing", pattern)
	}
}

// findingSentences returns examples of what the health page can show.
func findingSentences(t *testing.T) (sentences []string) {
	t.Helper()
	files, err := filepath.Glob("../server/doctor*.go")
	require.NoError(t, err)
	for _, file := range append(files, "../server/examine.go") {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "doctorlog.go") { // hub doctor alone counts the log
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, declared := range parsed.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			w := wording{assigned: make(map[string][]ast.Expr)}
			ast.Inspect(function, w.note)
			ast.Inspect(function, func(node ast.Node) bool {
				if literal, ok := node.(*ast.CompositeLit); ok && fmt.Sprint(literal.Type) == "Finding" {
					sentences = append(sentences, w.sentences(literal.Elts[2])...)
					sentences = append(sentences, w.sentences(literal.Elts[3])...)
				}
				return true
			})
		}
	}
	return slices.DeleteFunc(sentences, func(s string) bool { return s == "" || s == unknown })
}

// unknown stands for what is known only when the program runs.
const unknown = "7"

// wording knows what a function assigns to its variables.
type wording struct{ assigned map[string][]ast.Expr }

func (w wording) note(node ast.Node) bool {
	if assignment, ok := node.(*ast.AssignStmt); ok && len(assignment.Lhs) == len(assignment.Rhs) {
		for i, left := range assignment.Lhs {
			if name, ok := left.(*ast.Ident); ok {
				w.assigned[name.Name] = append(w.assigned[name.Name], assignment.Rhs[i])
			}
		}
	}
	return true
}

// sentences returns what a part of a finding can say. What is added at its end may be nothing.
func (w wording) sentences(expression ast.Expr) []string {
	texts := w.examples(expression, 1)
	if sum, ok := expression.(*ast.BinaryExpr); ok {
		if _, isVariable := sum.Y.(*ast.Ident); isVariable {
			for i, text := range texts {
				texts[i] = strings.TrimSuffix(text, unknown)
			}
		}
	}
	return texts
}

// examples returns values that an expression can have. Variables are followed depth times.
func (w wording) examples(expression ast.Expr, depth int) (texts []string) {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(expression.Value)
		if err != nil {
			return []string{unknown}
		}
		return []string{text}
	case *ast.Ident:
		for _, value := range w.assigned[expression.Name] {
			if depth > 0 {
				texts = append(texts, w.examples(value, depth-1)...)
			}
		}
		return append(texts, unknown)
	case *ast.BinaryExpr:
		for _, left := range w.examples(expression.X, depth) {
			for _, right := range w.examples(expression.Y, depth) {
				texts = append(texts, left+right)
			}
		}
		return texts
	case *ast.CallExpr:
		if selector, ok := expression.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Sprintf" {
			return w.formatted(expression.Args, depth)
		}
	}
	return []string{unknown}
}

// formatted returns values of a format: its first argument may be a variable with words.
func (w wording) formatted(args []ast.Expr, depth int) (texts []string) {
	format := w.examples(args[0], depth)[0]
	for _, first := range w.examples(args[1], depth) {
		if _, isVariable := args[1].(*ast.Ident); isVariable && first == unknown && strings.HasPrefix(format, "%s") {
			continue
		}
		text := regexp.MustCompile(`%[ds]`).ReplaceAllString(strings.Replace(format, "%s", first, 1), unknown)
		texts = append(texts, text)
	}
	return texts
}
