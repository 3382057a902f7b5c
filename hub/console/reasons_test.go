package console_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every reason that a delivery can have, every cause of its waiting and all that releases it is
// a sentence in every language, not the API's code.
func TestReasonsHaveTexts(t *testing.T) {
	t.Parallel()
	for _, codes := range []struct {
		file, prefix string // of the Go constants
		list         string // in the texts
	}{
		{"../internal/delivery/policy.go", "Reason", "reasons"},
		{"../internal/ledger/query/waiting.go", "Cause", "causes"},
		{"../internal/ledger/query/waiting.go", "Release", "releases"},
	} {
		source, err := os.ReadFile(codes.file)
		require.NoError(t, err)
		found := regexp.MustCompile(`(?m)^\t`+codes.prefix+`\w+\s+= "(\w+)"`).FindAllSubmatch(source, -1)
		require.Greater(t, len(found), 5, codes.prefix)
		for _, language := range []string{"en", "pt-BR", "es"} {
			texts, err := os.ReadFile("src/i18n/" + language + ".ts")
			require.NoError(t, err)
			list := regexp.MustCompile(`(?s)\n\t\t` + codes.list + `: \{\n(.*?)\n\t\t\}`).FindSubmatch(texts)
			require.NotNil(t, list, language)
			for _, code := range found {
				require.Regexp(t, `(?m)^\t\t\t`+string(code[1])+`: "[^"_]+",$`, string(list[1]), "%s %s", language, codes.list)
			}
		}
	}
}
