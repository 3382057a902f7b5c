package chat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"", "é", "é日", "é日a", "é日a"} {
		require.Equal(t, want, chat.Truncate("é日a", n), n)
	}
	require.Empty(t, chat.Truncate("", 1))
}
