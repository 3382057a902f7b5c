package like_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/module/like"
)

func TestContains(t *testing.T) {
	t.Parallel()
	require.Equal(t, "%Ana%", like.Contains("Ana"))
	require.Equal(t, `%100\% of a\_b in c:\\%`, like.Contains(`100% of a_b in c:\`))
	require.Equal(t, "%%", like.Contains(""))
	require.Equal(t, `\%`, like.Escape("%"))
}
