package metrics_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// metric is one that the sources define.
type metric struct {
	name, kind, help string
	labels           []string
}

// pageHead begins docs/metrics.md.
const pageHead = `# Metrics

What [` + "`/metrics`" + `](operations.md#watching) serves for Prometheus, beside the metrics of the Go runtime and of the process. Labels are products and states: never tenants, addresses or keys. Histograms have the usual suffixes ` + "`_bucket`, `_sum` and `_count`" + `.

Counters are of one process: sum them over all processes. Gauges that count deliveries, integrations and certificates are of the database, the same in each process: take the maximum.

| metric | kind | labels | meaning |
|---|---|---|---|
`

// docs/metrics.md has every metric of the sources, with its help.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/metrics.md"
	metrics := readMetrics(t, "../..")
	require.Greater(t, len(metrics), 25)
	page := pageHead
	for _, m := range metrics {
		labels := "-"
		if len(m.labels) > 0 {
			labels = "`" + strings.Join(m.labels, "`, `") + "`"
		}
		page += fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, m.help)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	stored, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, page, string(stored), "docs/metrics.md is out of date: make generate")
}

// readMetrics returns what the Go files below a directory define, by name.
func readMetrics(t *testing.T, dir string) (metrics []metric) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "console" || entry.Name() == "hubtest") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			var found metric
			switch node := node.(type) {
			case *ast.CallExpr:
				found = metricOfCall(node)
			case *ast.CompositeLit:
				found = metricOfOptions(node)
			}
			if strings.HasPrefix(found.name, "hub_") {
				metrics = append(metrics, found)
			}
			return true
		})
		return nil
	}))
	slices.SortFunc(metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return metrics
}

// kinds are the kinds of metrics by the functions and types that define them.
var kinds = map[string]string{
	"counter": "counter", "histogram": "histogram", "Gauge": "gauge", "NewDesc": "gauge", "CounterOpts": "counter", "HistogramOpts": "histogram",
}

// metricOfCall returns the metric of a call with a name, a help text and labels, such as
// prometheus.NewDesc("hub_…", "…", []string{…}, nil).
func metricOfCall(call *ast.CallExpr) metric {
	kind := kinds[nameOf(call.Fun)]
	if kind == "" || len(call.Args) < 2 {
		return metric{}
	}
	m := metric{name: textOf(call.Args[0]), kind: kind, help: textOf(call.Args[1])}
	for _, argument := range call.Args[2:] {
		if list, isList := argument.(*ast.CompositeLit); isList {
			for _, element := range list.Elts {
				m.labels = append(m.labels, textOf(element))
			}
		} else if label := textOf(argument); label != "" {
			m.labels = append(m.labels, label)
		}
	}
	if kind == "histogram" {
		m.labels = []string{"product"}
	}
	return m
}

// metricOfOptions returns the metric of a literal such as prometheus.CounterOpts{Name: "hub_…", Help: "…"}.
func metricOfOptions(literal *ast.CompositeLit) metric {
	m := metric{kind: kinds[nameOf(literal.Type)]}
	for _, element := range literal.Elts {
		if field, isField := element.(*ast.KeyValueExpr); isField {
			switch nameOf(field.Key) {
			case "Name":
				m.name = textOf(field.Value)
			case "Help":
				m.help = textOf(field.Value)
			}
		}
	}
	return m
}

// nameOf returns the last name of an identifier or a selector.
func nameOf(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.Ident:
		return expression.Name
	case *ast.SelectorExpr:
		return expression.Sel.Name
	}
	return ""
}

// textOf returns the text of a string literal, "" for anything else.
func textOf(expression ast.Expr) string {
	literal, isLiteral := expression.(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	return text
}
