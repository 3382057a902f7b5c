package connectortest

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImpurities(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`import "net/http"; var m = http.MethodGet`:                        "",
		`import "time"; var d = time.Second`:                               "",
		`import "net"`:                                                     "does not import net",
		`import n "net"`:                                                   "does not import net",
		`import "os/exec"`:                                                 "does not import os/exec",
		`import "math/rand/v2"`:                                            "does not import math/rand/v2",
		`import "log/slog"`:                                                "does not import log/slog",
		`import "net/http"; var c = http.DefaultClient`:                    "does not use net/http.DefaultClient",
		`import "net/http"; var c = &http.Client{}`:                        "does not use net/http.Client",
		`import web "net/http"; var f = web.Get`:                           "does not use net/http.Get",
		`import "time"; func f() time.Time { return time.Now() }`:          "does not use time.Now",
		`import "context"; var c = context.Background()`:                   "does not use context.Background",
		`func f() { go f() }`:                                              "starts no goroutines",
		`func init() {}`:                                                   "do not register themselves",
		`type time struct{ Now int }; func f(t time) int { return t.Now }`: "",
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "x.go", "package x\n"+strings.ReplaceAll(code, ";", "\n"), parser.SkipObjectResolution)
		require.NoError(t, err, code)
		found := impurities(set, file)
		if want == "" {
			require.Empty(t, found, code)
			continue
		}
		require.Len(t, found, 1, code)
		require.Contains(t, found[0], want)
	}
}
