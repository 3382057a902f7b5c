package connectortest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

// checkPurity makes the same calls repeatedly and concurrently, and checks what was
// handed in. Run it with -race.
func checkPurity(t *testing.T, c Case) {
	connection := clone(c.Connection)
	for _, e := range c.Events {
		event := e
		event.Data = bytes.Clone(e.Data)
		first, err := c.Connector.Encode(c.Connection, e)
		require.NoError(t, err)
		in := c.signedInbound(bytes.Clone(first.Body))
		header, body := in.Header.Clone(), bytes.Clone(in.Body)
		events, err := c.Connector.Decode(c.Connection, in)
		require.NoError(t, err)

		var all sync.WaitGroup
		outs, reads := make([]hub.Outbound, 8), make([][]hub.Event, 8)
		for i := range outs {
			all.Go(func() {
				outs[i], _ = c.Connector.Encode(c.Connection, e)
				reads[i], _ = c.Connector.Decode(c.Connection, in)
			})
		}
		all.Wait()
		for i := range outs {
			require.Equal(t, first, outs[i], "the same question, the same answer")
			require.Equal(t, events, reads[i])
		}
		require.Equal(t, event, e, "Encode changed the event")
		require.Equal(t, connection, c.Connection, "the connection was changed")
		require.Equal(t, header, in.Header, "Decode changed the headers")
		require.Equal(t, body, in.Body, "Decode changed the body")

		// Nothing of the answers is shared with what was handed in.
		for i := range outs[0].Body {
			outs[0].Body[i] = 'x'
		}
		clear(outs[0].Header)
		for i := range in.Body {
			in.Body[i] = 'x'
		}
		require.Equal(t, event, e, "Encode's body is the event's own bytes")
		require.Equal(t, reads[1], events)
		kept, err := c.Connector.Decode(c.Connection, c.signedInbound(body))
		require.NoError(t, err)
		require.Equal(t, kept, events, "Decode's events share the request's bytes")
	}
	requireNoGoroutines(t, c.Connector)
}

// requireNoGoroutines looks for goroutines that the connector's package started.
func requireNoGoroutines(t *testing.T, connector hub.Connector) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	kind := reflect.TypeOf(connector)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	require.NotContains(t, string(stacks), "created by "+kind.PkgPath()+".", "a connector starts no goroutines")
}

// Packages a connector has no business with, each with everything below it, and
// names of others it must leave alone.
var (
	forbiddenImports = []string{
		"net", "os", "io/fs", "io/ioutil", "log", "syscall", "unsafe", "plugin", "runtime", "sync", "testing",
		"math/rand", "crypto/rand", "database/sql", "expvar", "embed", "reflect",
	}
	allowedImports = []string{"net/http", "net/url", "net/mail", "net/netip", "net/textproto"}
	forbiddenNames = map[string][]string{
		"net/http": {
			"Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport", "Client", "Transport",
			"NewRequest", "Serve", "ListenAndServe", "ListenAndServeTLS", "Handle", "HandleFunc",
		},
		"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"context": {"Background", "TODO"},
	}
)

// checkSource reads the connector's own files: no goroutines, no network, no files, no
// clock and no chance of its own.
func checkSource(t *testing.T, c Case) {
	files := c.Files
	if files == nil {
		var err error
		files, err = filepath.Glob("*.go")
		require.NoError(t, err)
	}
	read := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, problem := range impurities(set, file) {
			t.Error(problem)
		}
		read++
	}
	require.NotZero(t, read, "there is no source to read")
}

// impurities lists what a file has that a connector must not have.
func impurities(set *token.FileSet, file *ast.File) []string {
	var found []string
	report := func(at token.Pos, impurity string) { found = append(found, set.Position(at).String()+": "+impurity) }
	imports := make(map[string]string) // by the name used in the file
	for _, spec := range file.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = target
		if isForbiddenImport(target) {
			report(spec.Pos(), "a connector does not import "+target)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n.Pos(), "a connector starts no goroutines")
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				report(n.Pos(), "connectors are listed, they do not register themselves")
			}
		case *ast.SelectorExpr:
			from, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			for _, name := range forbiddenNames[imports[from.Name]] {
				if name == n.Sel.Name {
					report(n.Pos(), "a connector does not use "+imports[from.Name]+"."+name)
				}
			}
		}
		return true
	})
	return found
}

func isForbiddenImport(target string) bool {
	for _, fine := range allowedImports {
		if target == fine {
			return false
		}
	}
	for _, bad := range forbiddenImports {
		if target == bad || strings.HasPrefix(target, bad+"/") {
			return true
		}
	}
	return false
}
