package console_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every reason that a delivery can have is a sentence in every language, not the API's code.
func TestReasonsHaveTexts(t *testing.T) {
	t.Parallel()
	policy, err := os.ReadFile("../internal/delivery/policy.go")
	require.NoError(t, err)
	reasons := regexp.MustCompile(`(?m)^\tReason\w+\s+= "(\w+)"`).FindAllSubmatch(policy, -1)
	require.Greater(t, len(reasons), 10)
	for _, language := range []string{"en", "pt-BR", "es"} {
		texts, err := os.ReadFile("src/i18n/" + language + ".ts")
		require.NoError(t, err)
		list := regexp.MustCompile(`(?s)\n\t\treasons: \{\n(.*?)\n\t\t\}`).FindSubmatch(texts)
		require.NotNil(t, list, language)
		for _, reason := range reasons {
			require.Regexp(t, `(?m)^\t\t\t`+string(reason[1])+`: "[^"_]+",$`, string(list[1]), language)
		}
	}
}
