package chat_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"integrationhub/messaging/internal/chat"
)

func TestAckFollows(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		earlier, ack chat.Ack
		follows      bool
	}{
		{chat.AckPending, chat.AckServer, true},
		{chat.AckServer, chat.AckRead, true},
		{chat.AckFailed, chat.AckServer, false}, // it was accepted before it failed
		{chat.AckFailed, chat.AckDevice, true},
		{chat.AckRead, chat.AckPlayed, true},
		{chat.AckPlayed, chat.AckRead, false},
		{chat.AckServer, chat.AckServer, false},
		{chat.AckRead, chat.AckDevice, false},
		{chat.AckPending, chat.AckFailed, true},
		{chat.AckServer, chat.AckFailed, true},
		{chat.AckDevice, chat.AckFailed, false},
		{chat.AckFailed, chat.AckFailed, false},
	} {
		require.Equal(t, tc.follows, tc.ack.Follows(tc.earlier), "%d after %d", tc.ack, tc.earlier)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, valid := range []string{"12345678", "551133334444", "551187654321", "5511987654321", "123456789012345"} {
		require.True(t, chat.IsNumber(valid), valid)
	}
	for _, invalid := range []string{"", "55988887772", "5533334444", "558765432", "55119876543210", "551198765432101", "550987654321", "1234567", "1234567890123456", "0511987654321", "+5511987654321", "55 11987654321", "551198765432a", "٥٥١١٩٨٧٦٥٤٣٢"} {
		require.False(t, chat.IsNumber(invalid), invalid)
	}
	require.Equal(t, "5511987654321", chat.NumberKey("5511987654321"))
	require.Equal(t, "5511987654321", chat.NumberKey("551187654321"), "without the ninth digit")
	require.Equal(t, "551132345678", chat.NumberKey("551132345678"), "a landline has none")
	require.Equal(t, "15551234567", chat.NumberKey("15551234567"))
	require.Equal(t, "+15551234567", chat.FormatE164("15551234567"))
}

func TestTicketStatuses(t *testing.T) {
	t.Parallel()
	require.True(t, chat.TicketPending.IsLive())
	require.True(t, chat.TicketOpen.IsLive())
	require.False(t, chat.TicketClosed.IsLive())
	require.False(t, chat.TicketStatus("x").IsValid())
	for _, status := range chat.TicketStatuses() {
		require.True(t, status.IsValid())
	}
}
