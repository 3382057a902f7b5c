package hub_test

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
)

func TestEventID(t *testing.T) {
	t.Parallel()
	id := hub.NewEventID()
	require.Regexp(t, `^evt_[0-9a-f]{16}$`, id)
	bits, ok := hub.ParseEventID(id)
	require.True(t, ok)
	require.Equal(t, id, hub.FormatEventID(bits))
	for _, invalid := range []string{"", "evt_", "evt_0123456789abcde", "evt_0123456789abcdef0", "EVT_0123456789abcdef", "evt_0123456789ABCDEF", "evt_0123456789abcdeg"} {
		_, ok := hub.ParseEventID(invalid)
		require.False(t, ok, invalid)
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add("clinic", "patient.created", "corr-1", `{"a":1}`)
	f.Add("a\"b", "x\\y", "é\u2028", `[ 1 ]`)
	f.Fuzz(func(t *testing.T, product, eventType, correlationID, data string) {
		if !json.Valid([]byte(data)) || !utf8.ValidString(product) || !utf8.ValidString(eventType) || !utf8.ValidString(correlationID) {
			return
		}
		timestamp := time.Unix(1767323045, 999)
		raw := hub.AppendEnvelope([]byte("kept"), hub.Event{
			ID: vectorID, Product: product, Type: eventType, Time: timestamp, CorrelationID: correlationID, Data: []byte(data),
		})
		require.Equal(t, "kept", string(raw[:4]))
		var got struct {
			ID            string          `json:"id"`
			Product       string          `json:"product"`
			Type          string          `json:"event_type"`
			Timestamp     string          `json:"timestamp"`
			CorrelationID string          `json:"correlation_id"`
			Data          json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(raw[4:], &got))
		require.Equal(t, vectorID, got.ID)
		require.Equal(t, product, got.Product)
		require.Equal(t, eventType, got.Type)
		require.Equal(t, correlationID, got.CorrelationID)
		require.Equal(t, "2026-01-02T03:04:05Z", got.Timestamp)
		require.JSONEq(t, data, string(got.Data))
	})
}
