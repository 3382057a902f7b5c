package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/spelling"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"tenant", "tenant", 0}, {"tenants", "tenant", 1}, {"tenat", "tenant", 1},
		{"tenamt", "tenant", 1}, {"etnant", "tenant", 2}, {"kitten", "sitting", 3}, {"list", "show", 4},
	} {
		require.Equal(t, c.want, spelling.Distance(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.want, spelling.Distance(c.b, c.a), "%q %q", c.b, c.a)
	}
}
