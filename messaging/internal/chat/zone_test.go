package chat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func TestLoadZone(t *testing.T) {
	t.Parallel()
	require.Equal(t, "America/Sao_Paulo", chat.LoadZone("America/Sao_Paulo").String())
	require.Equal(t, time.UTC, chat.LoadZone("Mars/Olympus"))
}
